//! What all that is created from flags has in common.

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use keyward_resource::{admit, kind};
use serde_json::{Value, json};

use crate::client::Manner;
use crate::get::Format;
use crate::output::Output;
use crate::remote::RemoteArgs;
use crate::shown;
use crate::wait::WaitArgs;

/// Which object, and how it is made.
#[derive(Debug, Clone, Args)]
pub(crate) struct DraftArgs {
    /// Its name.
    #[arg(value_name = "NAME", required_unless_present = "name_flag", conflicts_with = "name_flag")]
    name: Option<String>,

    /// The same, as a flag.
    #[arg(long = "name", id = "name_flag", value_name = "NAME")]
    name_flag: Option<String>,

    /// Prints what would be created, and creates nothing; no server is asked.
    #[arg(long)]
    dry_run: bool,

    /// How the result looks [default: table; with --dry-run kube-yaml].
    #[arg(long, short, value_name = "FORMAT")]
    output: Option<Format>,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Reads `NAME=VALUE`.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("{text:?} has no =: write NAME=VALUE"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

// === impl DraftArgs ===

impl DraftArgs {
    /// The name that is meant.
    pub(crate) fn name(&self) -> anyhow::Result<&str> {
        let name = self.name.as_deref().or(self.name_flag.as_deref());
        name.context("name must be specified in flag (--name) or via first arg")
    }

    /// Creates an object of a kind with these fields, which are told its namespace. Mistakes are found here,
    /// before a server is asked.
    pub(crate) async fn create(
        &self,
        kind: &'static str,
        fields: impl FnOnce(&str) -> anyhow::Result<Value>,
        now: Timestamp,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        let kind = kind::by_name(kind).context("there is no such kind")?;
        let (remote, name) = (self.remote.connect()?, self.name()?);
        let mut object = fields(&remote.namespace)?;
        object["apiVersion"] = kind.api_version().into();
        object["kind"] = kind.name.into();
        object["metadata"] = json!({ "name": name, "namespace": remote.namespace });
        if let Err(errors) = admit(kind, &remote.namespace, Some(name), object.clone()) {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            bail!("the {} is not valid: {}", kind.name, lines.join("; "));
        }
        if self.dry_run {
            return shown::wanted(kind, object, self.output, now, output);
        }
        let place = remote.place_of(kind, name);
        match remote.create(&place, &object, Manner::default()).await {
            Err(error) if error.is_exists() => bail!(
                "{error}\nhint: `keyward get {kind} {name} -n {namespace} -o yaml` shows it; `keyward edit {kind} \
                 {name} -n {namespace}` changes it",
                kind = kind.singular,
                namespace = remote.namespace,
            ),
            answer => {
                let answer = answer?;
                WaitArgs::default().tell(&answer, output)?;
                shown::made(kind, answer.body, self.output, now, output)
            }
        }
    }
}
