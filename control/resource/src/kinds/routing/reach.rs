//! Finds routes that no request can reach.

use std::collections::BTreeMap;

use crate::kinds::route::{Matcher, PathMatcher, Route};

/// Warns of routes that stand behind others that match all their requests.
pub(crate) fn never_reached(routes: &[Route], place: &str) -> Vec<String> {
    let mut earlier: BTreeMap<&str, usize> = BTreeMap::new();
    let mut warnings = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        let hidden_by = |prefix: &str| {
            (1..=prefix.len()).find_map(|end| earlier.get(prefix.get(..end)?).copied())
        };
        let prefixes = prefixes(route);
        let hiding: Option<Vec<usize>> = prefixes.iter().map(|prefix| hidden_by(prefix)).collect();
        if let Some(first) = hiding.and_then(|hiding| hiding.first().copied()) {
            warnings.push(format!(
                "{place}.routes[{index}] is never reached: routes[{first}] matches all its requests"
            ));
        }
        for prefix in prefixes {
            earlier.entry(prefix).or_insert(index);
        }
    }
    warnings
}

/// The prefixes of a route; without a matcher it is `/`.
fn prefixes(route: &Route) -> Vec<&str> {
    if route.matchers.is_empty() { vec!["/"] } else { route.matchers.iter().filter_map(prefix).collect() }
}

fn prefix(matcher: &Matcher) -> Option<&str> {
    match &matcher.path {
        Some(PathMatcher::Prefix(prefix)) => Some(prefix),
        _ => None,
    }
}
