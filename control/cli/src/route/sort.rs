//! `keyward route sort`.

use std::cmp::Reverse;

use clap::Args;
use jiff::Timestamp;
use serde_json::Value;

use crate::output::Output;
use crate::routes::{ChangeArgs, Owner, owner_kind};

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  # What would come of it:
  keyward route sort --name shop --dry-run -o table

  keyward route sort --name shop

The order: exact paths, then regular expressions, then prefixes; of each the
longer path first; of the same path the one with more conditions on methods,
headers and query parameters. Others stay in their order. A route with several
matchers stands where the most exact of them does.";

/// Whose routes.
#[derive(Debug, Clone, Args)]
pub struct SortArgs {
    /// The virtual service.
    #[arg(long, value_name = "NAME")]
    name: String,

    /// It is a route table.
    #[arg(long)]
    of_route_table: bool,

    #[command(flatten)]
    change: ChangeArgs,
}

/// Where something stands: the least is first.
type Rank = (u8, Reverse<usize>, Reverse<usize>);

/// How matchers name their path, the most exact first.
const PATHS: [&str; 3] = ["exact", "regex", "prefix"];
/// The fields with further conditions.
const CONDITIONS: [&str; 3] = ["methods", "headers", "queryParameters"];
/// What a matcher without a path, and a route without matchers, matches: all.
const EVERYTHING: &str = "/";

fn of_matcher(matcher: &Value) -> Rank {
    let said = (0_u8..).zip(PATHS).find_map(|(rank, field)| Some((rank, matcher[field].as_str()?.len())));
    let (rank, length) = said.unwrap_or((2, EVERYTHING.len()));
    let conditions = CONDITIONS.iter().filter_map(|field| matcher[*field].as_array()).map(Vec::len).sum();
    (rank, Reverse(length), Reverse(conditions))
}

fn of_route(route: &Value) -> Rank {
    let matchers = route["matchers"].as_array().map(Vec::as_slice).unwrap_or_default();
    matchers.iter().map(of_matcher).min().unwrap_or_else(|| of_matcher(&Value::Null))
}

pub(super) async fn run(args: &SortArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.change.remote.connect()?;
    let kind = owner_kind(args.of_route_table)?;
    let place = remote.place_of(kind, &args.name);
    let sort = |routes: &mut Vec<Value>| {
        routes.sort_by_key(of_route);
        Ok(())
    };
    let find = async || Ok(Owner::read(kind, remote.object(&place).await?));
    args.change.apply(&remote, find, sort, now, output).await
}
