//! Finds routes that no request can reach.
//!
//! Sound, not complete: what is said to be unreachable is; not all that is unreachable is said to be.

use std::collections::BTreeMap;

use super::Scope;
use crate::kinds::route::{Action, HeaderMatcher, Matcher, PathMatcher, Route, ValueMatcher};

/// Earlier matchers of one path that are looked at; more would make thousands of routes slow.
const MAX_CANDIDATES: usize = 64;

/// Earlier matchers by their path, in lower case.
#[derive(Default)]
struct Earlier<'a> {
    prefixes: BTreeMap<String, Vec<(usize, &'a Matcher)>>,
    exacts: BTreeMap<String, Vec<(usize, &'a Matcher)>>,
    regexes: BTreeMap<&'a str, Vec<(usize, &'a Matcher)>>,
}

/// Warns of routes that stand behind others that match all their requests.
pub(crate) fn never_reached(routes: &[Route], scope: Scope<'_>) -> Vec<String> {
    let all = Matcher { path: Some(PathMatcher::Prefix("/".to_owned())), ..Matcher::default() };
    let mut earlier = Earlier::default();
    let mut warnings = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        // A path that is inherited is not known here.
        let pathless = |matcher: &Matcher| matcher.path.is_none();
        let known = match scope {
            Scope::Host(_) => true,
            Scope::Table(_) => !route.matchers.is_empty() && !route.matchers.iter().any(pathless),
        };
        if !known {
            continue;
        }
        let matchers: Vec<&Matcher> =
            if route.matchers.is_empty() { vec![&all] } else { route.matchers.iter().collect() };
        let covers = |(other, wide): (usize, &Matcher), narrow: &Matcher| match scope {
            Scope::Host(_) => covers(wide, narrow),
            // Which routes of a table are served depends on who delegates to it: only a route that says
            // the same is served whenever this one is.
            Scope::Table(_) => {
                wide == narrow && routes.get(other).is_some_and(|other| inherits_alike(other, route))
            }
        };
        let hiding: Option<Vec<usize>> =
            matchers.iter().map(|matcher| earlier.hiding(matcher, covers)).collect();
        let first = hiding.and_then(|hiding| hiding.first().copied());
        if let Some((first, hiding)) = first.and_then(|first| Some((first, routes.get(first)?))) {
            let (this, hiding) = (route.label(index), hiding.label(first));
            warnings.push(format!("{this} is never reached: {hiding} matches all its requests"));
        }
        // What no delegated route matches goes on to the next route.
        if !matches!(route.action, Action::Delegate(_)) {
            matchers.into_iter().for_each(|matcher| earlier.add(index, matcher));
        }
    }
    warnings
}

fn inherits_alike(one: &Route, other: &Route) -> bool {
    let inherits = |route: &Route| (route.inheritable_matchers, route.inheritable_path_matchers);
    inherits(one) == inherits(other)
}

/// Whether every request of one matcher is one of the other.
fn covers(wide: &Matcher, narrow: &Matcher) -> bool {
    covers_path(wide, narrow)
        && (wide.methods.is_empty()
            || (!narrow.methods.is_empty()
                && narrow.methods.iter().all(|method| wide.methods.contains(method))))
        && wide.headers.iter().all(|condition| narrow.headers.iter().any(|one| implies(one, condition)))
        && wide.query_parameters.iter().all(|condition| {
            let present = condition.value == ValueMatcher::Present;
            narrow
                .query_parameters
                .iter()
                .any(|one| one == condition || (present && one.name == condition.name))
        })
}

/// Whether one condition on a header holds whenever another does.
fn implies(condition: &HeaderMatcher, other: &HeaderMatcher) -> bool {
    let present = other.value == ValueMatcher::Present && !other.invert;
    condition == other || (present && !condition.invert && condition.name == other.name)
}

fn covers_path(wide: &Matcher, narrow: &Matcher) -> bool {
    let (Some(wide_path), Some(narrow_path)) = (&wide.path, &narrow.path) else { return false };
    let folds = |matcher: &Matcher| matcher.case_sensitive == Some(false);
    let text = |text: &str| if folds(wide) { text.to_ascii_lowercase() } else { text.to_owned() };
    // Where the narrow one takes letters in any case, the wide one must too, or have none.
    let cased =
        |text: &str| folds(narrow) && !folds(wide) && text.bytes().any(|byte| byte.is_ascii_alphabetic());
    match (wide_path, narrow_path) {
        (PathMatcher::Regex(wide), PathMatcher::Regex(narrow)) => wide == narrow,
        (PathMatcher::Prefix(prefix), PathMatcher::Regex(regex)) => prefix == "/" && begins_with_slash(regex),
        (PathMatcher::Prefix(prefix), PathMatcher::Prefix(path) | PathMatcher::Exact(path)) => {
            !cased(prefix) && text(path).starts_with(&text(prefix))
        }
        (PathMatcher::Exact(exact), PathMatcher::Exact(path)) => !cased(exact) && text(path) == text(exact),
        _ => false,
    }
}

/// Whether all that a regular expression matches begins with a slash. Not every path does: `OPTIONS *`.
fn begins_with_slash(regex: &str) -> bool {
    let regex = regex.strip_prefix('^').unwrap_or(regex);
    let Some(rest) = regex.strip_prefix('/') else { return false };
    !rest.starts_with(['?', '*', '{']) && !rest.contains('|')
}

// === impl Earlier ===

impl<'a> Earlier<'a> {
    fn add(&mut self, index: usize, matcher: &'a Matcher) {
        match &matcher.path {
            None => {}
            Some(PathMatcher::Prefix(path)) => {
                self.prefixes.entry(path.to_ascii_lowercase()).or_default().push((index, matcher));
            }
            Some(PathMatcher::Exact(path)) => {
                self.exacts.entry(path.to_ascii_lowercase()).or_default().push((index, matcher));
            }
            Some(PathMatcher::Regex(regex)) => {
                self.regexes.entry(regex).or_default().push((index, matcher));
            }
        }
    }

    /// The first route that matches all requests of a matcher.
    fn hiding(
        &self,
        matcher: &Matcher,
        covers: impl Fn((usize, &Matcher), &Matcher) -> bool,
    ) -> Option<usize> {
        let first = |found: Option<&Vec<(usize, &Matcher)>>| {
            let candidates = found.into_iter().flatten().take(MAX_CANDIDATES);
            candidates.filter(|wide| covers(**wide, matcher)).map(|(index, _)| *index).min()
        };
        let path = match matcher.path.as_ref()? {
            PathMatcher::Regex(regex) => {
                let root = first(self.prefixes.get("/"));
                return first(self.regexes.get(regex.as_str())).into_iter().chain(root).min();
            }
            PathMatcher::Prefix(path) | PathMatcher::Exact(path) => path.to_ascii_lowercase(),
        };
        let exact = match matcher.path {
            Some(PathMatcher::Exact(_)) => first(self.exacts.get(&path)),
            _ => None,
        };
        let prefixes = (1..=path.len()).filter_map(|end| first(self.prefixes.get(path.get(..end)?)));
        exact.into_iter().chain(prefixes).min()
    }
}

#[cfg(test)]
mod tests;
