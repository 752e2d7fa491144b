//! `keyward create`.

mod secret_api_key;

use clap::Subcommand;
use jiff::Timestamp;

use crate::output::Output;

/// What is created.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Creates a Secret.
    #[command(subcommand)]
    Secret(SecretCommand),
}

/// What the Secret holds.
#[derive(Debug, Clone, Subcommand)]
pub enum SecretCommand {
    /// Creates an API key; the name of its Secret is the identity that upstreams see.
    #[command(name = "apikey", after_help = secret_api_key::EXAMPLES)]
    ApiKey(Box<secret_api_key::CreateArgs>),
}

pub(crate) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Secret(SecretCommand::ApiKey(args)) => secret_api_key::run(&args, now, output).await,
    }
}
