//! The internal proxy: everything that one Envoy is told, in Keyward's terms and not yet in Envoy's.

pub mod names;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use keyward_filter_core::config::Policy;
use keyward_resource::ObjectRef;
use keyward_resource::kinds::upstream::StaticHost;

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
    /// The policies by auth id: only those that a route of this proxy needs.
    pub policies: BTreeMap<String, Policy>,
    /// The key tables that those policies need.
    pub tables: BTreeSet<String>,
}

/// An address that the proxy listens on. It is opened also when nothing is served there, and answers
/// 404 then: that the proxy is up and configured can be seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// `listener-<addr>-<port>`.
    pub name: String,
    /// Where.
    pub address: SocketAddr,
    /// The Gateway that it comes from; none for the Gateway that exists when none is declared.
    pub gateway: Option<ObjectRef>,
    /// What is served, sorted by name.
    pub virtual_hosts: Vec<VirtualHost>,
}

/// A virtual service on a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualHost {
    /// [`names::virtual_host`] of a version that is served, [`names::closed_virtual_host`] of what is
    /// left of a rejected one.
    pub name: String,
    /// The VirtualService that it comes from.
    pub virtual_service: ObjectRef,
    /// The host names.
    pub domains: Vec<String>,
    /// The routes in order.
    pub routes: Vec<Route>,
}

/// One route: one matcher, one destination, one decision on authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Tells the filter the auth id, see [`names::route`].
    pub name: String,
    /// The path starts with this.
    pub prefix: String,
    /// The cluster. Without an upstream it is [`names::no_cluster`], which does not exist: the proxy
    /// answers 503 then, after authentication.
    pub cluster: String,
    /// Rewrites the host header to the host name of the chosen endpoint.
    pub auto_host_rewrite: bool,
    /// Who is let through.
    pub auth: Auth,
}

/// Who is let through a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Auth {
    /// Everybody; the filter is not run.
    Open,
    /// Whom the policy of this auth id lets through.
    Secured {
        /// The auth id, `<namespace>/<name>` of the AuthConfig.
        auth_id: String,
    },
    /// Nobody: the filter is run and knows no policy of this auth id.
    Denied {
        /// The auth id of an AuthConfig that does not exist or is rejected, or one that no AuthConfig
        /// can have.
        auth_id: String,
        /// Why, for people.
        reason: String,
    },
}

/// An upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// `<name>_<namespace>`.
    pub name: String,
    /// The Upstream that it comes from.
    pub upstream: ObjectRef,
    /// Where it is, at least one.
    pub hosts: Vec<StaticHost>,
}

// === impl Auth ===

impl Auth {
    /// The auth id that the filter is to look up; none when the filter is not run.
    #[must_use]
    pub fn auth_id(&self) -> Option<&str> {
        match self {
            Self::Open => None,
            Self::Secured { auth_id } | Self::Denied { auth_id, .. } => Some(auth_id),
        }
    }
}

// === impl Proxy ===

impl Proxy {
    /// All routes of all listeners.
    pub fn routes(&self) -> impl Iterator<Item = &Route> {
        self.listeners.iter().flat_map(|listener| &listener.virtual_hosts).flat_map(|host| &host.routes)
    }
}
