//! Matchers, and what a route takes over from the route that delegates to it.

use std::cmp::{Ordering, Reverse};

use keyward_resource::kinds::route::{Matcher, PathMatcher, Route as RouteSpec};

use crate::proxy::RouteMatcher;

const PREFIX: &str =
    "invalid route: route table matchers must begin with the prefix of their parent route's matcher";
const CASE: &str =
    "invalid route: route table matchers must have the same case sensitivity as their parent route's matcher";
const HEADERS: &str =
    "invalid route: route table matchers must have all headers of their parent route's matcher";
const QUERY: &str =
    "invalid route: route table matchers must have all query params of their parent route's matcher";
const METHODS: &str =
    "invalid route: route table matchers must have all methods of their parent route's matcher";

/// What a delegating route hands on.
pub(super) struct Inherited {
    /// Its one matcher.
    pub(super) matcher: Matcher,
    /// Headers, methods and query parameters are put in front, unless a route says otherwise.
    matchers: bool,
    /// The path is taken over, unless a route says otherwise.
    path: bool,
}

/// The matchers of a route, with what it inherits; at least one. Under a delegating route they must ask
/// for all that it asks for, else none of the route is served.
pub(super) fn effective(spec: &RouteSpec, inherited: Option<&Inherited>) -> Result<Vec<Matcher>, String> {
    let mut matchers = spec.matchers.clone();
    if matchers.is_empty() {
        matchers.push(Matcher::default());
    }
    let Some(inherited) = inherited else { return Ok(matchers) };
    for matcher in &mut matchers {
        inherited.hand_on(spec, matcher);
        inherited.check(matcher)?;
    }
    Ok(matchers)
}

/// A matcher without a path means the prefix `/`.
pub(super) fn complete(matcher: &Matcher) -> RouteMatcher {
    RouteMatcher {
        path: path(matcher),
        case_sensitive: matcher.case_sensitive.unwrap_or(true),
        headers: matcher.headers.clone(),
        query_parameters: matcher.query_parameters.clone(),
        methods: matcher.methods.clone(),
    }
}

/// Exact paths first, then prefixes and then regular expressions, each the longer first.
pub(super) fn more_specific(a: &RouteMatcher, b: &RouteMatcher) -> Ordering {
    let rank = |matcher: &RouteMatcher| match &matcher.path {
        PathMatcher::Exact(path) => (0, Reverse(path.len())),
        PathMatcher::Prefix(path) => (1, Reverse(path.len())),
        PathMatcher::Regex(path) => (2, Reverse(path.len())),
    };
    rank(a).cmp(&rank(b))
}

fn path(matcher: &Matcher) -> PathMatcher {
    matcher.path.clone().unwrap_or_else(|| PathMatcher::Prefix("/".to_owned()))
}

fn text(path: &PathMatcher) -> &str {
    match path {
        PathMatcher::Prefix(text) | PathMatcher::Exact(text) | PathMatcher::Regex(text) => text,
    }
}

// === impl Inherited ===

impl Inherited {
    /// What a delegating route hands on, which may itself be under another one.
    pub(super) fn from(spec: &RouteSpec, effective: Vec<Matcher>, above: Option<&Self>) -> Self {
        Self {
            // A delegating route has one matcher, which its reader sees to.
            matcher: effective.into_iter().next().unwrap_or_default(),
            matchers: spec.inheritable_matchers.unwrap_or(above.is_some_and(|above| above.matchers)),
            path: spec.inheritable_path_matchers.unwrap_or(above.is_some_and(|above| above.path)),
        }
    }

    fn hand_on(&self, spec: &RouteSpec, matcher: &mut Matcher) {
        if spec.inheritable_matchers.unwrap_or(self.matchers) {
            prepend(&mut matcher.headers, &self.matcher.headers);
            prepend(&mut matcher.query_parameters, &self.matcher.query_parameters);
            prepend(&mut matcher.methods, &self.matcher.methods);
        }
        if spec.inheritable_path_matchers.unwrap_or(self.path) {
            matcher.path.clone_from(&self.matcher.path);
            matcher.case_sensitive = self.matcher.case_sensitive;
        }
    }

    fn check(&self, matcher: &Matcher) -> Result<(), String> {
        let (parent, own) = (path(&self.matcher), path(matcher));
        let begins = match &parent {
            PathMatcher::Prefix(prefix) if self.matcher.case_sensitive == Some(false) => {
                text(&own).to_lowercase().starts_with(&prefix.to_lowercase())
            }
            PathMatcher::Prefix(prefix) => text(&own).starts_with(prefix.as_str()),
            // Taken over as it is, or not at all.
            PathMatcher::Exact(_) | PathMatcher::Regex(_) => own == parent,
        };
        if !begins {
            return Err(format!("required prefix: {}, prefix: {}: {PREFIX}", text(&parent), text(&own)));
        }
        if self.matcher.case_sensitive != matcher.case_sensitive {
            let said = |case: Option<bool>| case.map_or("unset".to_owned(), |case| case.to_string());
            let (parent, own) = (said(self.matcher.case_sensitive), said(matcher.case_sensitive));
            return Err(format!("required caseSensitive: {parent}, caseSensitive: {own}: {CASE}"));
        }
        if !self.matcher.headers.iter().all(|header| matcher.headers.contains(header)) {
            return Err(HEADERS.to_owned());
        }
        if !self.matcher.query_parameters.iter().all(|query| matcher.query_parameters.contains(query)) {
            return Err(QUERY.to_owned());
        }
        if !self.matcher.methods.iter().all(|method| matcher.methods.contains(method)) {
            return Err(METHODS.to_owned());
        }
        Ok(())
    }
}

/// Puts in front what is not there yet.
fn prepend<T: Clone + PartialEq>(own: &mut Vec<T>, inherited: &[T]) {
    let mut all = inherited.to_vec();
    all.extend(own.iter().filter(|one| !inherited.contains(one)).cloned());
    *own = all;
}
