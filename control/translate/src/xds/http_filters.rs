//! The HTTP filters of every listener, and how a route turns them on. The only place where their
//! order stands.

use std::collections::{BTreeSet, HashMap};

use envoy_types::pb::envoy::config::core::v3::ExtensionConfigSource;
use envoy_types::pb::envoy::config::route::v3::FilterConfig;
use envoy_types::pb::envoy::extensions::filters::http::cors::v3::Cors;
use envoy_types::pb::envoy::extensions::filters::http::fault::v3::HttpFault;
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::{HeaderMutation, Mutations};
use envoy_types::pb::envoy::extensions::filters::http::rbac::v3::Rbac;
use envoy_types::pb::envoy::extensions::filters::http::router::v3::Router;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpFilter;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_filter::ConfigType;
use envoy_types::pb::google::protobuf::Any;
use prost::Name;

use super::{common, cors, encode, fault, guard, identity};
use crate::input::Settings;
use crate::proxy::{Auth, Route};

/// The filter that verifies API keys, in the chain, in routes and as the name of its extension. A
/// route that names it otherwise would not be secured, and Envoy would not say so.
pub const FILTER_NAME: &str = "keyward.api_key";
/// The guard behind it.
pub const GUARD_NAME: &str = "envoy.filters.http.rbac";
/// Makes faults for tests.
pub const FAULT_NAME: &str = "envoy.filters.http.fault";
/// Answers and marks cross-origin requests.
pub const CORS_NAME: &str = "envoy.filters.http.cors";
/// Removes the identity from answers, and from all trailers.
const STRIP_NAME: &str = "envoy.filters.http.header_mutation";
/// Sends the request on.
const ROUTER_NAME: &str = "envoy.filters.http.router";

/// The filters in order.
pub(super) fn chain(settings: &Settings, auth_headers: &BTreeSet<String>) -> Vec<HttpFilter> {
    // Before authentication, as in the original product: a preflight carries no key, and a fault is
    // to look like a failure of the network. Neither changes a request: Envoy decides which filters
    // run from the first match of the route, so nothing may change it, and with it the match,
    // before the next filter.
    let fault = off(native(FAULT_NAME, encode::any(&HttpFault::default())));
    let cors = || off(native(CORS_NAME, encode::any(&Cors {})));
    let mut filters = vec![fault];
    if !settings.preflight_needs_key {
        filters.push(cors());
    }
    filters.extend([
        api_key(),
        // Right behind: what the filter would have stopped stops here when the filter was bypassed,
        // missing or dead. Nobody else can have set the header: see `identity`.
        guard(settings),
    ]);
    if settings.preflight_needs_key {
        // It answers preflights itself, also behind authentication.
        filters.push(cors());
    }
    filters.extend([
        // Before the router: behind it nothing sees request trailers. On every route, since the
        // identity of an open route must not be the client's choice either, nor the answer's affair.
        strip(settings, auth_headers),
        // Envoy wants it last.
        router(),
    ]);
    filters
}

/// What a route turns on: both filters of authentication or none, whatever the route does with those
/// who are let through; and what its options need.
pub(super) fn per_route(route: &Route, settings: &Settings) -> HashMap<String, Any> {
    // Present but empty: it turns the filter on and configures nothing.
    let mut on: Vec<(&str, Any)> = match route.auth {
        Auth::Open => Vec::new(),
        Auth::Secured { open: true, .. } => {
            vec![(FILTER_NAME, Any::default()), (GUARD_NAME, encode::any(&guard::lenient(settings)))]
        }
        Auth::Secured { .. } | Auth::Denied { .. } => {
            vec![(FILTER_NAME, Any::default()), (GUARD_NAME, Any::default())]
        }
    };
    on.extend(route.faults.iter().map(|faults| (FAULT_NAME, encode::any(&fault::fault(faults)))));
    on.extend(route.cors.iter().map(|policy| (CORS_NAME, encode::any(&cors::policy(policy)))));
    let turned_on = |config| FilterConfig { config: Some(config), ..FilterConfig::default() };
    on.into_iter().map(|(name, config)| (name.to_owned(), encode::any(&turned_on(config)))).collect()
}

fn api_key() -> HttpFilter {
    // An update of this reaches existing connections at once and drains nothing, unlike one of the
    // listener. Until the first one, and after a removal, the default denies.
    let source = ExtensionConfigSource {
        config_source: Some(common::ads()),
        default_config: Some(encode::any(&guard::deny_all())),
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
    off(native(GUARD_NAME, encode::any(&guard::guard(settings))))
}

/// What the route configuration removes from answers it does not remove from one with which an upstream
/// declines an upgrade: Envoy makes a reply of its own of that, and copies the headers of the upstream
/// into it after it has applied those of the route. Filters see every answer as it goes out.
fn strip(settings: &Settings, auth_headers: &BTreeSet<String>) -> HttpFilter {
    let mutations = Mutations {
        response_mutations: identity::removals(&settings.identity_header),
        request_trailers_mutations: identity::removals_of(auth_headers),
        response_trailers_mutations: identity::removals_of(auth_headers),
        ..Mutations::default()
    };
    let config = HeaderMutation { mutations: Some(mutations), ..HeaderMutation::default() };
    native(STRIP_NAME, encode::any(&config))
}

/// The router of every listener, also of the one for unknown nodes.
pub(super) fn router() -> HttpFilter {
    // The response of the upstream goes out as it came: no x-envoy-upstream-service-time.
    native(ROUTER_NAME, encode::any(&Router { suppress_envoy_headers: true, ..Router::default() }))
}

/// Unless a route turns it on.
fn off(filter: HttpFilter) -> HttpFilter {
    HttpFilter { disabled: true, ..filter }
}

pub(super) fn native(name: &str, config: Any) -> HttpFilter {
    HttpFilter {
        name: name.to_owned(),
        config_type: Some(ConfigType::TypedConfig(config)),
        ..HttpFilter::default()
    }
}
