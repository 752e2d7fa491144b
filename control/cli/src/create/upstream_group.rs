//! `keyward create upstreamgroup`.

use std::str::FromStr;

use anyhow::ensure;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::draft::DraftArgs;
use crate::output::Output;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Nine of ten requests to the old version, one to the new:
  keyward create upstreamgroup shop \\
    --weighted-upstreams keyward-system.shop-v1=9,keyward-system.shop-v2=1";

/// What the UpstreamGroup is to be.
#[derive(Debug, Clone, Args)]
pub(crate) struct UpstreamGroupArgs {
    #[command(flatten)]
    draft: DraftArgs,

    /// The upstreams and their weights, NAMESPACE.NAME=WEIGHT, with commas between them.
    #[arg(long, value_name = "UPSTREAMS", value_delimiter = ',')]
    weighted_upstreams: Vec<Weighted>,
}

/// An upstream and its weight.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Weighted {
    namespace: String,
    name: String,
    weight: u32,
}

pub(super) async fn run(args: &UpstreamGroupArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let fields = |_: &str| {
        ensure!(
            !args.weighted_upstreams.is_empty(),
            "a group has upstreams\nhint: --weighted-upstreams keyward-system.one=9,keyward-system.other=1"
        );
        let destinations: Vec<Value> = args.weighted_upstreams.iter().map(Weighted::destination).collect();
        Ok(json!({ "spec": { "destinations": destinations } }))
    };
    args.draft.create("UpstreamGroup", fields, now, output).await
}

// === impl Weighted ===

impl Weighted {
    fn destination(&self) -> Value {
        let upstream = json!({ "name": self.name, "namespace": self.namespace });
        json!({ "destination": { "upstream": upstream }, "weight": self.weight })
    }
}

impl FromStr for Weighted {
    type Err = String;

    /// A namespace has no dot, and a name may have some.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || format!("{text:?} is no upstream with its weight: write NAMESPACE.NAME=WEIGHT");
        let (upstream, weight) = text.trim().split_once('=').ok_or_else(wrong)?;
        let (namespace, name) = upstream.split_once('.').ok_or_else(wrong)?;
        let weight = weight.parse().map_err(|_| wrong())?;
        if namespace.is_empty() || name.is_empty() {
            return Err(wrong());
        }
        Ok(Self { namespace: namespace.to_owned(), name: name.to_owned(), weight })
    }
}

#[test]
fn an_upstream_of_a_group_has_a_namespace_and_a_weight() {
    let one: Weighted = "team.shop.v1=9".parse().expect("an upstream");
    assert_eq!(one, Weighted { namespace: "team".to_owned(), name: "shop.v1".to_owned(), weight: 9 });
    for wrong in ["", "shop=9", "team.shop", "team.shop=", "team.shop=x", "team.=1", ".shop=1", "a.b=-1"] {
        assert!(wrong.parse::<Weighted>().is_err(), "{wrong}");
    }
}
