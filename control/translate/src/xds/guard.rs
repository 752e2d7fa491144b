//! The guard behind the filter: whoever comes out of that without an identity is denied here, by Envoy itself.
//!
//! ```text
//!  request ─▶ matcher: does the header stand, or the filter's word? ─ yes ─▶ next filter
//!                     └─ no ─▶ rules that allow nobody: 403
//! ```
//!
//! The rules alone could ask the same. But then Envoy writes down for every request, in dynamic metadata, by
//! which of them it passed, and that costs more than all the rest of the guard.

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig as Extension;
use envoy_types::pb::envoy::config::rbac::v3 as rbac;
use envoy_types::pb::envoy::extensions::common::matching::v3::{
    ExtensionWithMatcher, ExtensionWithMatcherPerRoute,
};
use envoy_types::pb::envoy::extensions::filters::common::matcher::action::v3::SkipFilter;
use envoy_types::pb::envoy::extensions::filters::http::rbac::v3::Rbac;
use envoy_types::pb::envoy::extensions::matching::common_inputs::network::v3::FilterStateInput;
use envoy_types::pb::envoy::r#type::matcher::v3::HttpRequestHeaderMatchInput;
use envoy_types::pb::xds::core::v3::TypedExtensionConfig;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::{
    MatchType, SinglePredicate, single_predicate,
};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::{FieldMatcher, Predicate};
use envoy_types::pb::xds::r#type::matcher::v3::matcher::{MatcherList, MatcherType, OnMatch, on_match};
use envoy_types::pb::xds::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::xds::r#type::matcher::v3::{Matcher, RegexMatcher, StringMatcher, regex_matcher};
use keyward_filter_core::capability::{ANONYMOUS, ANONYMOUS_STATE};
use prost::Name;

use super::encode;
use crate::input::Settings;

/// Any value at all: any bytes, and any number of them. A header that is not there has no value, and so does
/// not match.
const ANYTHING: &str = r"\C*";

/// The guard of all routes: who has no identity does not pass.
pub(super) fn guard(settings: &Settings) -> ExtensionWithMatcher {
    let rules = Extension { name: "rules".to_owned(), typed_config: Some(encode::any(&deny_all())) };
    ExtensionWithMatcher {
        xds_matcher: Some(spares([identified(settings)])),
        extension_config: Some(rules),
        ..ExtensionWithMatcher::default()
    }
}

/// The guard of a route on which the filter may let somebody pass without an identity, and says so where
/// no client can.
pub(super) fn lenient(settings: &Settings) -> ExtensionWithMatcherPerRoute {
    let state = FilterStateInput { key: ANONYMOUS_STATE.to_owned(), ..FilterStateInput::default() };
    let anonymous =
        condition("envoy.matching.inputs.filter_state", &state, MatchPattern::Exact(ANONYMOUS.to_owned()));
    ExtensionWithMatcherPerRoute { xds_matcher: Some(spares([identified(settings), anonymous])) }
}

/// Rules that allow nothing. Without rules at all everything would be allowed.
pub(super) fn deny_all() -> Rbac {
    let rules = rbac::Rbac { action: rbac::rbac::Action::Allow.into(), ..rbac::Rbac::default() };
    Rbac { rules: Some(rules), ..Rbac::default() }
}

fn identified(settings: &Settings) -> Predicate {
    let header = HttpRequestHeaderMatchInput { header_name: settings.identity_header.clone() };
    let anything = RegexMatcher {
        regex: ANYTHING.to_owned(),
        engine_type: Some(regex_matcher::EngineType::GoogleRe2(regex_matcher::GoogleRe2 {})),
    };
    condition("envoy.matching.inputs.request_headers", &header, MatchPattern::SafeRegex(anything))
}

/// Holds where an input is there and has such a value.
fn condition(name: &str, input: &impl Name, value: MatchPattern) -> Predicate {
    let value = StringMatcher { match_pattern: Some(value), ..StringMatcher::default() };
    Predicate {
        match_type: Some(MatchType::SinglePredicate(SinglePredicate {
            input: Some(named(name, input)),
            matcher: Some(single_predicate::Matcher::ValueMatch(value)),
        })),
    }
}

/// Leaves the filter out for a request for which any of these holds.
fn spares(any: impl IntoIterator<Item = Predicate>) -> Matcher {
    let leave_out = OnMatch {
        on_match: Some(on_match::OnMatch::Action(named("skip", &SkipFilter {}))),
        ..OnMatch::default()
    };
    let spared = |predicate| FieldMatcher { predicate: Some(predicate), on_match: Some(leave_out.clone()) };
    let matchers = any.into_iter().map(spared).collect();
    Matcher { matcher_type: Some(MatcherType::MatcherList(MatcherList { matchers })), ..Matcher::default() }
}

fn named(name: &str, config: &impl Name) -> TypedExtensionConfig {
    TypedExtensionConfig { name: name.to_owned(), typed_config: Some(encode::any(config)) }
}
