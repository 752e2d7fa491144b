//! Options of virtual hosts and routes, written in place or in `VirtualHostOption` and `RouteOption`
//! objects.
//!
//! Options are merged whole field by whole field: who comes first decides about a field, and what it
//! leaves unset the next one fills in.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub use super::routing::format::Source;
use super::routing::format::sources;
use crate::meta::ObjectRef;

/// Options of a virtual host, for all its routes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VirtualHostOptions {
    /// Authentication; inherited by every route that has none of its own.
    pub extauth: Option<ExtAuth>,
    /// Whose keys count; inherited likewise, by itself.
    pub allowed: Option<Allowed>,
    /// Retries; inherited by every route that has none of its own.
    pub retries: Option<Retries>,
    /// Headers that are added or removed, beside those of the route.
    pub header_manipulation: Option<HeaderManipulation>,
    /// Cross-origin requests; every route inherits what it does not say itself.
    pub cors: Option<Cors>,
    /// What becomes of what both say.
    pub cors_merge: Option<CorsMerge>,
    /// Tells the upstream in `x-envoy-attempt-count` which attempt it sees.
    pub include_request_attempt_count: Option<bool>,
    /// Tells the client in `x-envoy-attempt-count` how many attempts there were.
    pub include_attempt_count_in_response: Option<bool>,
}

/// Options of a route.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouteOptions {
    /// Authentication; decides instead of the virtual host's.
    pub extauth: Option<ExtAuth>,
    /// Whose keys count; decides instead of the virtual host's, by itself.
    pub allowed: Option<Allowed>,
    /// The host that the upstream sees.
    pub host_rewrite: Option<HostRewrite>,
    /// Adds the client's host as `x-forwarded-host` when the host is rewritten.
    pub append_x_forwarded_host: Option<bool>,
    /// Stands in place of the matched prefix (or the whole path of an exact or regex matcher). Empty
    /// counts as unset.
    pub prefix_rewrite: Option<String>,
    /// Replaces what it matches in the path.
    pub regex_rewrite: Option<RegexRewrite>,
    /// How long a whole response may take; zero for no limit. Unset: 15 s.
    pub timeout: Option<Duration>,
    /// How long a stream may be silent; zero for no limit. Unset: as the listener.
    pub idle_timeout: Option<Duration>,
    /// The longest life of a stream.
    pub max_stream_duration: Option<MaxStreamDuration>,
    /// Retries.
    pub retries: Option<Retries>,
    /// Headers that are added or removed.
    pub header_manipulation: Option<HeaderManipulation>,
    /// Cross-origin requests; what is left open is as the virtual host says.
    pub cors: Option<Cors>,
    /// Faults for tests.
    pub faults: Option<Faults>,
    /// A copy of the requests goes elsewhere.
    pub shadowing: Option<Shadowing>,
    /// Protocol upgrades.
    pub upgrades: Option<Vec<Upgrade>>,
    /// What ring hash and maglev hash; the first that applies unless one is terminal.
    pub lb_hash: Option<Vec<HashPolicy>>,
}

/// Authentication of a virtual host or of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtAuth {
    /// No authentication.
    Disable,
    /// As this `AuthConfig` says.
    ConfigRef(ObjectRef),
}

/// Whose keys count, of those that are valid.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Allowed {
    /// Everybody's.
    Everyone,
    /// Those of these.
    Only(AllowList),
}

/// Those whose keys count: who is named, and who has the labels. An empty list allows nobody.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct AllowList {
    /// By identity.
    pub identities: BTreeSet<String>,
    /// By the labels of the Secret that holds the key: all of them; none at all allows nobody.
    pub labels: BTreeMap<String, String>,
}

/// The host that the upstream sees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostRewrite {
    /// This one.
    Literal(String),
    /// The host name of the chosen endpoint, if true.
    Auto(bool),
    /// The value of this header of the request.
    Header(String),
    /// What the expression makes of the path.
    PathRegex(RegexRewrite),
}

/// Replaces what an expression matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegexRewrite {
    /// The expression (RE2).
    pub regex: String,
    /// The replacement; `\1` stands for the first group.
    pub substitution: String,
}

/// The longest life of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MaxStreamDuration {
    /// Of any stream.
    pub max_stream_duration: Option<Duration>,
    /// The most that a client may ask for by `grpc-timeout`.
    pub grpc_timeout_header_max: Option<Duration>,
    /// Taken off what the client asked for.
    pub grpc_timeout_header_offset: Option<Duration>,
}

/// Retries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retries {
    /// When, in Envoy's words, comma separated: `5xx,connect-failure`.
    pub retry_on: String,
    /// How often. Unset: once.
    pub num_retries: Option<u32>,
    /// How long one attempt may take. Unset: as the route.
    pub per_try_timeout: Option<Duration>,
    /// The wait between attempts: base and longest.
    pub back_off: Option<BackOff>,
    /// Statuses for `retriable-status-codes`.
    pub retriable_status_codes: Vec<u16>,
    /// Other priorities are tried before those that were tried already; they are counted anew after
    /// this many attempts, at least 1.
    pub previous_priorities: Option<u32>,
    /// The wait that the upstream asks for in a header.
    pub rate_limited_back_off: Option<RateLimitedBackOff>,
}

/// The wait that the upstream asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimitedBackOff {
    /// The headers that may say it, the first that does decides; at least one.
    pub reset_headers: Vec<ResetHeader>,
    /// A longer wait than this is not believed. Unset: 300 s.
    pub max: Option<Duration>,
}

/// A header in which an upstream says how long to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResetHeader {
    /// The name in lower case.
    pub name: String,
    /// It holds a Unix time instead of seconds.
    pub unix_timestamp: bool,
}

/// The wait between attempts, doubling.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackOff {
    /// The first, at least 1 ms.
    pub base: Duration,
    /// The longest. Unset: ten times the first.
    pub max: Option<Duration>,
}

/// Headers that are added or removed. Removal comes before addition.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeaderManipulation {
    /// To the request.
    pub request_add: Vec<HeaderToAdd>,
    /// From the request.
    pub request_remove: Vec<String>,
    /// To the response.
    pub response_add: Vec<HeaderToAdd>,
    /// From the response.
    pub response_remove: Vec<String>,
}

/// A header to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderToAdd {
    /// The name in lower case.
    pub name: String,
    /// The value, in Envoy's format: `%REQ(:path)%` and the like are replaced.
    pub value: String,
    /// Keeps the values that are there already; otherwise they are replaced.
    pub append: bool,
}

/// Cross-origin requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cors {
    /// Origins by value; `*` for all.
    pub allow_origin: Vec<String>,
    /// Origins by expression.
    pub allow_origin_regex: Vec<String>,
    /// `access-control-allow-methods`.
    pub allow_methods: Vec<String>,
    /// `access-control-allow-headers`.
    pub allow_headers: Vec<String>,
    /// `access-control-expose-headers`.
    pub expose_headers: Vec<String>,
    /// `access-control-max-age`, in seconds.
    pub max_age: Option<u64>,
    /// `access-control-allow-credentials`; no unless told.
    pub allow_credentials: Option<bool>,
    /// No cross-origin handling on this route.
    pub disable_for_route: bool,
}

/// What becomes of those parts of a virtual host's [`Cors`] that a route has as well. Unless told
/// otherwise, the route's count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CorsMerge {
    /// `access-control-expose-headers` has those of both.
    pub union_of_expose_headers: bool,
}

/// Faults for tests. Percentages are in millionths.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Faults {
    /// Answers instead of the upstream.
    pub abort: Option<Abort>,
    /// Waits first.
    pub delay: Option<Delay>,
}

/// An answer instead of the upstream's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Abort {
    /// Of how many requests, in millionths.
    pub per_million: u32,
    /// The status, 200 to 599.
    pub http_status: u16,
}

/// A wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delay {
    /// Of how many requests, in millionths.
    pub per_million: u32,
    /// How long.
    pub fixed_delay: Duration,
}

/// A copy of the requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadowing {
    /// Where to.
    pub upstream: ObjectRef,
    /// Of how many requests, in millionths.
    pub per_million: u32,
    /// Leaves the host without `-shadow`.
    pub disable_host_suffix: bool,
    /// The host of the copy.
    pub host_rewrite: Option<String>,
}

/// A protocol upgrade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upgrade {
    /// Which.
    pub kind: UpgradeKind,
    /// Whether it is allowed.
    pub enabled: bool,
}

/// Which protocol upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpgradeKind {
    /// WebSocket.
    WebSocket,
}

/// What a hash is taken of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HashPolicy {
    /// What.
    pub source: HashSource,
    /// No later policy counts when this one applied.
    pub terminal: bool,
}

/// What a hash is taken of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HashSource {
    /// A header.
    Header(String),
    /// A cookie, which is made when it is missing and a lifetime is given.
    Cookie {
        /// Its name.
        name: String,
        /// Its lifetime; zero for a session.
        ttl: Option<Duration>,
        /// Its path.
        path: Option<String>,
    },
    /// The address of the client.
    SourceIp,
}

// === impl HeaderToAdd ===

impl HeaderToAdd {
    /// What its value takes over from requests and answers.
    #[must_use]
    pub fn sources(&self) -> Vec<Source> {
        sources(&self.value)
    }
}

// === impl Cors ===

impl Cors {
    /// Whether there is any origin that it allows.
    #[must_use]
    pub fn allows_any(&self) -> bool {
        !self.allow_origin.is_empty() || !self.allow_origin_regex.is_empty()
    }

    /// Whether it allows every origin, in so many words.
    #[must_use]
    pub fn allows_all(&self) -> bool {
        self.allow_origin.iter().any(|origin| origin == "*")
    }
}

// === impl AllowList ===

impl AllowList {
    /// Whether it allows this identity, whose Secret has these labels.
    #[must_use]
    pub fn allows(&self, identity: &str, labels: &BTreeMap<String, String>) -> bool {
        let by_labels = !self.labels.is_empty()
            && self.labels.iter().all(|(name, value)| labels.get(name) == Some(value));
        by_labels || self.identities.contains(identity)
    }
}

// === impl VirtualHostOptions ===

impl VirtualHostOptions {
    /// Fills in what is unset.
    pub fn fill(&mut self, from: &Self) {
        let Self {
            extauth,
            allowed,
            retries,
            header_manipulation,
            cors,
            cors_merge,
            include_request_attempt_count,
            include_attempt_count_in_response,
        } = self;
        fill_extauth((extauth, allowed), (&from.extauth, &from.allowed));
        fill(retries, &from.retries);
        fill(header_manipulation, &from.header_manipulation);
        fill(cors, &from.cors);
        fill(cors_merge, &from.cors_merge);
        fill(include_request_attempt_count, &from.include_request_attempt_count);
        fill(include_attempt_count_in_response, &from.include_attempt_count_in_response);
    }
}

// === impl RouteOptions ===

impl RouteOptions {
    /// Fills in the authentication of the virtual host where none is said.
    pub fn fill_authentication(&mut self, host: &VirtualHostOptions) {
        fill_extauth((&mut self.extauth, &mut self.allowed), (&host.extauth, &host.allowed));
    }

    /// Fills in what is unset.
    pub fn fill(&mut self, from: &Self) {
        let Self {
            extauth,
            allowed,
            host_rewrite,
            append_x_forwarded_host,
            prefix_rewrite,
            regex_rewrite,
            timeout,
            idle_timeout,
            max_stream_duration,
            retries,
            header_manipulation,
            cors,
            faults,
            shadowing,
            upgrades,
            lb_hash,
        } = self;
        fill_extauth((extauth, allowed), (&from.extauth, &from.allowed));
        fill(host_rewrite, &from.host_rewrite);
        fill(append_x_forwarded_host, &from.append_x_forwarded_host);
        // One field in two forms: the proxy takes only one of them.
        if prefix_rewrite.is_none() && regex_rewrite.is_none() {
            prefix_rewrite.clone_from(&from.prefix_rewrite);
            regex_rewrite.clone_from(&from.regex_rewrite);
        }
        fill(timeout, &from.timeout);
        fill(idle_timeout, &from.idle_timeout);
        fill(max_stream_duration, &from.max_stream_duration);
        fill(retries, &from.retries);
        fill(header_manipulation, &from.header_manipulation);
        fill(cors, &from.cors);
        fill(faults, &from.faults);
        fill(shadowing, &from.shadowing);
        fill(upgrades, &from.upgrades);
        fill(lb_hash, &from.lb_hash);
    }
}

/// Fills in who decides, and whose keys count. Whoever lets everybody in leaves nothing to an outer list;
/// but a list is not lifted by who stands further out.
fn fill_extauth(
    (extauth, allowed): (&mut Option<ExtAuth>, &mut Option<Allowed>),
    from: (&Option<ExtAuth>, &Option<Allowed>),
) {
    if *extauth != Some(ExtAuth::Disable) {
        fill(allowed, from.1);
    }
    fill(extauth, from.0);
}

fn fill<T: Clone>(field: &mut Option<T>, from: &Option<T>) {
    if field.is_none() {
        field.clone_from(from);
    }
}

#[cfg(test)]
mod tests;
