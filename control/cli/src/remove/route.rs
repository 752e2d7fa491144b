//! `keyward remove route`.

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use serde_json::Value;

use crate::output::Output;
use crate::routes::{ChangeArgs, Owner, owner_kind};

pub(super) const EXAMPLES: &str = "\
Examples:
  # Which number each route has:
  keyward get vs route shop -o wide

  # Removes the first:
  keyward remove route --name shop --index 0";

/// Which route.
#[derive(Debug, Clone, Args)]
pub struct RouteArgs {
    /// The virtual service.
    #[arg(long, value_name = "NAME")]
    name: String,

    /// It is a route table.
    #[arg(long)]
    from_route_table: bool,

    /// The number of the route, counted from 0.
    #[arg(long, short = 'x', value_name = "N")]
    index: usize,

    #[command(flatten)]
    change: ChangeArgs,
}

pub(super) async fn run(args: &RouteArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.change.remote.connect()?;
    let kind = owner_kind(args.from_route_table)?;
    let place = remote.place_of(kind, &args.name);
    let remove = |routes: &mut Vec<Value>| {
        if args.index >= routes.len() {
            bail!(
                "there is no route {} on {place}, which has {}: they are counted from 0\nhint: `keyward get {} \
                 route {} -n {} -o wide` shows them with their numbers",
                args.index,
                routes.len(),
                kind.singular,
                args.name,
                place.namespace
            );
        }
        routes.remove(args.index);
        Ok(())
    };
    let find = async || Ok(Owner::read(kind, remote.object(&place).await?));
    args.change.apply(&remote, find, remove, now, output).await
}
