//! `keyward remove`.

mod route;

use clap::Subcommand;
use jiff::Timestamp;

use crate::output::Output;

/// What is removed.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Removes a route of a virtual service, or of a route table.
    #[command(visible_aliases = ["r", "routes"], after_help = route::EXAMPLES)]
    Route(Box<route::RouteArgs>),
}

pub(crate) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Route(args) => route::run(&args, now, output).await,
    }
}
