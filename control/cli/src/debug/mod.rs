//! `keyward debug`: what somebody else needs to find out what is wrong.
//!
//! Nothing that comes out of it holds a key: Secrets are redacted, and whatever else is written goes through
//! [`scrub`].

mod bundle;
mod logs;
mod objects;
mod scrub;
mod yaml;

use clap::Subcommand;
use jiff::Timestamp;

use crate::output::Output;

/// What is wanted.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Fetches the logs of all components: of the control server, and of the gateway proxy that it runs.
    #[command(after_help = logs::EXAMPLES)]
    Logs(logs::LogsArgs),
    /// Writes all configuration as YAML, Secrets redacted.
    #[command(after_help = yaml::EXAMPLES)]
    Yaml(yaml::YamlArgs),
    /// Writes everything that helps to find out what is wrong into one zip file, and no key.
    #[command(after_help = bundle::EXAMPLES)]
    Bundle(Box<bundle::BundleArgs>),
}

pub(crate) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Logs(args) => logs::run(&args, now, output).await,
        Command::Yaml(args) => yaml::run(&args, output).await,
        Command::Bundle(args) => bundle::run(&args, now, output).await,
    }
}
