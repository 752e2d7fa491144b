//! `keyward add route`.

use anyhow::bail;
use clap::Args;
use jiff::Timestamp;
use keyward_resource::Kind;
use serde_json::{Value, json};

use super::matcher::MatcherArgs;
use crate::output::Output;
use crate::reference::Reference;
use crate::remote::Remote;
use crate::routes::{ChangeArgs, Owner, owner_kind};

#[cfg(test)]
mod tests;

pub(super) const EXAMPLES: &str = "\
Examples:
  # Everything to one upstream; the virtual service default, for all
  # domains, is created if there is none:
  keyward add route --path-prefix / --dest-name httpbin

  # Before the route that is the first now, for some requests only:
  keyward add route --name shop --path-exact /orders --method GET,POST \\
    --header 'x-beta=on|true' --dest-name orders --index 0

  # To a group of upstreams, under another path:
  keyward add route --name shop --path-prefix /api --upstream-group-name api \\
    --prefix-rewrite /

  # To a route table, and a route of that table:
  keyward add route --name shop --path-prefix /team --delegate-name team
  keyward add route --name team --to-route-table --path-prefix /team/a \\
    --dest-name a --dry-run

The first route that matches a request decides. Without --index a route is
added before all others.";

/// Which route, and to what it is added.
#[derive(Debug, Clone, Args)]
pub struct RouteArgs {
    /// The virtual service [default: the one for all domains, which is created, as `default`, if there is none].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,

    /// It is a route table, which is created if there is none.
    #[arg(long, requires = "name")]
    to_route_table: bool,

    /// Where in the list of routes: before the one with this number, counted from 0.
    #[arg(long, short = 'x', value_name = "N", default_value_t = 0)]
    index: usize,

    /// Looks in all namespaces for the virtual service for all domains.
    #[arg(long, conflicts_with = "name")]
    cluster_scoped_vs_client: bool,

    #[command(flatten)]
    matcher: MatcherArgs,

    #[command(flatten)]
    destination: DestinationArgs,

    #[command(flatten)]
    change: ChangeArgs,
}

/// Where requests go.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Destination")]
struct DestinationArgs {
    /// The upstream.
    #[arg(long, short = 'u', value_name = "NAME", group = "destination",
          required_unless_present_any = ["upstream_group_name", "delegate_name"])]
    dest_name: Option<String>,

    /// The namespace of the upstream [default: that of -n].
    #[arg(long, short = 's', value_name = "NAMESPACE", requires = "dest_name")]
    dest_namespace: Option<String>,

    /// The upstream group.
    #[arg(long, value_name = "NAME", group = "destination")]
    upstream_group_name: Option<String>,

    /// The namespace of the upstream group [default: that of -n].
    #[arg(long, value_name = "NAMESPACE", requires = "upstream_group_name")]
    upstream_group_namespace: Option<String>,

    /// The route table that decides further.
    #[arg(long, value_name = "NAME", group = "destination")]
    delegate_name: Option<String>,

    /// The namespace of the route table [default: that of -n].
    #[arg(long, value_name = "NAMESPACE", requires = "delegate_name")]
    delegate_namespace: Option<String>,

    /// What stands in place of the matched prefix for the upstream.
    #[arg(long, value_name = "PATH", conflicts_with = "delegate_name")]
    prefix_rewrite: Option<String>,
}

/// The domain of all that no other virtual service has.
const EVERYTHING: &str = "*";
/// The name of the virtual service for it where there is none.
const DEFAULT: &str = "default";

pub(super) async fn run(args: &RouteArgs, now: Timestamp, output: &mut Output) -> anyhow::Result<()> {
    let remote = args.change.remote.connect()?;
    let kind = owner_kind(args.to_route_table)?;
    let route = args.destination.route(&args.matcher, &remote.namespace);
    let add = |routes: &mut Vec<Value>| {
        if args.index > routes.len() {
            bail!(
                "there is no place {} among {} routes\nhint: --index {} is behind all of them",
                args.index,
                routes.len(),
                routes.len()
            );
        }
        routes.insert(args.index, route.clone());
        Ok(())
    };
    args.change.apply(&remote, async || args.owner(kind, &remote).await, add, now, output).await
}

/// Whether a virtual service is for all that no other has.
fn is_for_everything(object: &Value) -> bool {
    let domains = object["spec"]["virtualHost"]["domains"].as_array().map(Vec::as_slice).unwrap_or_default();
    domains.is_empty() || domains.iter().any(|domain| domain == EVERYTHING)
}

// === impl RouteArgs ===

impl RouteArgs {
    /// What the route is added to, as it is now, or as it is to be created.
    async fn owner(&self, kind: &'static Kind, remote: &Remote) -> anyhow::Result<Owner> {
        if let Some(name) = &self.name {
            let place = remote.place_of(kind, name);
            return Ok(match remote.find(&place).await? {
                Some(object) => Owner::read(kind, object),
                None => Owner::new(place),
            });
        }
        let namespace = (!self.cluster_scoped_vs_client).then_some(remote.namespace.as_str());
        let all = remote.list(kind, namespace, None).await?;
        let found = all.into_iter().find(is_for_everything);
        Ok(match found {
            Some(object) => Owner::read(kind, object),
            None => Owner::new(remote.place_of(kind, DEFAULT)),
        })
    }
}

// === impl DestinationArgs ===

impl DestinationArgs {
    /// The route. What names no namespace is in this one.
    fn route(&self, matcher: &MatcherArgs, namespace: &str) -> Value {
        let reference = |name: &Option<String>, of: &Option<String>| {
            Some(Reference::new(of.clone(), name.clone()?).within(namespace))
        };
        let mut route = json!({ "matchers": [matcher.matcher()] });
        if let Some(upstream) = reference(&self.dest_name, &self.dest_namespace) {
            route["routeAction"] = json!({ "single": { "upstream": upstream } });
        }
        if let Some(group) = reference(&self.upstream_group_name, &self.upstream_group_namespace) {
            route["routeAction"] = json!({ "upstreamGroup": group });
        }
        if let Some(table) = reference(&self.delegate_name, &self.delegate_namespace) {
            route["delegateAction"] = json!({ "ref": table });
        }
        if let Some(path) = &self.prefix_rewrite {
            route["options"] = json!({ "prefixRewrite": path });
        }
        route
    }
}
