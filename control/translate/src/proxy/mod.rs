//! The internal proxy: everything that one Envoy is told, in Keyward's terms and not yet in Envoy's.

mod listener;
pub mod names;
pub mod object;
mod route;
mod secret;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::config::Policy;
use keyward_resource::ObjectRef;
use keyward_resource::kinds::options::AllowList;
use keyward_resource::kinds::upstream::{CircuitBreakers, Upstream};

pub use self::listener::{Chain, ChainTls, Listener, TlsTerms};
pub use self::route::{
    Action, Auth, Destination, Forward, HostOptions, PathRewrite, Route, RouteMatcher, Shadow, VirtualHost,
};
pub use self::secret::{Secret, SecretContent};

/// One proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// The node role that it is for: `<system namespace>~<proxy>`.
    pub role: String,
    /// Its listeners, sorted by name.
    pub listeners: Vec<Listener>,
    /// The clusters by name: one for every upstream, used or not, so that a cluster is warm and its
    /// names are resolved before the first route points to it.
    pub clusters: BTreeMap<String, Cluster>,
    /// The secrets by name: only those that a listener or a cluster of this proxy needs.
    pub secrets: BTreeMap<String, Secret>,
    /// The headers that authentication sets, the identity among them and else what the policies below tell:
    /// no client may bring any of them, on whatever route.
    pub auth_headers: BTreeSet<String>,
    /// The policies by auth id: only those that a route of this proxy needs.
    pub policies: BTreeMap<String, Policy>,
    /// Who is allowed by those of them that allow only some, by auth id.
    pub allow_lists: BTreeMap<String, AllowList>,
    /// The key tables that those policies need.
    pub tables: BTreeSet<String>,
}

/// An upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// `<name>_<namespace>`.
    pub name: String,
    /// The Upstream that it comes from.
    pub upstream: ObjectRef,
    /// The version that is used.
    pub spec: Arc<Upstream>,
    /// How much may be under way at once: its own, or those of the settings.
    pub circuit_breakers: CircuitBreakers,
    /// The secrets of TLS; none without TLS.
    pub tls: Option<ClusterTls>,
    /// Whether a host may be the REST API, so that it has to be told where requests come from.
    pub is_marked: bool,
}

/// The secrets that TLS towards an upstream uses, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterTls {
    /// The client certificate.
    pub certificate: Option<String>,
    /// What the certificates of the hosts are verified against; none takes every certificate.
    pub root_ca: Option<String>,
}

/// Who is allowed on routes of each AuthConfig, of all these proxies, by the auth id of those routes.
#[must_use]
pub fn allow_lists<'p>(
    proxies: impl IntoIterator<Item = &'p Proxy>,
) -> BTreeMap<ObjectRef, BTreeMap<String, AllowList>> {
    let mut lists: BTreeMap<ObjectRef, BTreeMap<String, AllowList>> = BTreeMap::new();
    for (auth_id, list) in proxies.into_iter().flat_map(|proxy| &proxy.allow_lists) {
        if let Some(auth_config) = names::auth_config(auth_id) {
            lists.entry(auth_config).or_default().insert(auth_id.clone(), list.clone());
        }
    }
    lists
}

// === impl Proxy ===

impl Proxy {
    /// The auth ids of all routes, some more than once.
    pub fn auth_ids(&self) -> impl Iterator<Item = &str> {
        self.listeners.iter().flat_map(Listener::virtual_hosts).flat_map(|host| host.auth_ids())
    }

    /// All routes of all listeners.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.listeners.iter().flat_map(Listener::virtual_hosts).flat_map(|host| &host.routes)
    }
}
