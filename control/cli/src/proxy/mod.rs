//! `keyward proxy`.
//!
//! ```text
//! served-config, url, address, status ─▶ Client ─▶ REST of the control server
//! logs ┘
//! dump, stats, snapshot, bootstrap    ─▶ Admin ─▶ the proxy's admin, port 19000
//! diff                                ─▶ both
//! ```

mod address;
mod admin;
mod bootstrap;
mod diff;
mod dump;
mod logs;
mod served;
mod served_config;
mod snapshot;
mod stats;
pub(crate) mod status;

use clap::Subcommand;
use jiff::Timestamp;

use crate::output::Output;

/// What is asked about proxies.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Prints the URL of a proxy.
    #[command(after_help = address::EXAMPLES)]
    Url(address::AddressArgs),
    /// Prints the host and the port of a proxy.
    #[command(after_help = address::EXAMPLES)]
    Address(address::AddressArgs),
    /// Shows what the control server serves to a proxy.
    #[command(after_help = served_config::EXAMPLES)]
    ServedConfig(served_config::ServedConfigArgs),
    /// Prints the configuration that a proxy reports.
    #[command(after_help = dump::EXAMPLES)]
    Dump(dump::DumpArgs),
    /// Shows the log of the proxy; with -f at a higher level, which is put back.
    #[command(after_help = logs::EXAMPLES)]
    Logs(logs::LogsArgs),
    /// Prints the statistics of a proxy.
    #[command(after_help = stats::EXAMPLES)]
    Stats(stats::StatsArgs),
    /// Writes everything that a proxy reports into a file.
    #[command(after_help = snapshot::EXAMPLES)]
    Snapshot(snapshot::SnapshotArgs),
    /// Shows each connected proxy: what it makes of its configuration, and which keys its workers hold.
    #[command(after_help = status::EXAMPLES)]
    Status(status::StatusArgs),
    /// Compares what is served with what a proxy reports; exit code 2 when they differ.
    #[command(after_help = diff::EXAMPLES)]
    Diff(diff::DiffArgs),
    /// Prints what a proxy was started with, or makes it for an Envoy elsewhere.
    #[command(after_help = bootstrap::EXAMPLES)]
    Bootstrap(bootstrap::BootstrapArgs),
}

pub(crate) async fn run(command: Command, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    match command {
        Command::Url(args) => address::url(&args, output).await,
        Command::Address(args) => address::address(&args, output).await,
        Command::ServedConfig(args) => served_config::run(&args, output).await,
        Command::Dump(args) => dump::run(&args, output).await,
        Command::Logs(args) => logs::run(&args, output).await,
        Command::Stats(args) => stats::run(&args, output).await,
        Command::Snapshot(args) => snapshot::run(&args, now, output).await,
        Command::Status(args) => status::run(&args, now, output).await,
        Command::Diff(args) => diff::run(&args, output).await,
        Command::Bootstrap(args) => bootstrap::run(&args, output).await,
    }
}
