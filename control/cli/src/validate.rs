//! `keyward validate PATH`.

use std::path::PathBuf;

use anyhow::bail;
use clap::{Args, ValueEnum};
use keyward_folder::Report;

use crate::output::Output;

/// What is checked.
#[derive(Debug, Clone, Args)]
pub struct ValidateArgs {
    /// A folder of resource files (*.yaml, *.yml, *.json, also in folders inside), or one file.
    #[arg(value_name = "PATH")]
    path: PathBuf,

    /// How the report looks.
    #[arg(long, short, default_value = "text", value_name = "FORM")]
    output: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

pub(super) fn run(args: &ValidateArgs, output: &mut Output) -> anyhow::Result<()> {
    let report = keyward_folder::check(&args.path)?;
    match args.output {
        Form::Json => output.data(serde_json::to_string_pretty(&report)?)?,
        Form::Text => {
            for problem in &report.problems {
                output.data(format_args!("{problem}\n"))?;
            }
        }
    }
    let all = format!("{} and {}", count(report.files, "file"), count(report.objects, "good object"));
    match report.problems.len() {
        0 => output.note(format_args!("all is well: {all}")),
        problems => bail!("{} in {all}", problems_in(problems, &report)),
    }
    Ok(())
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

fn problems_in(problems: usize, report: &Report) -> String {
    let mut files: Vec<_> = report.problems.iter().map(|problem| &problem.file).collect();
    files.dedup();
    format!("{} ({} concerned)", count(problems, "problem"), count(files.len(), "file"))
}
