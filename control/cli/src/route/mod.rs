//! `keyward route`.

mod sort;

use clap::Subcommand;
use jiff::Timestamp;

use crate::output::Output;

/// What is done with routes.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Sorts the routes of a virtual service so that the more exact ones decide first.
    #[command(visible_alias = "s", after_help = sort::EXAMPLES)]
    Sort(Box<sort::SortArgs>),
}

pub(crate) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Sort(args) => sort::run(&args, now, output).await,
    }
}
