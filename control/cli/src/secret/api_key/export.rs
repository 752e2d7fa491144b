//! `keyward secret apikey export`.

use std::collections::{BTreeSet, HashSet};

use clap::Args;
use keyward_resource::kinds::secret::{
    DIGEST_FIELD, DISABLED_FIELD, EXPIRES_FIELD, KEY_FIELD, NOT_BEFORE_FIELD,
};
use serde_json::Value;

use super::list::WhichArgs;
use crate::key::Entry;
use crate::output::Output;
use crate::remote::RemoteArgs;
use crate::sheet::{Column, CsvWriter, Form, Reading, Row, Sheet, line};

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward secret apikey export --all-namespaces > keys.csv
  keyward secret apikey export -n team -l tier=gold --format jsonl > gold.jsonl

Keys stand there as their SHA-256, of which an import makes keys that are valid
as before. --with-keys writes the keys themselves, where they are stored.
`keyward secret apikey import` reads the output, and says what its columns are.";

/// How many lines are written at a time.
const CHUNK: usize = 1000;

/// What is exported, and how.
#[derive(Debug, Clone, Args)]
pub struct ExportArgs {
    #[command(flatten)]
    which: WhichArgs,

    /// How it is written.
    #[arg(long, default_value = "csv", value_name = "FORMAT")]
    format: Form,

    /// Writes the keys themselves where they are stored. Whoever reads the output can use them.
    #[arg(long)]
    with_keys: bool,

    #[command(flatten)]
    remote: RemoteArgs,
}

/// What was read, as JSON lines: CSV has to know all its headings first.
#[derive(Default)]
struct Export {
    lines: Vec<u8>,
    columns: BTreeSet<Column>,
    rows: usize,
    with_keys: usize,
    keys: HashSet<[u8; 32]>,
    notes: Vec<String>,
    /// Entries that CSV cannot say.
    empty: usize,
}

pub(super) async fn run(args: &ExportArgs, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let namespace = (!args.which.all_namespaces).then_some(remote.namespace.as_str());
    let mut export = Export::default();
    let mut written = Ok(());
    let take = |objects: &[Value]| {
        for object in objects {
            if written.is_ok() {
                written = export.take(object, args.with_keys);
            }
        }
        if args.format == Form::Jsonl && written.is_ok() {
            written = export.flush(output);
        }
    };
    remote.each_page(namespace, args.which.selector.as_deref(), take).await?;
    written?;
    if args.format == Form::Csv {
        export.write_csv(output)?;
    }
    export.tell(args.format, output);
    Ok(())
}

// === impl Export ===

impl Export {
    /// Takes in a Secret.
    fn take(&mut self, object: &Value, with_keys: bool) -> anyhow::Result<()> {
        let Some(secret) = Entry::secret(object) else { return Ok(()) };
        let key = match secret.key {
            Ok(key) => key,
            Err(problem) => {
                let (namespace, name) = (&secret.meta.namespace, &secret.meta.name);
                self.notes
                    .push(format!("{namespace}/{name} is left out, as it holds no usable key: {problem}"));
                return Ok(());
            }
        };
        let previous = secret.previous.map(|previous| previous.key);
        for key in [Some(key), previous].into_iter().flatten() {
            if !self.keys.insert(key) {
                let (namespace, name) = (&secret.meta.namespace, &secret.meta.name);
                self.notes.push(format!(
                    "{namespace}/{name} has a key that stands there before: an import needs --allow-shared-keys"
                ));
            }
        }
        let mut row = Row::of(object, &secret);
        if with_keys {
            self.with_keys = self.with_keys.saturating_add(usize::from(row.data.contains_key(KEY_FIELD)));
        } else {
            row.forget_keys(&secret);
        }
        self.rows = self.rows.saturating_add(1);
        self.empty = self.empty.saturating_add(row.data.values().filter(|value| value.is_empty()).count());
        self.columns.extend(row.columns());
        self.lines.extend_from_slice(line(&row)?.as_bytes());
        self.lines.push(b'\n');
        Ok(())
    }

    /// Writes the lines that have come so far.
    fn flush(&mut self, output: &mut Output) -> anyhow::Result<()> {
        let lines = String::from_utf8(std::mem::take(&mut self.lines))?;
        let lines = lines.trim_end_matches('\n');
        if lines.is_empty() { Ok(()) } else { output.data(lines) }
    }

    fn write_csv(&mut self, output: &mut Output) -> anyhow::Result<()> {
        let usual = [DIGEST_FIELD, EXPIRES_FIELD, NOT_BEFORE_FIELD, DISABLED_FIELD].map(Column::of_text);
        let columns = [Column::Name, Column::Namespace, Column::Labels].into_iter().chain(usual);
        let writer = CsvWriter::new(columns.chain(std::mem::take(&mut self.columns)));
        output.data(writer.headings()?)?;
        let sheet = Sheet::new(std::mem::take(&mut self.lines), Form::Jsonl);
        let mut chunk = Vec::with_capacity(CHUNK);
        for row in sheet.rows().filter_map(Reading::right) {
            chunk.push(writer.row(&row)?);
            if chunk.len() == CHUNK {
                output.data(chunk.join("\n"))?;
                chunk.clear();
            }
        }
        if chunk.is_empty() { Ok(()) } else { output.data(chunk.join("\n")) }
    }

    /// Says what there is to say beside the data.
    fn tell(&self, format: Form, output: &mut Output) {
        for note in &self.notes {
            output.note(format_args!("warning: {note}"));
        }
        if format == Form::Csv && self.empty > 0 {
            output.note(format_args!(
                "warning: {} entries are empty, and CSV cannot tell that from none: --format jsonl does",
                self.empty
            ));
        }
        match (self.rows, self.with_keys) {
            (0, _) => output.note("there are no keys here\nhint: --all-namespaces looks everywhere"),
            (_, 0) => {}
            (_, keys) => output.note(format_args!(
                "warning: the output holds {keys} keys in plain text; whoever reads it can use them"
            )),
        }
    }
}
