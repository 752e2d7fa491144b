//! Route configurations.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Metadata, RouteMatch};

/// What is said of filters on a level, by their names.
pub(crate) type PerFilter = BTreeMap<String, Value>;

/// The virtual hosts of a chain.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RouteConfiguration {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) virtual_hosts: Vec<VirtualHost>,
    #[serde(default)]
    pub(crate) ignore_port_in_host_matching: bool,
    #[serde(default)]
    pub(crate) typed_per_filter_config: PerFilter,
}

/// The routes of some domains.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct VirtualHost {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) domains: Vec<String>,
    #[serde(default)]
    pub(crate) routes: Vec<Route>,
    #[serde(default)]
    pub(crate) metadata: Metadata,
    #[serde(default)]
    pub(crate) typed_per_filter_config: PerFilter,
    /// What is known of no other field that decides about routes.
    #[serde(default)]
    pub(crate) require_tls: Option<Value>,
    #[serde(default)]
    pub(crate) matcher: Option<Value>,
}

/// A route.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Route {
    #[serde(default)]
    pub(crate) name: String,
    pub(crate) r#match: RouteMatch,
    #[serde(default)]
    pub(crate) metadata: Metadata,
    #[serde(default)]
    pub(crate) typed_per_filter_config: PerFilter,
    route: Option<RouteAction>,
    redirect: Option<RedirectAction>,
    direct_response: Option<DirectResponse>,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Action<'a> {
    Forward(&'a RouteAction),
    Redirect(u16),
    Respond(u16),
    Unknown,
}

/// To where it is sent on.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RouteAction {
    cluster: Option<String>,
    weighted_clusters: Option<WeightedClusters>,
    upgrade_configs: Vec<Upgrade>,
}

/// A protocol to which a connection may go over.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Upgrade {
    upgrade_type: String,
    enabled: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WeightedClusters {
    clusters: Vec<WeightedCluster>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct WeightedCluster {
    name: String,
    weight: u32,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct RedirectAction {
    response_code: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DirectResponse {
    status: u16,
}

// === impl Route ===

impl Route {
    pub(crate) fn action(&self) -> Action<'_> {
        match (&self.route, &self.redirect, &self.direct_response) {
            (Some(action), _, _) => Action::Forward(action),
            (_, Some(redirect), _) => redirect.status().map_or(Action::Unknown, Action::Redirect),
            (_, _, Some(response)) => Action::Respond(response.status),
            (None, None, None) => Action::Unknown,
        }
    }
}

// === impl RedirectAction ===

impl RedirectAction {
    fn status(&self) -> Option<u16> {
        Some(match self.response_code.as_deref() {
            None | Some("MOVED_PERMANENTLY") => 301,
            Some("FOUND") => 302,
            Some("SEE_OTHER") => 303,
            Some("TEMPORARY_REDIRECT") => 307,
            Some("PERMANENT_REDIRECT") => 308,
            Some(_) => return None,
        })
    }
}

// === impl Upgrade ===

impl Upgrade {
    /// Whether the first of these that is about a protocol lets it be.
    pub(crate) fn of(all: &[Self], protocol: &str) -> Option<bool> {
        let about = all.iter().find(|one| one.upgrade_type.eq_ignore_ascii_case(protocol))?;
        Some(about.enabled.unwrap_or(true))
    }
}

// === impl RouteAction ===

impl RouteAction {
    /// Whether a connection may go over to a protocol, as far as the route says.
    pub(crate) fn upgrades_to(&self, protocol: &str) -> Option<bool> {
        Upgrade::of(&self.upgrade_configs, protocol)
    }

    /// The clusters that a request may go to, with their weights; none where that is not known here.
    pub(crate) fn clusters(&self) -> Option<Vec<(&str, u32)>> {
        match (&self.cluster, &self.weighted_clusters) {
            (Some(cluster), _) => Some(vec![(cluster, 1)]),
            (None, Some(weighted)) => {
                let with_weight = weighted.clusters.iter().filter(|cluster| cluster.weight > 0);
                Some(with_weight.map(|cluster| (cluster.name.as_str(), cluster.weight)).collect())
            }
            (None, None) => None,
        }
    }
}
