//! The identity header, and the others that authentication sets: nobody but the filter may set them.

use std::collections::BTreeSet;

use envoy_types::pb::envoy::config::common::mutation_rules::v3::HeaderMutation;
use envoy_types::pb::envoy::config::common::mutation_rules::v3::header_mutation::{Action, RemoveOnMatch};
use envoy_types::pb::envoy::r#type::matcher::v3::StringMatcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;

use super::common;

/// Up to this many separators in the name, each spelling is removed by name, which costs a lookup
/// each; beyond, one pattern is tried on every header of the request.
const MAX_SPELLED_OUT: usize = 4;

/// Removes the identity header, in all spellings that an upstream could take for it.
///
/// CGI, WSGI and their kin turn `x-user-id` and `x_user_id` into the same variable, so a client could
/// bring its own identity past a removal of `x-user-id` alone. Letter case needs no care: Envoy holds
/// names in lower case.
pub(super) fn removals(identity_header: &str) -> Vec<HeaderMutation> {
    let separators = identity_header.matches(['-', '_']).count();
    if separators > MAX_SPELLED_OUT {
        return vec![remove_matching(pattern(identity_header))];
    }
    spellings(identity_header).into_iter().map(|name| mutation(Action::Remove(name))).collect()
}

/// Removes several headers.
pub(super) fn removals_of(headers: &BTreeSet<String>) -> Vec<HeaderMutation> {
    headers.iter().flat_map(|header| removals(header)).collect()
}

/// An expression for all spellings. Few of the characters that a name may have are allowed in those of
/// policies; here that is no matter.
fn pattern(header: &str) -> String {
    let mut pattern = String::with_capacity(2 * header.len());
    for c in header.chars() {
        match c {
            '-' | '_' => pattern.push_str("[-_]"),
            c if c.is_ascii_punctuation() => pattern.extend(['\\', c]),
            c => pattern.push(c),
        }
    }
    pattern
}

/// The header with each separator as a hyphen and as an underscore, in every combination.
fn spellings(header: &str) -> Vec<String> {
    let mut spellings = vec![String::new()];
    for c in header.chars() {
        let choices: &[char] = if matches!(c, '-' | '_') { &['-', '_'] } else { &[c] };
        spellings = choices
            .iter()
            .flat_map(|choice| spellings.iter().map(move |start| format!("{start}{choice}")))
            .collect();
    }
    spellings
}

fn remove_matching(pattern: String) -> HeaderMutation {
    // A name may be long.
    let regex = MatchPattern::SafeRegex(common::regex(&pattern));
    let matcher = StringMatcher { match_pattern: Some(regex), ..StringMatcher::default() };
    mutation(Action::RemoveOnMatch(RemoveOnMatch { key_matcher: Some(matcher) }))
}

fn mutation(action: Action) -> HeaderMutation {
    HeaderMutation { action: Some(action) }
}

#[cfg(test)]
mod tests;
