//! Virtual hosts and routes: what is asked of a request, who is let through, what becomes of it.

use std::time::Duration;

use keyward_resource::kinds::options::{
    AllowList, Cors, Faults, HashPolicy, HeaderManipulation, HostRewrite, MaxStreamDuration, RegexRewrite,
    Retries, Upgrade,
};
use keyward_resource::kinds::route::{
    DirectResponse, HeaderMatcher, PathMatcher, QueryParameterMatcher, Redirect,
};
use keyward_resource::{ObjectKey, ObjectRef};

use super::names;

/// A virtual service on a listener.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualHost {
    /// [`names::virtual_host`] of a version that is served,
    /// [`names::closed_virtual_host`] of what is left of a rejected one.
    pub name: String,
    /// The VirtualService that it comes from.
    pub virtual_service: ObjectRef,
    /// The other objects that it was made from: route tables and shared options, sorted.
    pub made_from: Vec<ObjectKey>,
    /// The host names.
    pub domains: Vec<String>,
    /// What holds of all its routes.
    pub options: HostOptions,
    /// The routes in order.
    pub routes: Vec<Route>,
}

/// What holds of all routes of a virtual host. What a route can decide for itself stands there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostOptions {
    /// Headers that are added or removed.
    pub header_manipulation: Option<HeaderManipulation>,
    /// Tells the upstream which attempt it sees.
    pub include_request_attempt_count: bool,
    /// Tells the client how many attempts there were.
    pub include_attempt_count_in_response: bool,
}

/// One route: one matcher, one action, one decision on authentication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Tells the filter the auth id, see [`names::route`].
    pub name: String,
    /// The same for people: `vs:<namespace>_<name>_route:<name>_rt:...`.
    pub path: String,
    /// How people find it in the object that says it, as all reasons name it.
    pub label: String,
    /// The object that says it: a VirtualService, or the last RouteTable of a delegation.
    pub from: ObjectKey,
    /// What is asked of a request.
    pub matcher: RouteMatcher,
    /// Who is let through.
    pub auth: Auth,
    /// What becomes of a request that is let through.
    pub action: Action,
    /// Headers that are added or removed.
    pub header_manipulation: Option<HeaderManipulation>,
    /// Cross-origin requests; a preflight is answered before authentication.
    pub cors: Option<Cors>,
    /// Faults for tests, before authentication.
    pub faults: Option<Faults>,
}

/// A condition on a request: all parts must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteMatcher {
    /// On the path.
    pub path: PathMatcher,
    /// Whether letters of the path must have the same case.
    pub case_sensitive: bool,
    /// On headers.
    pub headers: Vec<HeaderMatcher>,
    /// On query parameters.
    pub query_parameters: Vec<QueryParameterMatcher>,
    /// The methods; none means any.
    pub methods: Vec<String>,
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It is forwarded.
    Forward(Box<Forward>),
    /// The client is told to go elsewhere.
    Redirect(Redirect),
    /// The proxy answers itself.
    DirectResponse(DirectResponse),
}

/// How a request is forwarded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Forward {
    /// Where to; at least one.
    pub to: Vec<Destination>,
    /// The host that the upstream sees.
    pub host_rewrite: Option<HostRewrite>,
    /// Adds the client's host as `x-forwarded-host` when the host is rewritten.
    pub append_x_forwarded_host: bool,
    /// What becomes of the path.
    pub path_rewrite: Option<PathRewrite>,
    /// How long a whole response may take; zero for no limit.
    pub timeout: Option<Duration>,
    /// How long a stream may be silent; zero for no limit.
    pub idle_timeout: Option<Duration>,
    /// The longest life of a stream.
    pub max_stream_duration: Option<MaxStreamDuration>,
    /// Retries.
    pub retries: Option<Retries>,
    /// A copy of the requests goes elsewhere.
    pub shadow: Option<Shadow>,
    /// Protocol upgrades, each kind once.
    pub upgrades: Vec<Upgrade>,
    /// What is hashed to choose an endpoint.
    pub hash: Vec<HashPolicy>,
}

/// One of the clusters of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    /// The cluster. Without an upstream it is [`names::no_cluster`], which does not exist: the
    /// proxy answers 503 then, after authentication.
    pub cluster: String,
    /// Its share of the requests, relative to the sum of all; the sum is 1 at least and fits 32 bits.
    pub weight: u32,
    /// Headers that are added or removed when it is chosen.
    pub header_manipulation: Option<HeaderManipulation>,
}

/// What becomes of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PathRewrite {
    /// What matched is replaced.
    Prefix(String),
    /// What the expression matches is replaced.
    Regex(RegexRewrite),
}

/// A copy of the requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadow {
    /// Where to.
    pub cluster: String,
    /// Of how many requests, in millionths.
    pub per_million: u32,
    /// Leaves the host without `-shadow`.
    pub disable_host_suffix: bool,
    /// The host of the copy.
    pub host_rewrite: Option<String>,
}

/// Who is let through a route.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Auth {
    /// Everybody; the filter is not run.
    Open,
    /// Whom the policy of this auth id lets through.
    Secured {
        /// The auth id, see [`names::auth_id`] and [`names::allowing`].
        auth_id: String,
        /// Of those, only these.
        allowed: Option<AllowList>,
        /// And whoever brings no key.
        open: bool,
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

// === impl Auth ===

impl Auth {
    /// The auth id that the filter is to look up; none when the filter is not run.
    #[must_use]
    pub fn auth_id(&self) -> Option<&str> {
        match self {
            Self::Open => None,
            Self::Secured { auth_id, .. } | Self::Denied { auth_id, .. } => Some(auth_id),
        }
    }
}

// === impl VirtualHost ===

impl VirtualHost {
    /// The virtual host of a virtual service, with nothing but routes.
    #[must_use]
    pub fn new(virtual_service: ObjectRef, domains: Vec<String>, routes: Vec<Route>) -> Self {
        Self {
            name: names::virtual_host(&virtual_service),
            virtual_service,
            made_from: Vec::new(),
            domains,
            options: HostOptions::default(),
            routes,
        }
    }

    /// The auth ids of its routes, some more than once.
    pub fn auth_ids(&self) -> impl Iterator<Item = &str> {
        self.routes.iter().filter_map(|route| route.auth.auth_id())
    }
}

// === impl Route ===

impl Route {
    /// A route that does nothing with headers, without a name.
    #[must_use]
    pub fn new(from: ObjectKey, matcher: RouteMatcher, auth: Auth, action: Action) -> Self {
        Self {
            name: String::new(),
            path: String::new(),
            label: String::new(),
            from,
            matcher,
            auth,
            action,
            header_manipulation: None,
            cors: None,
            faults: None,
        }
    }
}

// === impl RouteMatcher ===

impl RouteMatcher {
    /// Every request whose path starts with this.
    #[must_use]
    pub fn prefix(prefix: impl Into<String>) -> Self {
        Self {
            path: PathMatcher::Prefix(prefix.into()),
            case_sensitive: true,
            headers: Vec::new(),
            query_parameters: Vec::new(),
            methods: Vec::new(),
        }
    }
}

// === impl Action ===

impl Action {
    /// Forwards to one cluster, as it is.
    #[must_use]
    pub fn to_cluster(cluster: impl Into<String>) -> Self {
        let to = vec![Destination { cluster: cluster.into(), weight: 1, header_manipulation: None }];
        Self::Forward(Box::new(Forward { to, ..Forward::default() }))
    }

    /// The clusters that it forwards to.
    pub fn clusters(&self) -> impl Iterator<Item = &str> {
        let forward = match self {
            Self::Forward(forward) => Some(forward),
            Self::Redirect(_) | Self::DirectResponse(_) => None,
        };
        forward.into_iter().flat_map(|forward| &forward.to).map(|to| to.cluster.as_str())
    }
}
