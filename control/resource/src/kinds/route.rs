//! Routes: what a request must be like, and what becomes of it. Shared by `VirtualService` and
//! `RouteTable`.

use std::collections::BTreeMap;

use super::options::{HeaderManipulation, RegexRewrite, RouteOptions};
use crate::meta::ObjectRef;

/// The header that carries the identity of the caller, unless the settings name another.
pub const DEFAULT_IDENTITY_HEADER: &str = "x-user-id";

/// One route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its own name, for people.
    pub name: Option<String>,
    /// It matches when one of these does. None stands for one matcher of the prefix `/`, or, in a route
    /// that inherits its path, for one matcher without a path of its own.
    pub matchers: Vec<Matcher>,
    /// In a `RouteTable`: headers, methods and query parameters of the delegating route are put in front
    /// of its own. Unset: as the delegating route says of itself.
    pub inheritable_matchers: Option<bool>,
    /// In a `RouteTable`: the path of the delegating route stands in place of its own.
    pub inheritable_path_matchers: Option<bool>,
    /// What becomes of a request.
    pub action: Action,
    /// How it is treated on the way.
    pub options: RouteOptions,
    /// `RouteOption` objects that fill in what `options` leaves unset, the earlier before the later.
    pub options_refs: Vec<ObjectRef>,
}

/// More of a path is not repeated where a route is named.
const MAX_PATH: usize = 64;

/// A condition on a request: all parts must hold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Matcher {
    /// On the path. None only where it is inherited or the prefix `/` is meant.
    pub path: Option<PathMatcher>,
    /// Whether letters of the path must have the same case; unset means yes. Delegation tells unset
    /// from true.
    pub case_sensitive: Option<bool>,
    /// On headers.
    pub headers: Vec<HeaderMatcher>,
    /// On query parameters.
    pub query_parameters: Vec<QueryParameterMatcher>,
    /// The methods, upper case as written; none means any.
    pub methods: Vec<String>,
}

/// A condition on the path, without the query.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathMatcher {
    /// It starts with this.
    Prefix(String),
    /// It is this.
    Exact(String),
    /// All of it matches this regular expression (RE2); see [`crate::MAX_REGEX_PROGRAM_SIZE`].
    Regex(String),
}

/// A condition on a header.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeaderMatcher {
    /// The name in lower case, pseudo headers such as `:authority` included.
    pub name: String,
    /// On its value.
    pub value: ValueMatcher,
    /// The condition must not hold.
    pub invert: bool,
}

/// A condition on a query parameter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueryParameterMatcher {
    /// The name.
    pub name: String,
    /// On its value.
    pub value: ValueMatcher,
}

/// A condition on a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueMatcher {
    /// It is there.
    Present,
    /// It is this.
    Exact(String),
    /// All of it matches this regular expression (RE2); see [`crate::MAX_REGEX_PROGRAM_SIZE`].
    Regex(String),
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// It is forwarded.
    Forward(Target),
    /// The client is told to go elsewhere.
    Redirect(Redirect),
    /// The proxy answers itself.
    DirectResponse(DirectResponse),
    /// Route tables decide.
    Delegate(Delegate),
}

/// Where a request goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To one upstream.
    Single(ObjectRef),
    /// To several by weight; the weights add up to 1 at least.
    Multi(Vec<WeightedDestination>),
    /// As this `UpstreamGroup` says.
    Group(ObjectRef),
}

/// One of several destinations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeightedDestination {
    /// The upstream.
    pub upstream: ObjectRef,
    /// The share of requests, relative to the sum of all weights.
    pub weight: u32,
    /// Headers that are added or removed when this destination is chosen.
    pub header_manipulation: Option<HeaderManipulation>,
}

/// A redirect. What is unset stays as in the request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redirect {
    /// The new host.
    pub host: Option<String>,
    /// The new path.
    pub path: Option<RedirectPath>,
    /// The status.
    pub code: RedirectCode,
    /// To `https`.
    pub https: bool,
    /// Drops the query.
    pub strip_query: bool,
    /// The new port.
    pub port: Option<u16>,
}

/// The path of a redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RedirectPath {
    /// This one.
    Path(String),
    /// The matched prefix is replaced.
    Prefix(String),
    /// What the expression matches is replaced.
    Regex(RegexRewrite),
}

/// The status of a redirect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RedirectCode {
    /// 301, the default.
    #[default]
    MovedPermanently,
    /// 302.
    Found,
    /// 303.
    SeeOther,
    /// 307.
    TemporaryRedirect,
    /// 308.
    PermanentRedirect,
}

/// An answer of the proxy itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DirectResponse {
    /// The status, 200 to 599.
    pub status: u16,
    /// The body; may be empty.
    pub body: String,
}

/// Which route tables decide.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delegate {
    /// This one.
    Ref(ObjectRef),
    /// All that are selected, by weight.
    Selector(RouteTableSelector),
}

/// Selects route tables. All parts must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTableSelector {
    /// Where to look.
    pub namespaces: Namespaces,
    /// Labels that must be there.
    pub labels: BTreeMap<String, String>,
    /// Conditions on labels.
    pub expressions: Vec<Expression>,
}

/// A set of namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Namespaces {
    /// All, `*`.
    All,
    /// These, at least one. When none is written it is the namespace of the object that selects.
    These(Vec<String>),
}

/// A condition on a label.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// The label.
    pub key: String,
    /// What must hold.
    pub operator: Operator,
    /// What it is compared with; as many as the operator takes.
    pub values: Vec<String>,
}

/// What must hold of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// It is the one value.
    Equals,
    /// It is not the one value, or not there.
    NotEquals,
    /// It is one of the values.
    In,
    /// It is none of the values, or not there.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
    /// It is a whole number greater than the one value.
    GreaterThan,
    /// It is a whole number less than the one value.
    LessThan,
}

/// Whether two names of headers are one to an upstream: in any case, and with `_` for `-`, as many
/// servers have it.
#[must_use]
pub fn same_header(one: &str, other: &str) -> bool {
    let fold = |byte: u8| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() };
    one.len() == other.len() && one.bytes().map(fold).eq(other.bytes().map(fold))
}

// === impl Route ===

impl Route {
    /// How people find it among the routes of its object, where it has this place: by its name,
    /// `route "open"`, or, without one, by place and matcher, `routes[3] (GET prefix /api)`.
    #[must_use]
    pub fn label(&self, index: usize) -> String {
        if let Some(name) = &self.name {
            return format!("route {name:?}");
        }
        let first = self.matchers.first().map_or_else(|| Matcher::default().label(), Matcher::label);
        match self.matchers.len() {
            0 | 1 => format!("routes[{index}] ({first})"),
            more => format!("routes[{index}] ({first}, and {} more)", more - 1),
        }
    }
}

// === impl Matcher ===

impl Matcher {
    /// What it asks of method and path, for people.
    fn label(&self) -> String {
        let (kind, path) = match &self.path {
            None => ("any path", ""),
            Some(PathMatcher::Prefix(path)) => ("prefix ", path.as_str()),
            Some(PathMatcher::Exact(path)) => ("exact ", path.as_str()),
            Some(PathMatcher::Regex(path)) => ("regex ", path.as_str()),
        };
        let cut = &path[..path.floor_char_boundary(MAX_PATH)];
        let more = if cut.len() < path.len() { "..." } else { "" };
        let methods = self.methods.join(",");
        let space = if methods.is_empty() { "" } else { " " };
        format!("{methods}{space}{kind}{cut}{more}")
    }

    /// The headers on which it depends, pseudo headers included. Whoever knows which headers
    /// authentication sets compares them by [`same_header`]: a route must not depend on them.
    pub fn header_names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().map(|header| header.name.as_str())
    }
}

// === impl RedirectCode ===

impl RedirectCode {
    /// The HTTP status.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::MovedPermanently => 301,
            Self::Found => 302,
            Self::SeeOther => 303,
            Self::TemporaryRedirect => 307,
            Self::PermanentRedirect => 308,
        }
    }
}

// === impl RouteTableSelector ===

impl RouteTableSelector {
    /// Whether an object in this namespace, with these labels, is selected.
    #[must_use]
    pub fn selects(&self, namespace: &str, labels: &BTreeMap<String, String>) -> bool {
        self.namespaces.include(namespace)
            && self.labels.iter().all(|(key, value)| labels.get(key) == Some(value))
            && self.expressions.iter().all(|expression| expression.holds(labels))
    }
}

// === impl Namespaces ===

impl Namespaces {
    /// Whether a namespace is in the set.
    #[must_use]
    pub fn include(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(namespaces) => namespaces.iter().any(|one| one == namespace),
        }
    }
}

// === impl Expression ===

impl Expression {
    /// Whether it holds of these labels.
    #[must_use]
    pub fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        let label = labels.get(&self.key);
        let is_one = || label.is_some_and(|label| self.values.contains(label));
        let number = || label.and_then(|label| label.parse::<i64>().ok());
        let bound = || self.values.first().and_then(|value| value.parse::<i64>().ok());
        match self.operator {
            Operator::Equals | Operator::In => is_one(),
            Operator::NotEquals | Operator::NotIn => !is_one(),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => number().zip(bound()).is_some_and(|(number, bound)| number > bound),
            Operator::LessThan => number().zip(bound()).is_some_and(|(number, bound)| number < bound),
        }
    }
}
