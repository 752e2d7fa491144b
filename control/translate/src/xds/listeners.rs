//! Listeners.

use std::collections::BTreeSet;

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType;
use envoy_types::pb::envoy::config::listener::v3::listener::ConnectionBalanceConfig;
use envoy_types::pb::envoy::config::listener::v3::listener::connection_balance_config::{
    BalanceType, ExactBalance,
};
use envoy_types::pb::envoy::config::listener::v3::{
    Filter, FilterChain, FilterChainMatch, Listener as ListenerMessage, ListenerFilter, listener_filter,
};
use envoy_types::pb::envoy::extensions::filters::listener::tls_inspector::v3::TlsInspector;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::{
    CodecType, PathWithEscapedSlashesAction, RouteSpecifier, ServerHeaderTransformation,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, Rds,
};
use envoy_types::pb::envoy::extensions::http::early_header_mutation::header_mutation::v3::HeaderMutation;
use keyward_resource::ObjectRef;

use super::{access_logs, common, encode, http_filters, http_options, identity, tls};
use crate::input::Settings;
use crate::proxy::{Chain, ChainTls, Listener, names};
use crate::translate::kind;

const MANAGER_NAME: &str = "envoy.filters.network.http_connection_manager";
const INSPECTOR_NAME: &str = "envoy.filters.listener.tls_inspector";
/// Ends the name of the filter chain that takes what no other takes.
const FALLBACK_SUFFIX: &str = "-fallback";
const EARLY_NAME: &str = "envoy.http.early_header_mutation.header_mutation";
/// How long a client may take for its request headers, so that slow ones cannot hold connections.
const REQUEST_HEADERS_TIMEOUT_SECONDS: i64 = 10;

/// A listener.
pub(super) fn listener(
    listener: &Listener,
    auth_headers: &BTreeSet<String>,
    settings: &Settings,
) -> ListenerMessage {
    let default_gateway = ObjectRef::new(&settings.system_namespace, names::DEFAULT_PROXY);
    let gateway = listener.gateway.as_ref().unwrap_or(&default_gateway);
    let chains = listener.chains.iter().flat_map(|chain| {
        let manager =
            manager(listener, &chain.name, auth_headers, http_filters::chain(settings, auth_headers));
        let access_log = access_logs::messages(&listener.access_logs);
        filter_chains(chain, &HttpConnectionManager { access_log, ..manager })
    });
    ListenerMessage {
        metadata: Some(common::origin(kind::GATEWAY, gateway)),
        ..message(listener, chains.collect())
    }
}

/// The bare listener around its filter chains.
pub(super) fn message(listener: &Listener, filter_chains: Vec<FilterChain>) -> ListenerMessage {
    let has_tls = listener.chains.iter().any(|chain| chain.tls.is_some());
    ListenerMessage {
        name: listener.name.clone(),
        address: Some(common::bind(listener.address)),
        filter_chains,
        per_connection_buffer_limit_bytes: listener.buffer_limit.and_then(common::count),
        // Reads the server name, by which the chain is chosen, off the handshake.
        listener_filters: has_tls.then(tls_inspector).into_iter().collect(),
        // The port belongs to one Envoy. With its default, SO_REUSEPORT, a second one opens the same
        // port without a word and takes a share of the connections: an orphan with old keys would go
        // on answering. Without it the workers accept from one socket, so the connections are spread
        // over them by Envoy instead of by the kernel.
        enable_reuse_port: common::no(),
        connection_balance_config: Some(exact_balance()),
        ..ListenerMessage::default()
    }
}

/// A chain once for each filter chain that it becomes.
pub(super) fn spread(chain: &Chain) -> impl Iterator<Item = &Chain> {
    let times = chain
        .tls
        .as_ref()
        .map_or(1, |tls| usize::from(!tls.server_names.is_empty()) + usize::from(tls.fallback));
    std::iter::repeat_n(chain, times)
}

/// The names of the filter chains that a chain becomes.
pub(super) fn chain_names(chain: &Chain) -> [String; 2] {
    [chain.name.clone(), format!("{}{FALLBACK_SUFFIX}", chain.name)]
}

/// A chain for its server names, and the same once more for all that no other chain takes.
pub(super) fn filter_chains(chain: &Chain, manager: &HttpConnectionManager) -> Vec<FilterChain> {
    let filter = Filter {
        name: MANAGER_NAME.to_owned(),
        config_type: Some(ConfigType::TypedConfig(encode::any(manager))),
    };
    let bare = FilterChain { filters: vec![filter], name: chain.name.clone(), ..FilterChain::default() };
    let Some(ChainTls { server_names, fallback, terms }) = &chain.tls else { return vec![bare] };
    let bare = FilterChain {
        transport_socket: Some(tls::downstream(terms)),
        transport_socket_connect_timeout: terms.connect_timeout.map(common::duration),
        ..bare
    };
    let named = (!server_names.is_empty()).then(|| FilterChain {
        filter_chain_match: Some(FilterChainMatch {
            server_names: server_names.clone(),
            ..FilterChainMatch::default()
        }),
        ..bare.clone()
    });
    // Envoy wants each chain to have a name of its own.
    let [_, name] = chain_names(chain);
    let unnamed = fallback.then(|| FilterChain { name, ..bare });
    named.into_iter().chain(unnamed).collect()
}

fn tls_inspector() -> ListenerFilter {
    ListenerFilter {
        name: INSPECTOR_NAME.to_owned(),
        config_type: Some(listener_filter::ConfigType::TypedConfig(encode::any(&TlsInspector::default()))),
        ..ListenerFilter::default()
    }
}

fn exact_balance() -> ConnectionBalanceConfig {
    ConnectionBalanceConfig { balance_type: Some(BalanceType::ExactBalance(ExactBalance {})) }
}

/// The connection manager of a chain of a listener.
pub(super) fn manager(
    listener: &Listener,
    routes: &str,
    auth_headers: &BTreeSet<String>,
    filters: Vec<HttpFilter>,
) -> HttpConnectionManager {
    let rds = Rds { config_source: Some(common::ads()), route_config_name: routes.to_owned() };
    // Before everything else, on every request, whatever route it takes: see `identity`.
    let strip = HeaderMutation { mutations: identity::removals_of(auth_headers) };
    let early = TypedExtensionConfig { name: EARLY_NAME.to_owned(), typed_config: Some(encode::any(&strip)) };
    let mut manager = HttpConnectionManager {
        stat_prefix: listener.name.clone(),
        codec_type: CodecType::Auto.into(),
        route_specifier: Some(RouteSpecifier::Rds(rds)),
        http_filters: filters,
        early_header_mutation_extensions: vec![early],
        // The route decides on authentication, so it has to be chosen by the path that the upstream
        // will see. Otherwise `/open/..%2fsecret` or `//secret` would take the open route, and an
        // upstream that normalises would serve the secret one. Where only decoding slashes tells what
        // a path means, the client is sent to the decoded path and so through routing once more.
        normalize_path: common::yes(),
        merge_slashes: true,
        path_with_escaped_slashes_action: PathWithEscapedSlashesAction::UnescapeAndRedirect.into(),
        // `example.com.` is the same host as `example.com`, and must not fall through to a catch-all
        // virtual host with other rules.
        strip_trailing_host_dot: true,
        // The proxy is the edge: x-forwarded-for is appended to, x-envoy-* of clients are dropped.
        use_remote_address: common::yes(),
        // The response of the upstream goes out as it came.
        server_header_transformation: ServerHeaderTransformation::PassThrough.into(),
        request_headers_timeout: common::seconds(REQUEST_HEADERS_TIMEOUT_SECONDS),
        ..HttpConnectionManager::default()
    };
    http_options::apply(&listener.http, &mut manager);
    manager
}
