//! What is asked of a request.

use envoy_types::pb::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
use envoy_types::pb::envoy::config::route::v3::query_parameter_matcher::QueryParameterMatchSpecifier;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{
    HeaderMatcher as HeaderMessage, QueryParameterMatcher as QueryMessage, RouteMatch,
};
use envoy_types::pb::envoy::r#type::matcher::v3::StringMatcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::google::protobuf::BoolValue;
use keyward_resource::kinds::route::{HeaderMatcher, PathMatcher, QueryParameterMatcher, ValueMatcher};

use super::super::common;
use crate::proxy::RouteMatcher;

const METHOD: &str = ":method";

pub(super) fn matching(matcher: &RouteMatcher) -> RouteMatch {
    let path = match &matcher.path {
        PathMatcher::Prefix(prefix) => PathSpecifier::Prefix(prefix.clone()),
        PathMatcher::Exact(path) => PathSpecifier::Path(path.clone()),
        PathMatcher::Regex(regex) => PathSpecifier::SafeRegex(common::regex(regex)),
    };
    let mut headers: Vec<HeaderMessage> = matcher.headers.iter().map(header).collect();
    headers.extend(methods(&matcher.methods));
    RouteMatch {
        path_specifier: Some(path),
        // Said only where it differs from Envoy's default.
        case_sensitive: (!matcher.case_sensitive).then_some(BoolValue { value: false }),
        headers,
        query_parameters: matcher.query_parameters.iter().map(query_parameter).collect(),
        ..RouteMatch::default()
    }
}

/// One of these methods.
fn methods(methods: &[String]) -> Option<HeaderMessage> {
    let value = match methods {
        [] => return None,
        [one] => ValueMatcher::Exact(one.clone()),
        // Methods are words of letters, digits and a few marks; the dot and its like are escaped.
        more => ValueMatcher::Regex(more.iter().map(|method| literal(method)).collect::<Vec<_>>().join("|")),
    };
    Some(header(&HeaderMatcher { name: METHOD.to_owned(), value, invert: false }))
}

/// A regular expression that matches this text alone.
fn literal(text: &str) -> String {
    let escape = |c: char| if c.is_ascii_alphanumeric() { c.to_string() } else { format!("\\{c}") };
    text.chars().map(escape).collect()
}

fn header(matcher: &HeaderMatcher) -> HeaderMessage {
    let specifier = match &matcher.value {
        ValueMatcher::Present => HeaderMatchSpecifier::PresentMatch(true),
        ValueMatcher::Exact(value) => HeaderMatchSpecifier::StringMatch(exact(value)),
        ValueMatcher::Regex(regex) => HeaderMatchSpecifier::StringMatch(regex_matcher(regex)),
    };
    HeaderMessage {
        name: matcher.name.clone(),
        header_match_specifier: Some(specifier),
        invert_match: matcher.invert,
        ..HeaderMessage::default()
    }
}

fn query_parameter(matcher: &QueryParameterMatcher) -> QueryMessage {
    let specifier = match &matcher.value {
        ValueMatcher::Present => QueryParameterMatchSpecifier::PresentMatch(true),
        ValueMatcher::Exact(value) => QueryParameterMatchSpecifier::StringMatch(exact(value)),
        ValueMatcher::Regex(regex) => QueryParameterMatchSpecifier::StringMatch(regex_matcher(regex)),
    };
    QueryMessage { name: matcher.name.clone(), query_parameter_match_specifier: Some(specifier) }
}

fn exact(text: &str) -> StringMatcher {
    pattern(MatchPattern::Exact(text.to_owned()))
}

fn regex_matcher(regex: &str) -> StringMatcher {
    pattern(MatchPattern::SafeRegex(common::regex(regex)))
}

fn pattern(pattern: MatchPattern) -> StringMatcher {
    StringMatcher { match_pattern: Some(pattern), ..StringMatcher::default() }
}
