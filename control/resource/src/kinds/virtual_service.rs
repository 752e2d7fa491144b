//! `VirtualService`: domains, and the routes under them.

use crate::meta::{Meta, ObjectRef};

/// A `VirtualService`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualService {
    /// Its metadata.
    pub meta: Meta,
    /// The host names matched: exact, `*.suffix`, `prefix.*` or `*`. Lower case, no duplicates,
    /// without ports.
    pub domains: Vec<String>,
    /// The routes in order; the first that matches decides.
    pub routes: Vec<Route>,
    /// `spec.virtualHost.options.extauth`: inherited by every route that has none of its own.
    pub extauth: Option<ExtAuth>,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its own name, for people.
    pub name: Option<String>,
    /// It matches when one of these does; at least one.
    pub matchers: Vec<Matcher>,
    /// Where matching requests go: `routeAction.single.upstream`.
    pub upstream: ObjectRef,
    /// Rewrites the host header to the upstream's host name.
    pub auto_host_rewrite: bool,
    /// `options.extauth`: decides instead of the virtual host's.
    pub extauth: Option<ExtAuth>,
}

/// A condition on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    /// The path starts with this.
    pub prefix: String,
}

/// Authentication of a virtual host or of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtAuth {
    /// No authentication.
    Disable,
    /// As this `AuthConfig` says.
    ConfigRef(ObjectRef),
}
