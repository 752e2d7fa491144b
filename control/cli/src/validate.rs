//! `keyward validate PATH`.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use crate::output::{Format, Output};

pub(super) const EXAMPLES: &str = "\
Examples:
  # All files of a folder:
  keyward validate resources/

  # One file, for programs:
  keyward validate shop.yaml -o json

Exit codes: 0 all is well, 1 something is wrong, 2 wrong usage.";

/// What is checked.
#[derive(Debug, Clone, Args)]
pub struct ValidateArgs {
    /// A folder of resource files (*.yaml, *.yml, *.json, also in folders inside), or one file.
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// How the report looks.
    #[arg(long, short, default_value = "table", value_name = "FORMAT")]
    output: Format,
}

pub(super) fn run(args: &ValidateArgs, output: &mut Output) -> anyhow::Result<()> {
    let report = keyward_folder::check(&args.path)?;
    if args.output != Format::Table || !report.problems.is_empty() {
        let each = report.problems.iter().map(|problem| format!("{problem}\n"));
        output.show(args.output, &report, || each.collect::<Vec<_>>().join("\n"))?;
    }
    let files = count(report.files, "file");
    if report.problems.is_empty() {
        output.note(format_args!("all is well: {} in {files}", count(report.objects, "object")));
        return Ok(());
    }
    let broken: BTreeSet<_> = report.problems.iter().map(|problem| &problem.file).collect();
    bail!("{} in {} of {files}", count(report.problems.len(), "problem"), broken.len())
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
