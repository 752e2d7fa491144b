//! `keyward proxy stats`.

use clap::Args;

use super::admin::AdminArgs;
use crate::client::query;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy stats --filter 'keyward\\.denied'
  keyward proxy stats -n keyward-system --name gateway-proxy --prometheus

Counters of the filter begin with wasmcustom.keyward.";

/// What is counted.
#[derive(Debug, Clone, Args)]
pub struct StatsArgs {
    /// A regular expression (RE2) for the names.
    #[arg(long, value_name = "REGEX")]
    filter: Option<String>,

    /// In the text format of Prometheus.
    #[arg(long)]
    prometheus: bool,

    #[command(flatten)]
    admin: AdminArgs,
}

pub(super) async fn run(args: &StatsArgs, output: &mut Output) -> anyhow::Result<()> {
    let admin = args.admin.open().await?;
    let path = if args.prometheus { "/stats/prometheus" } else { "/stats" };
    let filter: Vec<(&str, &str)> = args.filter.iter().map(|filter| ("filter", filter.as_str())).collect();
    let stats = admin.get(&query(path, &filter)).await?;
    match stats.trim_end() {
        "" => {
            output.note("no name matches --filter");
            Ok(())
        }
        stats => output.data(stats),
    }
}
