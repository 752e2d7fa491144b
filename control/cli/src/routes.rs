//! The routes of a VirtualService or of a RouteTable, changed where they stand on a server.
//!
//! ```text
//! find ─▶ Owner ─change▶ Owner ─write▶ the server
//!  ▲                               │
//!  └──── somebody was faster ──────┘
//! ```

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use keyward_resource::{Kind, kind};
use serde_json::{Value, json};

use crate::client::{Answer, ClientError, Manner, Place};
use crate::get::Format;
use crate::output::Output;
use crate::remote::{Remote, RemoteArgs};
use crate::shown;
use crate::wait::WaitArgs;

#[cfg(test)]
mod tests;

/// So often somebody else may have been faster. Each time somebody got on.
const TRIES: usize = 20;

/// How routes are changed.
#[derive(Debug, Clone, Args)]
pub(crate) struct ChangeArgs {
    /// Shows what would come of it, and changes nothing.
    #[arg(long)]
    dry_run: bool,

    /// How the result looks [default: table; with --dry-run kube-yaml].
    #[arg(long, short, value_name = "FORMAT")]
    output: Option<Format>,

    #[command(flatten)]
    pub(crate) remote: RemoteArgs,
}

/// An object with routes.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Owner {
    place: Place,
    object: Value,
    /// It is on the server, in this version.
    exists: bool,
}

/// The kind of objects with routes.
pub(crate) fn owner_kind(is_table: bool) -> anyhow::Result<&'static Kind> {
    let name = if is_table { "RouteTable" } else { "VirtualService" };
    kind::by_name(name).context("there is no such kind")
}

// === impl ChangeArgs ===

impl ChangeArgs {
    /// Finds an object and changes it, again where somebody else was faster; shows what has come of it.
    pub(crate) async fn apply(
        &self,
        remote: &Remote,
        find: impl AsyncFn() -> anyhow::Result<Owner>,
        change: impl Fn(&mut Vec<Value>) -> anyhow::Result<()>,
        now: Timestamp,
        output: &mut Output,
    ) -> anyhow::Result<()> {
        for _ in 0..TRIES {
            let mut owner = find().await?;
            change(owner.routes()?)?;
            match owner.write(remote, self.dry_run).await {
                Err(error) if error.is_conflict() || error.is_exists() => {}
                answer => {
                    let answer = answer?;
                    if !owner.exists && !self.dry_run {
                        let Place { kind, name, .. } = &owner.place;
                        output.note(format_args!("{} {name} is created", kind.singular));
                    }
                    WaitArgs::default().tell(&answer, output)?;
                    let show = if self.dry_run { shown::wanted } else { shown::made };
                    return show(owner.place.kind, answer.body, self.output, now, output);
                }
            }
        }
        bail!("others change it all the time: after {TRIES} attempts nothing is changed\nhint: try again")
    }
}

// === impl Owner ===

impl Owner {
    /// One as a server answers it.
    pub(crate) fn read(kind: &'static Kind, object: Value) -> Self {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        Self { place: Place::of(kind, text("namespace"), text("name")), object, exists: true }
    }

    /// One that is to be created; a VirtualService for all domains.
    pub(crate) fn new(place: Place) -> Self {
        let kind = place.kind;
        let spec = match kind.name {
            "RouteTable" => json!({ "routes": [] }),
            _ => json!({ "virtualHost": { "domains": ["*"], "routes": [] } }),
        };
        let metadata = json!({ "name": place.name, "namespace": place.namespace });
        let object = json!({ "apiVersion": kind.api_version(), "kind": kind.name, "metadata": metadata, "spec": spec });
        Self { place, object, exists: false }
    }

    /// Its routes, in order.
    fn routes(&mut self) -> anyhow::Result<&mut Vec<Value>> {
        let spec = &mut self.object["spec"];
        let holder = if self.place.kind.name == "RouteTable" { spec } else { &mut spec["virtualHost"] };
        let fields = holder.as_object_mut().context("the server answers with an object of another kind")?;
        let routes = fields.entry("routes").or_insert_with(|| json!([])).as_array_mut();
        routes.context("the server answers with an object of another kind")
    }

    /// Writes it: over the version that it was read in, and no other.
    async fn write(&self, remote: &Remote, dry_run: bool) -> Result<Answer, ClientError> {
        let manner = Manner { dry_run, wait: None };
        if self.exists {
            return remote.client.replace(&self.place.path(), &self.object, manner).await;
        }
        remote.create(&self.place, &self.object, manner).await
    }
}
