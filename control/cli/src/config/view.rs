//! `keyward config view`.

use clap::Args;

use super::FileArgs;
use crate::client::Config;
use crate::output::{Format, Output, yaml};

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward config view

  # Of another file, for programs:
  keyward config view --config team.yaml -o json";

/// How it looks.
#[derive(Debug, Clone, Args)]
pub struct ViewArgs {
    /// How it looks [default: yaml].
    #[arg(long, short, value_name = "FORMAT")]
    output: Option<Format>,

    #[command(flatten)]
    file: FileArgs,
}

pub(super) fn run(args: &ViewArgs, output: &mut Output) -> anyhow::Result<()> {
    let path = args.file.path()?;
    if !path.exists() {
        output.note(format_args!(
            "there is no {}\nhint: `keyward config set-context NAME --server URL` makes it",
            path.display()
        ));
        return Ok(());
    }
    let config = Config::read(&path)?.redacted();
    output.data(match args.output {
        Some(Format::Json) => serde_json::to_string_pretty(&config)?,
        _ => yaml(&config)?,
    })
}
