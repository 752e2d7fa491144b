//! `keyward secret apikey`.

mod change;
mod export;
mod import;
mod list;
mod revoke;
mod rotate;
mod switch;
mod unused;
mod usage;
mod whoami;

use clap::Subcommand;
use jiff::Timestamp;

use crate::output::Output;

/// What is done with keys.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Lists keys: whose they are, whether they are valid, and when they were used.
    #[command(after_help = list::EXAMPLES)]
    List(list::ListArgs),
    /// Gives an identity a new key; the old one stays valid until the overlap ends.
    #[command(after_help = rotate::EXAMPLES)]
    Rotate(Box<rotate::RotateArgs>),
    /// Deletes a key for good, or the one before a rotation at once.
    #[command(after_help = revoke::EXAMPLES)]
    Revoke(revoke::RevokeArgs),
    /// Refuses a key until it is enabled again.
    #[command(after_help = switch::EXAMPLES)]
    Disable(switch::SwitchArgs),
    /// Accepts a disabled key again.
    #[command(after_help = switch::EXAMPLES)]
    Enable(switch::SwitchArgs),
    /// Says whose key it is, and which AuthConfigs accept it. Only its SHA-256 is sent.
    #[command(name = "whoami", after_help = whoami::EXAMPLES)]
    WhoAmI(whoami::WhoAmIArgs),
    /// Lists keys that nobody has used for some time.
    #[command(after_help = unused::EXAMPLES)]
    Unused(unused::UnusedArgs),
    /// Creates many keys from a file, CSV or JSON lines.
    #[command(after_help = import::EXAMPLES)]
    Import(Box<import::ImportArgs>),
    /// Writes keys as CSV or JSON lines, by default as digests; an import makes the same of them.
    #[command(after_help = export::EXAMPLES)]
    Export(export::ExportArgs),
}

pub(super) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::List(args) => list::run(&args, now, output).await,
        Command::Rotate(args) => rotate::run(&args, now, output).await,
        Command::Revoke(args) => revoke::run(&args, now, output).await,
        Command::Disable(args) => switch::run(&args, switch::To::Disabled, now, output).await,
        Command::Enable(args) => switch::run(&args, switch::To::Enabled, now, output).await,
        Command::WhoAmI(args) => whoami::run(&args, output).await,
        Command::Unused(args) => unused::run(&args, now, output).await,
        Command::Import(args) => import::run(&args, now, output).await,
        Command::Export(args) => export::run(&args, output).await,
    }
}
