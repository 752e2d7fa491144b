//! Route configurations as read back from their bytes.

use std::collections::BTreeMap;

use envoy_types::pb::envoy::config::core::v3::HeaderValueOption;
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::route_action::ClusterSpecifier;
use envoy_types::pb::envoy::config::route::v3::{
    FilterConfig, HeaderMatcher, Route, RouteAction, RouteConfiguration, RouteMatch, VirtualHost,
};
use envoy_types::pb::envoy::extensions::common::matching::v3::ExtensionWithMatcherPerRoute;
use envoy_types::pb::envoy::extensions::filters::http::cors::v3::CorsPolicy;
use envoy_types::pb::envoy::extensions::filters::http::fault::v3::HttpFault;
use envoy_types::pb::envoy::extensions::matching::common_inputs::network::v3::FilterStateInput;
use envoy_types::pb::envoy::r#type::matcher::v3::HttpRequestHeaderMatchInput;
use envoy_types::pb::google::protobuf::Any;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::MatcherType;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::FieldMatcher;
use envoy_types::pb::xds::r#type::matcher::v3::matcher::matcher_list::predicate::MatchType;
use keyward_translate::xds::{CORS_NAME, FAULT_NAME, GUARD_NAME};
use prost::{Message, Name};
use serde_json::{Value, json};

use super::proxy_routes::put;
use super::{field, origin};
use crate::decoded::unpack;

pub(super) fn configuration(routes: &RouteConfiguration) -> Value {
    json!({
        "name": routes.name,
        "removedFromResponses": routes.response_headers_to_remove,
        "virtualHosts": routes.virtual_hosts.iter().map(host).collect::<Vec<_>>(),
    })
}

fn host(host: &VirtualHost) -> Value {
    let mut shown = json!({
        "name": host.name,
        "domains": host.domains,
        "routes": host.routes.iter().map(route).collect::<Vec<_>>(),
    });
    put(&mut shown, "from", host.metadata.as_ref().map(|metadata| origin(Some(metadata))));
    put(&mut shown, "requestAdd", added(&host.request_headers_to_add));
    put(&mut shown, "requestRemove", host.request_headers_to_remove.clone());
    put(&mut shown, "responseAdd", added(&host.response_headers_to_add));
    put(&mut shown, "responseRemove", host.response_headers_to_remove.clone());
    put(&mut shown, "attemptCountInRequest", host.include_request_attempt_count);
    put(&mut shown, "attemptCountInResponse", host.include_attempt_count_in_response);
    shown
}

fn route(route: &Route) -> Value {
    let mut shown = json!({
        "name": route.name,
        "match": matching(route.r#match.as_ref().expect("a match")),
    });
    let metadata = route.metadata.as_ref();
    put(&mut shown, "from", metadata.map(|metadata| origin(Some(metadata))));
    put(&mut shown, "of", metadata.map(|metadata| field(metadata, "route")));
    match route.action.as_ref().expect("an action") {
        Action::Route(action) => forwarding(action, &mut shown),
        Action::Redirect(redirect) => shown["redirect"] = json!(debug(redirect)),
        Action::DirectResponse(response) => shown["answer"] = json!(debug(response)),
        other => panic!("unexpected action {other:?}"),
    }
    put(&mut shown, "requestAdd", added(&route.request_headers_to_add));
    put(&mut shown, "requestRemove", route.request_headers_to_remove.clone());
    put(&mut shown, "responseAdd", added(&route.response_headers_to_add));
    put(&mut shown, "responseRemove", route.response_headers_to_remove.clone());
    let filters: BTreeMap<_, _> = route.typed_per_filter_config.iter().collect();
    let filters = filters.into_iter().map(|(name, config)| (name.clone(), filter(name, config)));
    put(&mut shown, "filtersOn", Value::Object(filters.collect()));
    shown
}

fn filter(name: &str, config: &Any) -> Value {
    let config: FilterConfig = unpack(config);
    let inner = config.config.expect("a filter that is on");
    match name {
        CORS_NAME => json!(debug(&unpack::<CorsPolicy>(&inner))),
        FAULT_NAME => json!(debug(&unpack::<HttpFault>(&inner))),
        GUARD_NAME if inner != Any::default() => lenient_guard(&unpack(&inner)),
        _ => {
            assert_eq!(inner, Any::default());
            json!("on")
        }
    }
}

/// Whom the guard of a route lets pass that does not have that of all others.
fn lenient_guard(guard: &ExtensionWithMatcherPerRoute) -> Value {
    let Some(MatcherType::MatcherList(list)) =
        guard.xds_matcher.as_ref().and_then(|matcher| matcher.matcher_type.as_ref())
    else {
        panic!("no list of conditions")
    };
    json!({ "lets": list.matchers.iter().map(spared).collect::<Vec<_>>() })
}

fn spared(condition: &FieldMatcher) -> String {
    let Some(MatchType::SinglePredicate(predicate)) =
        condition.predicate.as_ref().and_then(|predicate| predicate.match_type.as_ref())
    else {
        panic!("no single condition")
    };
    let input = predicate.input.as_ref().and_then(|input| input.typed_config.as_ref()).expect("an input");
    let input = if input.type_url == HttpRequestHeaderMatchInput::type_url() {
        debug(&unpack::<HttpRequestHeaderMatchInput>(input))
    } else {
        debug(&unpack::<FilterStateInput>(input))
    };
    format!("{input} {}", debug(predicate.matcher.as_ref().expect("a value")))
}

fn matching(matching: &RouteMatch) -> Value {
    let mut shown = json!({ "path": debug(matching.path_specifier.as_ref().expect("a path")) });
    put(&mut shown, "inAnyCase", matching.case_sensitive.as_ref().is_some_and(|case| !case.value));
    put(&mut shown, "headers", matching.headers.iter().map(header).collect::<Vec<_>>());
    put(&mut shown, "query", matching.query_parameters.iter().map(debug).collect::<Vec<_>>());
    shown
}

fn header(header: &HeaderMatcher) -> String {
    let not = if header.invert_match { "not " } else { "" };
    format!("{not}{} {}", header.name, debug(header.header_match_specifier.as_ref().expect("a condition")))
}

fn added(headers: &[HeaderValueOption]) -> Vec<String> {
    let one = |option: &HeaderValueOption| {
        let header = option.header.as_ref().expect("a header");
        format!("{}: {} {}", header.key, header.value, option.append_action().as_str_name())
    };
    headers.iter().map(one).collect()
}

fn forwarding(action: &RouteAction, shown: &mut Value) {
    match action.cluster_specifier.as_ref().expect("a cluster") {
        ClusterSpecifier::Cluster(cluster) => shown["cluster"] = json!(cluster),
        ClusterSpecifier::WeightedClusters(weighted) => {
            let one =
                |cluster: &envoy_types::pb::envoy::config::route::v3::weighted_cluster::ClusterWeight| {
                    let mut shown = json!({
                        "name": cluster.name,
                        "weight": cluster.weight.as_ref().map_or(0, |weight| weight.value),
                    });
                    put(&mut shown, "requestAdd", added(&cluster.request_headers_to_add));
                    put(&mut shown, "requestRemove", cluster.request_headers_to_remove.clone());
                    put(&mut shown, "responseAdd", added(&cluster.response_headers_to_add));
                    put(&mut shown, "responseRemove", cluster.response_headers_to_remove.clone());
                    shown
                };
            shown["clusters"] = weighted.clusters.iter().map(one).collect();
        }
        other => panic!("unexpected destination {other:?}"),
    }
    // What else it says, in one line: the rest of the message without its destination.
    let rest = RouteAction { cluster_specifier: None, ..action.clone() };
    if rest.encoded_len() > 0 {
        put(shown, "forward", said(&rest));
    }
}

/// A message in Rust's words, of which only what is set is of interest.
fn debug(message: &impl std::fmt::Debug) -> String {
    format!("{message:?}")
}

/// The fields of a forwarding action that are set.
fn said(action: &RouteAction) -> Value {
    let mut shown = json!({});
    put(&mut shown, "host", action.host_rewrite_specifier.as_ref().map(debug));
    put(&mut shown, "appendXForwardedHost", action.append_x_forwarded_host);
    put(&mut shown, "prefixRewrite", action.prefix_rewrite.clone());
    put(&mut shown, "regexRewrite", action.regex_rewrite.as_ref().map(debug));
    put(&mut shown, "timeout", action.timeout.as_ref().map(debug));
    put(&mut shown, "idleTimeout", action.idle_timeout.as_ref().map(debug));
    put(&mut shown, "maxStreamDuration", action.max_stream_duration.as_ref().map(debug));
    put(&mut shown, "retries", action.retry_policy.as_ref().map(debug));
    put(&mut shown, "mirrors", action.request_mirror_policies.iter().map(debug).collect::<Vec<_>>());
    put(&mut shown, "upgrades", action.upgrade_configs.iter().map(debug).collect::<Vec<_>>());
    put(&mut shown, "hash", action.hash_policy.iter().map(debug).collect::<Vec<_>>());
    shown
}
