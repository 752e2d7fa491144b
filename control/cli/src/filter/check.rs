//! `keyward filter check`.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use keyward_filter_core::standalone;

use super::source;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward filter check plugin.yaml

  # What was just made:
  keyward filter check - < plugin.json";

/// What is checked.
#[derive(Debug, Clone, Args)]
pub struct CheckArgs {
    /// A file with a plugin configuration, YAML or JSON; - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(args: &CheckArgs, output: &mut Output) -> anyhow::Result<()> {
    let documents = source::documents(&args.file)?;
    let [configuration] = documents.as_slice() else {
        bail!("{} holds {} documents: a plugin configuration is one", args.file.display(), documents.len());
    };
    match standalone::from_json(configuration.to_string().as_bytes()) {
        Ok(config) => {
            output.note(format_args!("all is well: {} policies", config.policies.len()));
            Ok(())
        }
        Err(problems) => bail!("the filter would refuse {}: {problems}", args.file.display()),
    }
}
