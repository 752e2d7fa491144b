//! `keyward secret apikey import`.
//!
//! ```text
//! file ─▶ Sheet ─check▶ every mistake, and nothing is written
//!                   └─▶ Writer: some Secrets at a time ─▶ Tally ─▶ --wait
//! ```
//!
//! A row is one write, so nothing is ever half there, and whoever runs the same file again goes on where the
//! last run ended: what is there already is seen and left alone.

mod check;
mod compare;
mod shared;
mod tally;
mod write;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::Args;
use jiff::Timestamp;
use serde_json::json;

use crate::output::{Format, Output, Table};
use crate::progress::Progress;
use crate::remote::RemoteArgs;
use crate::sheet::{Form, Mistake, Sheet};
use crate::wait::WaitArgs;

use tally::Tally;
use write::{Manners, Writer};

pub(super) const EXAMPLES: &str = "\
Examples:
  # Checks the file, and asks the server what would come of it; nothing is
  # written:
  keyward secret apikey import keys.csv --dry-run

  # Creates what is not there yet, and returns when every proxy worker
  # holds the keys:
  keyward secret apikey import keys.csv -n team --wait=30s

  # From another installation, with what differs overwritten:
  keyward secret apikey export -A --context old > keys.csv
  keyward secret apikey import keys.csv --context new --replace

The file has a row for each Secret. CSV begins with a line of headings; a JSON
line has fields of the same names:
  name             the name of the Secret, which is the identity
  namespace        where it is [default: -n, or that of the context]
  labels           such as \"team=infra,tier=gold\"; in JSON also an object
  api-key          the key, or
  api-key-sha256   its SHA-256 in 64 hexadecimal digits
  expires-at, not-before, disabled,
  previous-api-key, previous-api-key-sha256, previous-expires-at
Any other column is an entry of its data, which an AuthConfig can put into
headers. data:NAME is one whatever its name is, and NAME:base64 holds what is
no text. An empty cell of CSV is an entry that is not there.

With any mistake in the file nothing is written at all. The same command goes
on with a run that was interrupted. What is there with another content is told
and left as it is, without --replace.

A key that stands in the file twice, or that another Secret holds already, is a
mistake without --allow-shared-keys: who held a key first has it, and nobody
else.

Exit codes: 0 all rows are there as the file says, 1 not all, or a mistake, 2
wrong usage, 3 all are there but not confirmed in time (--wait).";

/// How many Secrets are written at a time.
const USUAL_CONCURRENCY: u16 = 64;
/// How many rows are named, of those that something is to be said of.
const MOST_NAMED: usize = 20;

/// What is imported, and how.
#[derive(Debug, Clone, Args)]
pub struct ImportArgs {
    /// The file, CSV or JSON lines; - is standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// How the file is written [default: as its extension says: .csv, .jsonl or .ndjson].
    #[arg(long, value_name = "FORMAT")]
    format: Option<Form>,

    /// Overwrites Secrets that are there with another content.
    #[arg(long)]
    replace: bool,

    /// Stores the SHA-256 of the keys and not the keys themselves: nobody can read them back.
    #[arg(long)]
    digest_only: bool,

    /// Allows that several rows have the same key, and that other Secrets hold it already. Who held a key first
    /// has it, and the others are of no use.
    #[arg(long)]
    allow_shared_keys: bool,

    /// Checks the file and asks the server what would come of it, and writes nothing.
    #[arg(long)]
    dry_run: bool,

    /// How many Secrets are written at a time.
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = USUAL_CONCURRENCY,
        value_parser = clap::value_parser!(u16).range(1..=512)
    )]
    concurrency: u16,

    #[command(flatten)]
    wait: WaitArgs,

    /// How the summary looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,

    #[command(flatten)]
    remote: RemoteArgs,
}

pub(super) async fn run(args: &ImportArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.remote.connect()?;
    let (sheet, file) = args.read()?;
    let checked = check::check(&sheet, &remote.namespace, args.allow_shared_keys);
    if !checked.mistakes.is_empty() {
        return args.refuse(&file, &checked.mistakes, output);
    }
    if checked.rows == 0 {
        bail!("{file} has no rows");
    }
    if !args.allow_shared_keys {
        let shared = shared::look(&remote, &checked, args.replace, now).await?;
        if shared.is_partial {
            output.note(
                "warning: whether others hold these keys is known as far as their Secrets may be listed",
            );
        }
        if !shared.mistakes.is_empty() {
            return args.refuse(&file, &shared.mistakes, output);
        }
    }
    let began = Instant::now();
    let manners = Manners {
        replace: args.replace,
        digest_only: args.digest_only,
        dry_run: args.dry_run,
        concurrency: usize::from(args.concurrency),
        now,
    };
    let progress = Progress::new(checked.rows, std::io::stderr().is_terminal());
    let mut tally = Tally::new(checked.rows, args.dry_run);
    let writer = Writer::new(remote.client.clone(), remote.namespace.clone(), manners);
    let stopped = writer.write_all(&sheet, &mut tally, progress).await;
    tally.finish(began.elapsed());
    let confirmed = match (&stopped, args.wait.limit()) {
        (None, Some(_)) if !args.dry_run => Some(args.wait.everywhere(&remote.client, output).await),
        _ => None,
    };
    args.tell(&tally, &file, output)?;
    if let Some(stopped) = stopped {
        return Err(stopped.into_error(&tally));
    }
    tally.result(&file)?;
    confirmed.unwrap_or(Ok(()))
}

// === impl ImportArgs ===

impl ImportArgs {
    /// The file, and how it is called.
    fn read(&self) -> anyhow::Result<(Sheet, String)> {
        let is_stdin = self.file.as_os_str() == "-";
        let file = if is_stdin { "standard input".to_owned() } else { self.file.display().to_string() };
        let form = self.format.or_else(|| Form::of_path(&self.file)).with_context(|| {
            format!("how {file} is written is not known\nhint: --format csv or --format jsonl says it")
        })?;
        let bytes = if is_stdin {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(&self.file)
        };
        let bytes = bytes.with_context(|| format!("{file} cannot be read"))?;
        Ok((Sheet::new(bytes, form), file))
    }

    /// Says every mistake, and that nothing is written.
    fn refuse(&self, file: &str, mistakes: &[Mistake], output: &mut Output) -> anyhow::Result<()> {
        match self.output {
            Format::Table => {
                for mistake in mistakes {
                    output.note(format_args!("{file}:{mistake}"));
                }
            }
            format => output.show(format, &json!({ "mistakes": mistakes }), String::new)?,
        }
        let number = mistakes.len();
        bail!("{file} has {number} mistake{}, so nothing is written", if number == 1 { "" } else { "s" })
    }

    /// Says what came of the rows.
    fn tell(&self, tally: &Tally, file: &str, output: &mut Output) -> anyhow::Result<()> {
        if self.output != Format::Table {
            return output.show(self.output, tally, String::new);
        }
        for notice in tally.notices().iter().take(MOST_NAMED) {
            output.note(format_args!("{file}:{notice}"));
        }
        let more = tally.notices().len().saturating_sub(MOST_NAMED);
        if more > 0 {
            output.note(format_args!("and {more} more rows; -o json has them all"));
        }
        let mut table =
            Table::new(&["CREATED", "UNCHANGED", "REPLACED", "DIFFERENT", "FAILED", "NOT REACHED"]);
        table.row(tally.numbers().map(|number| number.to_string()));
        output.data(table)?;
        let would = if self.dry_run { " (dry run: nothing is written)" } else { "" };
        output.note(format_args!("{}{would}", tally.pace()));
        Ok(())
    }
}
