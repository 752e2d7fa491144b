//! `keyward create secret apikey`.

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use jiff::Timestamp;
use keyward_resource::kinds::secret::{EXPIRES_FIELD, KEY_TYPE, NOT_BEFORE_FIELD};
use keyward_resource::{FieldError, admit, kind};
use serde_json::{Map, Value, json};

use crate::client::Manner;
use crate::ended::Ended;
use crate::get::Format;
use crate::key::{Entry, ExpiryArgs, KeyArgs, Material, time, timestamp};
use crate::output::{Output, yaml};
use crate::remote::RemoteArgs;
use crate::shown::wanted;
use crate::wait::WaitArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Makes a key for alice, shows it once, and returns when every proxy
  # worker accepts it:
  keyward create secret apikey alice --apikey-generate \\
    --apikey-labels team=infra --wait

  # A key that exists already, from a file, valid for 90 days; only its
  # SHA-256 is stored:
  keyward create secret apikey bob --apikey-stdin --digest-only \\
    --expires-in 90d < bob.key

  # Prints the Secret as YAML, and creates nothing:
  keyward create secret apikey carol --apikey-generate --dry-run

Exit codes: 0 created, 1 not created, 2 wrong usage, 3 created but not
confirmed in time (--wait).";

/// What the key is to be.
#[derive(Debug, Clone, Args)]
pub(crate) struct CreateArgs {
    /// The name of the Secret, which is the identity.
    #[arg(value_name = "NAME", required_unless_present = "name_flag", conflicts_with = "name_flag")]
    name: Option<String>,

    /// The same, as a flag.
    #[arg(long = "name", id = "name_flag", value_name = "NAME", hide = true)]
    name_flag: Option<String>,

    #[command(flatten)]
    key: KeyArgs,

    /// Labels of the Secret, by which AuthConfigs select it, such as team=infra,tier=gold.
    #[arg(long, value_name = "LABELS", value_delimiter = ',', value_parser = pair)]
    apikey_labels: Vec<(String, String)>,

    /// More data of the Secret, such as plan=gold, which an AuthConfig can put into headers.
    #[arg(long, value_name = "DATA", value_delimiter = ',', value_parser = pair)]
    apikey_metadata: Vec<(String, String)>,

    #[command(flatten)]
    expiry: ExpiryArgs,

    /// From when the key is valid, such as 2030-01-31T12:00:00Z [default: at once].
    #[arg(long, value_name = "TIME", value_parser = timestamp, help_heading = "Validity")]
    not_before: Option<Timestamp>,

    #[command(flatten)]
    wait: WaitArgs,

    /// Prints the Secret that would be created, and creates nothing.
    #[arg(long)]
    dry_run: bool,

    /// How the result looks [default: the generated key alone; with --dry-run yaml].
    #[arg(long, short, value_name = "FORMAT")]
    output: Option<Format>,

    #[command(flatten)]
    remote: RemoteArgs,
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} has no =: write NAME=VALUE"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// All mistakes, each with its field.
fn mistakes(errors: &[FieldError]) -> String {
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    format!("the Secret is not valid: {}", lines.join("; "))
}

pub(super) async fn run(args: &CreateArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let name = args.name.as_ref().or(args.name_flag.as_ref()).context("a name is needed")?;
    let remote = args.remote.connect()?;
    if args.output == Some(Format::KubeYaml) && args.key.is_lost() && !args.dry_run {
        let why = "a Secret with nothing but the SHA-256 of a key that is made here would be all that is shown of \
                   it\nhint: -o yaml and -o json show the key beside it, once";
        return Err(Ended::usage(anyhow!(why)));
    }
    let material = args.key.material(&mut std::io::stdin())?;
    let object = args.object(&remote.namespace, name, &material, now)?;
    let kind = kind::by_name("Secret").context("Secret is a kind")?;
    let admitted = match admit(kind, &remote.namespace, Some(name), object.clone()) {
        Ok(admitted) => admitted,
        Err(errors) => bail!(mistakes(&errors)),
    };
    if args.dry_run {
        return wanted(kind, object, args.output, now, output);
    }
    let place = remote.place(name);
    let manner = Manner { dry_run: false, wait: args.wait.limit() };
    let path = place.collection().path();
    let creating = async {
        remote.client.create(&path, &admitted, manner).await.map_err(|error| match error.is_exists() {
            true => anyhow!(
                "{error}\nhint: `keyward secret apikey rotate {name} --overlap 24h` gives it a new key"
            ),
            false => error.into(),
        })
    };
    let answer = material.kept(creating, output).await?;
    let made = material.made();
    match (args.output, made) {
        (None | Some(Format::Table | Format::Wide), Some(key)) => {
            output.note(format_args!("key {} of {place} is made; it is not shown again:", material.id()));
            output.data(key)?;
        }
        (None | Some(Format::Table | Format::Wide), None) => {
            output.note(format_args!("key {} of {place} is created", material.id()));
        }
        // As it was sent, with the key: that of the server would hide it.
        (Some(Format::KubeYaml), _) => output.data(yaml(&object)?)?,
        (Some(format), made) => {
            let entry = Entry::all_of(&answer.body, now).into_iter().next();
            let mut shown = serde_json::to_value(entry.context("the server answers with another Secret")?)?;
            if let Some(key) = made {
                shown["key"] = key.into();
            }
            output.data(match format {
                Format::Json => serde_json::to_string_pretty(&shown)?,
                _ => yaml(&shown)?,
            })?;
        }
    }
    Ok(args.wait.tell(&answer, output)?)
}

// === impl CreateArgs ===

impl CreateArgs {
    /// The Secret, as people write it.
    fn object(
        &self,
        namespace: &str,
        name: &str,
        material: &Material,
        now: Timestamp,
    ) -> anyhow::Result<Value> {
        let mut metadata = json!({ "namespace": namespace, "name": name });
        if !self.apikey_labels.is_empty() {
            metadata["labels"] = self.apikey_labels.iter().cloned().collect();
        }
        let mut object = Map::new();
        object.insert("apiVersion".into(), "v1".into());
        object.insert("kind".into(), "Secret".into());
        object.insert("type".into(), KEY_TYPE.into());
        object.insert("metadata".into(), metadata);
        let mut texts: Map<String, Value> =
            self.apikey_metadata.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
        let times = [(NOT_BEFORE_FIELD, self.not_before), (EXPIRES_FIELD, self.expiry.end(now)?)];
        for (entry, at) in times {
            texts.extend(at.map(|at| (entry.to_owned(), time(at).into())));
        }
        if !texts.is_empty() {
            object.insert("stringData".into(), texts.into());
        }
        material.put(&mut object);
        Ok(object.into())
    }
}
