//! `keyward add`.

mod matcher;
mod route;

use clap::Subcommand;
use jiff::Timestamp;

use crate::output::Output;

/// What is added.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Adds a route to a virtual service, or to a route table.
    #[command(visible_aliases = ["r", "routes"], after_help = route::EXAMPLES)]
    Route(Box<route::RouteArgs>),
}

pub(crate) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Route(args) => route::run(&args, now, output).await,
    }
}
