//! The HTTP filters of every listener, and how a route turns them on. The only place where their
//! order stands.

use std::collections::HashMap;

use envoy_types::pb::envoy::config::core::v3::ExtensionConfigSource;
use envoy_types::pb::envoy::config::rbac::v3 as rbac;
use envoy_types::pb::envoy::config::route::v3::header_matcher::HeaderMatchSpecifier;
use envoy_types::pb::envoy::config::route::v3::{FilterConfig, HeaderMatcher};
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{HeaderMutation, Mutations};
use envoy_types::pb::envoy::extensions::filters::http::rbac::v3::Rbac;
use envoy_types::pb::envoy::extensions::filters::http::router::v3::Router;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpFilter;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_filter::ConfigType;
use envoy_types::pb::google::protobuf::Any;
use prost::Name;

use super::{common, encode, identity};
use crate::input::Settings;
use crate::proxy::Auth;

/// The filter that verifies API keys, in the chain, in routes and as the name of its extension. A
/// route that names it otherwise would not be secured, and Envoy would not say so.
pub const FILTER_NAME: &str = "keyward.api_key";
/// The guard behind it.
pub const GUARD_NAME: &str = "envoy.filters.http.rbac";
/// Removes the identity from trailers.
const TRAILERS_NAME: &str = "envoy.filters.http.header_mutation";
/// Sends the request on.
const ROUTER_NAME: &str = "envoy.filters.http.router";

/// The filters in order.
pub(super) fn chain(settings: &Settings) -> Vec<HttpFilter> {
    vec![
        // First: Envoy decides which filters run from the first match of the route, so nothing may
        // change the request, and with it the match, before this.
        api_key(),
        // Right behind: what the filter would have stopped stops here when the filter was bypassed,
        // missing or dead. Nobody else can have set the header: see `identity`.
        guard(settings),
        // Before the router: behind it nothing sees request trailers. On every route, since the
        // identity of an open route must not be the client's choice either.
        trailers(settings),
        // Envoy wants it last.
        router(),
    ]
}

/// What the routes with this authentication turn on: both filters or none.
pub(super) fn per_route(auth: &Auth) -> HashMap<String, Any> {
    let names: &[&str] = match auth {
        Auth::Open => &[],
        Auth::Secured { .. } | Auth::Denied { .. } => &[FILTER_NAME, GUARD_NAME],
    };
    // Present but empty: it turns the filter on and configures nothing.
    let on = FilterConfig { config: Some(Any::default()), ..FilterConfig::default() };
    names.iter().map(|name| ((*name).to_owned(), encode::any(&on))).collect()
}

fn api_key() -> HttpFilter {
    // An update of this reaches existing connections at once and drains nothing, unlike one of the
    // listener. Until the first one, and after a removal, the default denies.
    let source = ExtensionConfigSource {
        config_source: Some(common::ads()),
        default_config: Some(encode::any(&deny_all())),
        // The listener opens when the filter is there, so that no client is told 403 at a start.
        apply_default_config_without_warming: false,
        type_urls: vec![Wasm::type_url(), Rbac::type_url()],
    };
    HttpFilter {
        name: FILTER_NAME.to_owned(),
        config_type: Some(ConfigType::ConfigDiscovery(source)),
        disabled: true,
        ..HttpFilter::default()
    }
}

fn guard(settings: &Settings) -> HttpFilter {
    let present = HeaderMatcher {
        name: settings.identity_header.clone(),
        header_match_specifier: Some(HeaderMatchSpecifier::PresentMatch(true)),
        ..HeaderMatcher::default()
    };
    let identified = rbac::Policy {
        permissions: vec![rbac::Permission { rule: Some(rbac::permission::Rule::Any(true)) }],
        principals: vec![rbac::Principal { identifier: Some(rbac::principal::Identifier::Header(present)) }],
        ..rbac::Policy::default()
    };
    let rules = rbac::Rbac {
        action: rbac::rbac::Action::Allow.into(),
        policies: HashMap::from([("identified".to_owned(), identified)]),
        ..rbac::Rbac::default()
    };
    HttpFilter {
        disabled: true,
        ..native(GUARD_NAME, encode::any(&Rbac { rules: Some(rules), ..Rbac::default() }))
    }
}

/// Rules that allow nothing. Without rules at all everything would be allowed.
fn deny_all() -> Rbac {
    let rules = rbac::Rbac { action: rbac::rbac::Action::Allow.into(), ..rbac::Rbac::default() };
    Rbac { rules: Some(rules), ..Rbac::default() }
}

fn trailers(settings: &Settings) -> HttpFilter {
    let mutations = Mutations {
        request_trailers_mutations: identity::removals(&settings.identity_header),
        response_trailers_mutations: identity::removals(&settings.identity_header),
        ..Mutations::default()
    };
    let config = HeaderMutation { mutations: Some(mutations), ..HeaderMutation::default() };
    native(TRAILERS_NAME, encode::any(&config))
}

/// The router of every listener, also of the one for unknown nodes.
pub(super) fn router() -> HttpFilter {
    // The response of the upstream goes out as it came: no x-envoy-upstream-service-time.
    native(ROUTER_NAME, encode::any(&Router { suppress_envoy_headers: true, ..Router::default() }))
}

fn native(name: &str, config: Any) -> HttpFilter {
    HttpFilter {
        name: name.to_owned(),
        config_type: Some(ConfigType::TypedConfig(config)),
        ..HttpFilter::default()
    }
}
