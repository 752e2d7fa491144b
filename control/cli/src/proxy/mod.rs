//! `keyward proxy`.

mod status;

use clap::Subcommand;

use crate::output::Output;

/// What is asked about proxies.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Shows each connected proxy: what it makes of its configuration, and which keys its workers hold.
    #[command(after_help = status::EXAMPLES)]
    Status(status::StatusArgs),
}

pub(crate) async fn run(command: Command, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Status(args) => status::run(&args, output).await,
    }
}
