//! `keyward token list`.

use clap::Args;
use jiff::Timestamp;
use keyward_access::{Role, TokenRecord};
use serde::Serialize;

use super::Place;
use crate::output::{Format, Output, Table};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward token list

  # For programs:
  keyward token list -o json";

/// How the list looks.
#[derive(Debug, Clone, Args)]
pub struct ListArgs {
    #[command(flatten)]
    place: Place,

    /// How the list looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,
}

#[derive(Debug, Serialize)]
struct Row<'a> {
    name: &'a str,
    role: Role,
    namespaces: &'a [String],
    created: Timestamp,
    expires: Option<Timestamp>,
    expired: bool,
}

pub(super) fn run(args: &ListArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let book = args.place.file().book()?;
    let rows: Vec<_> = book.records().iter().map(|record| Row::of(record, now)).collect();
    if args.output == Format::Table && rows.is_empty() {
        output.note("there are no tokens\nhint: `keyward token create --role admin` makes one");
        return Ok(());
    }
    output.show(args.output, &rows, || table(&rows).to_string())
}

fn table(rows: &[Row<'_>]) -> Table {
    let mut table = Table::new(&["NAME", "ROLE", "NAMESPACES", "CREATED", "EXPIRES"]);
    rows.iter().for_each(|row| table.row(row.cells()));
    table
}

// === impl Row ===

impl<'a> Row<'a> {
    fn of(record: &'a TokenRecord, now: Timestamp) -> Self {
        Self {
            name: record.name.as_str(),
            role: record.role,
            namespaces: &record.namespaces,
            created: record.created,
            expires: record.expires,
            expired: record.is_expired(now),
        }
    }

    fn cells(&self) -> [String; 5] {
        let namespaces =
            if self.namespaces.is_empty() { "all".to_owned() } else { self.namespaces.join(",") };
        let expires = match (self.expires, self.expired) {
            (None, _) => "never".to_owned(),
            (Some(at), false) => format!("{at:.0}"),
            (Some(at), true) => format!("{at:.0} (expired)"),
        };
        let created = format!("{:.0}", self.created);
        [self.name.to_owned(), self.role.to_string(), namespaces, created, expires]
    }
}
