//! `keyward proxy dump`.

use clap::Args;

use super::admin::AdminArgs;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  keyward proxy dump | jq '.configs[].\"@type\"'
  keyward proxy dump --include-eds > dump.json

Private keys are redacted by the proxy itself.";

/// What is dumped.
#[derive(Debug, Clone, Args)]
pub struct DumpArgs {
    /// With the addresses of the upstreams.
    #[arg(long)]
    include_eds: bool,

    #[command(flatten)]
    admin: AdminArgs,
}

pub(super) async fn run(args: &DumpArgs, output: &mut Output) -> anyhow::Result<()> {
    let admin = args.admin.open().await?;
    let path = if args.include_eds { "/config_dump?include_eds" } else { "/config_dump" };
    let dump = admin.get(path).await?;
    output.data(dump.trim_end())
}
