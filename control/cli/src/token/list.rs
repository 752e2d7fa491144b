//! `keyward token list`.

use clap::Args;
use jiff::Timestamp;
use keyward_access::{Role, TokenRecord};
use serde::Serialize;

use super::Place;
use crate::output::{Form, Output};

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
    #[arg(long, short, default_value = "text", value_name = "FORM")]
    output: Form,
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
    match args.output {
        Form::Json => output.data(serde_json::to_string_pretty(&rows)?),
        Form::Text if rows.is_empty() => {
            output.note("there are no tokens\nhint: `keyward token create --role admin` makes one");
            Ok(())
        }
        Form::Text => output.data(table(&rows)),
    }
}

fn table(rows: &[Row<'_>]) -> String {
    let mut lines = vec![["NAME", "ROLE", "NAMESPACES", "CREATED", "EXPIRES"].map(str::to_owned)];
    lines.extend(rows.iter().map(Row::cells));
    let widths: Vec<usize> = (0..5)
        .map(|column| lines.iter().map(|cells| cells[column].len()).max().unwrap_or_default())
        .collect();
    let line = |cells: &[String; 5]| {
        let padded: Vec<_> =
            cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        padded.join("   ").trim_end().to_owned()
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
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
