//! `keyward filter wasm`.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::Args;

use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward filter wasm --output keyward.wasm";

/// Where the module is written.
#[derive(Debug, Clone, Args)]
pub struct WasmArgs {
    /// The file; one that is there is replaced.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

pub(super) fn run(args: &WasmArgs, module: &[u8], output: &mut Output) -> anyhow::Result<()> {
    std::fs::write(&args.output, module)
        .with_context(|| format!("{} cannot be written", args.output.display()))?;
    output.note(format_args!("{}: {} bytes", args.output.display(), module.len()));
    Ok(())
}
