//! Listeners.

use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType;
use envoy_types::pb::envoy::config::listener::v3::listener::ConnectionBalanceConfig;
use envoy_types::pb::envoy::config::listener::v3::listener::connection_balance_config::{
    BalanceType, ExactBalance,
};
use envoy_types::pb::envoy::config::listener::v3::{Filter, FilterChain, Listener as ListenerMessage};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::{
    CodecType, PathWithEscapedSlashesAction, RouteSpecifier, ServerHeaderTransformation,
};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpConnectionManager, HttpFilter, Rds,
};
use envoy_types::pb::envoy::extensions::http::early_header_mutation::header_mutation::v3::HeaderMutation;
use keyward_resource::ObjectRef;

use super::{common, encode, http_filters, identity};
use crate::input::Settings;
use crate::proxy::{Listener, names};
use crate::translate::kind;

const MANAGER_NAME: &str = "envoy.filters.network.http_connection_manager";
const EARLY_NAME: &str = "envoy.http.early_header_mutation.header_mutation";
/// How long a client may take for its request headers, so that slow ones cannot hold connections.
const REQUEST_HEADERS_TIMEOUT_SECONDS: i64 = 10;

/// A listener.
pub(super) fn listener(listener: &Listener, settings: &Settings) -> ListenerMessage {
    let default_gateway = ObjectRef::new(&settings.system_namespace, names::DEFAULT_PROXY);
    let gateway = listener.gateway.as_ref().unwrap_or(&default_gateway);
    let manager = manager(&listener.name, settings, http_filters::chain(settings));
    ListenerMessage { metadata: Some(common::origin(kind::GATEWAY, gateway)), ..message(listener, &manager) }
}

/// The bare listener around a connection manager.
pub(super) fn message(listener: &Listener, manager: &HttpConnectionManager) -> ListenerMessage {
    let filter = Filter {
        name: MANAGER_NAME.to_owned(),
        config_type: Some(ConfigType::TypedConfig(encode::any(manager))),
    };
    ListenerMessage {
        name: listener.name.clone(),
        address: Some(common::bind(listener.address)),
        filter_chains: vec![FilterChain { filters: vec![filter], ..FilterChain::default() }],
        // The port belongs to one Envoy. With its default, SO_REUSEPORT, a second one opens the same
        // port without a word and takes a share of the connections: an orphan with old keys would go
        // on answering. Without it the workers accept from one socket, so the connections are spread
        // over them by Envoy instead of by the kernel.
        enable_reuse_port: common::no(),
        connection_balance_config: Some(exact_balance()),
        ..ListenerMessage::default()
    }
}

fn exact_balance() -> ConnectionBalanceConfig {
    ConnectionBalanceConfig { balance_type: Some(BalanceType::ExactBalance(ExactBalance {})) }
}

/// The connection manager of a listener.
pub(super) fn manager(
    listener: &str,
    settings: &Settings,
    filters: Vec<HttpFilter>,
) -> HttpConnectionManager {
    let rds = Rds { config_source: Some(common::ads()), route_config_name: names::route_config(listener) };
    // Before everything else, on every request, whatever route it takes: see `identity`.
    let strip = HeaderMutation { mutations: identity::removals(&settings.identity_header) };
    let early = TypedExtensionConfig { name: EARLY_NAME.to_owned(), typed_config: Some(encode::any(&strip)) };
    HttpConnectionManager {
        stat_prefix: listener.to_owned(),
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
    }
}
