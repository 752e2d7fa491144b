//! `keyward delete`.

use anyhow::{anyhow, bail};
use clap::Args;
use keyward_resource::Kind;

use crate::client::{Manner, Place};
use crate::ended::Ended;
use crate::kind::{named, several};
use crate::output::Output;
use crate::remote::{Remote, RemoteArgs, lacking};
use crate::wait::WaitArgs;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward delete upstream petstore
  keyward delete vs shop cart -n team --ignore-not-found

  # All that have a label:
  keyward delete authconfigs -l team=infra

  # A key, and returns when no proxy worker accepts it any more:
  keyward delete secret alice --wait

Exit codes: 0 deleted, 1 not all deleted, 2 wrong usage, 3 deleted but not
confirmed in time (--wait).";

/// What is deleted.
#[derive(Debug, Clone, Args)]
pub struct DeleteArgs {
    /// The kind, such as upstream or us.
    #[arg(value_name = "KIND", value_parser = named)]
    kind: &'static Kind,

    /// The objects.
    #[arg(value_name = "NAME", required_unless_present_any = ["selector", "name"], conflicts_with = "selector")]
    names: Vec<String>,

    /// The same, as a flag.
    #[arg(long = "name", value_name = "NAME", hide = true, conflicts_with_all = ["names", "selector"])]
    name: Option<String>,

    /// All with these labels, such as team=infra,tier!=gold.
    #[arg(long, short = 'l', value_name = "LABELS")]
    selector: Option<String>,

    /// An object that is not there is no error.
    #[arg(long)]
    ignore_not_found: bool,

    /// Says what would be deleted, and deletes nothing.
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    wait: WaitArgs,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: &DeleteArgs, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let places = args.places(&remote).await?;
    if places.is_empty() {
        let what = several(args.kind);
        output.note(format_args!("there are no {what} with these labels in {}", remote.namespace));
    }
    let manner = Manner { dry_run: args.dry_run, wait: None };
    let mut errors = Vec::new();
    for place in &places {
        match remote.client.delete(&place.path(), manner).await {
            Ok(_) => {
                let dry = if args.dry_run { " (dry run)" } else { "" };
                output.data(format_args!("{} {} deleted{dry}", args.kind.singular, place.name))?;
            }
            // What is selected may have gone since.
            Err(error) if error.is_not_found() && (args.ignore_not_found || args.selector.is_some()) => {}
            Err(error) if error.is_not_found() => errors.push(lacking(place).to_string()),
            Err(error) if error.is_about_the_server() => return Err(error.into()),
            Err(error) => errors.push(error.to_string()),
        }
    }
    if !errors.is_empty() {
        bail!(errors.join("\nerror: "));
    }
    // Also where nothing was left: it may be the second try of somebody whose first one was not confirmed.
    if !args.dry_run && args.wait.limit().is_some() {
        return args.wait.everywhere(&remote.client, output).await;
    }
    Ok(())
}

// === impl DeleteArgs ===

impl DeleteArgs {
    /// What is meant.
    async fn places(&self, remote: &Remote) -> anyhow::Result<Vec<Place>> {
        let Some(selector) = &self.selector else {
            let names = self.names.iter().chain(&self.name);
            return Ok(names.map(|name| remote.place_of(self.kind, name)).collect());
        };
        if selector.trim().is_empty() {
            let why = "these labels select everything\nhint: name the objects, or at least one label";
            return Err(Ended::usage(anyhow!(why)));
        }
        let found = remote.list(self.kind, Some(&remote.namespace), Some(selector)).await?;
        let names = found.iter().filter_map(|object| object["metadata"]["name"].as_str());
        Ok(names.map(|name| remote.place_of(self.kind, name)).collect())
    }
}
