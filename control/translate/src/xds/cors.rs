//! Cross-origin requests.

use envoy_types::pb::envoy::extensions::filters::http::cors::v3::CorsPolicy;
use envoy_types::pb::envoy::r#type::matcher::v3::StringMatcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::google::protobuf::BoolValue;
use keyward_resource::kinds::options::Cors;

use super::common;

pub(super) fn policy(cors: &Cors) -> CorsPolicy {
    let exact = cors.allow_origin.iter().map(|origin| MatchPattern::Exact(origin.clone()));
    let regex = cors.allow_origin_regex.iter().map(|regex| MatchPattern::SafeRegex(common::regex(regex)));
    let matcher = |pattern| StringMatcher { match_pattern: Some(pattern), ..StringMatcher::default() };
    CorsPolicy {
        allow_origin_string_match: exact.chain(regex).map(matcher).collect(),
        allow_methods: cors.allow_methods.join(","),
        allow_headers: cors.allow_headers.join(","),
        expose_headers: cors.expose_headers.join(","),
        max_age: cors.max_age.map(|seconds| seconds.to_string()).unwrap_or_default(),
        allow_credentials: cors.allow_credentials.filter(|allow| *allow).map(|value| BoolValue { value }),
        ..CorsPolicy::default()
    }
}
