//! `keyward secret`.

mod api_key;

use clap::Subcommand;
use jiff::Timestamp;

use crate::output::Output;

/// Which Secrets.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// API keys: who has which, and what becomes of them.
    #[command(name = "apikey", subcommand)]
    ApiKey(api_key::Command),
}

pub(crate) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::ApiKey(command) => api_key::run(command, now, output).await,
    }
}
