//! `keyward token delete`.

use clap::Args;

use super::Place;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward token delete dashboard";

/// Which token.
#[derive(Debug, Clone, Args)]
pub struct DeleteArgs {
    #[command(flatten)]
    place: Place,

    /// Its name.
    #[arg(value_name = "NAME")]
    name: String,
}

pub(super) fn run(args: &DeleteArgs, output: &mut Output) -> anyhow::Result<()> {
    args.place.file().change(|book| book.remove(&args.name)).map_err(|error| args.place.hinted(error))?;
    output.note(format!("token {} deleted", args.name));
    Ok(())
}
