//! `keyward secret apikey list`.

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::usage::{Usage, Used};
use crate::key::{Entry, time};
use crate::output::{Format, Output, Table};
use crate::remote::{Remote, RemoteArgs, missing};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward secret apikey list --all-namespaces
  keyward secret apikey list alice -n team -o json
  keyward secret apikey list -l team=infra,tier!=gold

State is active, disabled, expired, not yet valid, unusable, or deleted where
finalizers alone keep the Secret. While a key is rotated, the one before it has
a row of its own. The key id is the beginning of the SHA-256 of the key.";

/// Which keys.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    /// Only these identities.
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    #[command(flatten)]
    which: WhichArgs,

    /// How the list looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// Where keys are looked for.
#[derive(Debug, Clone, Args)]
pub(super) struct WhichArgs {
    /// In all namespaces.
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    pub(super) all_namespaces: bool,

    /// Only Secrets with these labels, such as team=infra,tier!=gold.
    #[arg(long, short = 'l', value_name = "LABELS")]
    pub(super) selector: Option<String>,
}

/// A key and its uses.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) entry: Entry,
    #[serde(flatten)]
    pub(super) used: Option<Used>,
}

/// The keys, with their uses where the server counts them.
pub(super) async fn rows(
    remote: &Remote,
    which: &WhichArgs,
    usage: Option<&Usage>,
    now: Timestamp,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    let namespace = which.namespace(remote);
    let take = |objects: &[serde_json::Value]| {
        for entry in objects.iter().flat_map(|object| Entry::all_of(object, now)) {
            // What is counted is counted of the identity.
            let counted = usage.filter(|_| !entry.previous);
            let used = counted.map(|usage| usage.of(&entry.namespace, &entry.identity));
            rows.push(Row { entry, used });
        }
    };
    remote.each_page(namespace, which.selector.as_deref(), take).await?;
    Ok(rows)
}

/// The rows as a table.
pub(super) fn table(rows: &[Row], which: &WhichArgs) -> String {
    let headings = ["NAMESPACE", "IDENTITY", "KEY ID", "STATE", "CREATED", "EXPIRES", "LAST USED", "USES"];
    let skipped = usize::from(!which.all_namespaces);
    let mut table = Table::new(&headings[skipped..]);
    for Row { entry, used } in rows {
        let at = |at: Option<Timestamp>, none: &str| at.map_or_else(|| none.to_owned(), time);
        let cells = [
            entry.namespace.clone(),
            entry.identity.clone(),
            entry.key_id.clone().unwrap_or_else(|| "-".to_owned()),
            if entry.previous { format!("{} (previous)", entry.state) } else { entry.state.to_string() },
            at(entry.created, "-"),
            at(entry.expires, "never"),
            used.map_or_else(|| "-".to_owned(), |used| at(used.last_used, "never")),
            used.map_or_else(|| "-".to_owned(), |used| used.uses.to_string()),
        ];
        table.row(cells.into_iter().skip(skipped));
    }
    table.to_string()
}

// === impl WhichArgs ===

impl WhichArgs {
    /// The namespace that is looked in, if it is one.
    pub(super) fn namespace<'a>(&self, remote: &'a Remote) -> Option<&'a str> {
        (!self.all_namespaces).then_some(remote.namespace.as_str())
    }
}

pub(super) async fn run(args: &ListArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let usage = Usage::read(&remote, args.which.namespace(&remote)).await?;
    let mut rows = rows(&remote, &args.which, usage.as_ref(), now).await?;
    if !args.names.is_empty() {
        let lacking = args.names.iter().find(|name| rows.iter().all(|row| row.entry.identity != **name));
        if let Some(name) = lacking {
            return Err(missing(&remote.place(name)));
        }
        rows.retain(|row| args.names.contains(&row.entry.identity));
    }
    if rows.is_empty() && args.output == Format::Table {
        output.note(
            "there are no keys here\nhint: `keyward create secret apikey NAME --apikey-generate` makes one; \
             --all-namespaces looks everywhere",
        );
        return Ok(());
    }
    output.show(args.output, &rows, || table(&rows, &args.which))
}
