//! Listeners and secrets as they go over the wire.

use envoy_types::pb::envoy::config::core::v3::DataSource;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::transport_socket::ConfigType;
use envoy_types::pb::envoy::config::listener::v3::{FilterChain, Listener};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpConnectionManager;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CertificateValidationContext, DownstreamTlsContext, Secret,
};
use serde_json::{Value, json};

use super::{debug, origin, proxy_routes::put, socket};
use crate::decoded::{manager, unpack};

pub(super) fn listener(listener: &Listener) -> Value {
    let mut shown = json!({
        "name": listener.name,
        "address": socket(listener.address.as_ref()),
        "from": origin(listener.metadata.as_ref()),
        "chains": listener.filter_chains.iter().map(chain).collect::<Vec<_>>(),
    });
    let filters = listener.listener_filters.iter().map(|filter| filter.name.clone());
    put(&mut shown, "listenerFilters", filters.collect::<Vec<_>>());
    shown
}

fn chain(chain: &FilterChain) -> Value {
    let manager = manager(chain);
    let Some(RouteSpecifier::Rds(rds)) = &manager.route_specifier else { panic!("no route discovery") };
    let filters = manager.http_filters.iter().map(|filter| {
        let disabled = if filter.disabled { ", off unless a route turns it on" } else { "" };
        format!("{}{disabled}", filter.name)
    });
    let mut shown = json!({
        "name": chain.name,
        "routes": rds.route_config_name,
        "filters": filters.collect::<Vec<_>>(),
        "manager": debug::message(&settings(&manager)),
    });
    put(&mut shown, "match", debug::message(&chain.filter_chain_match));
    put(&mut shown, "connectTimeout", debug::message(&chain.transport_socket_connect_timeout));
    if let Some(socket) = &chain.transport_socket {
        let Some(ConfigType::TypedConfig(config)) = &socket.config_type else { panic!("no TLS") };
        shown["tls"] = debug::message(&unpack::<DownstreamTlsContext>(config));
    }
    shown
}

/// What is shown elsewhere, or is the same in all listeners and too long, is left out.
fn settings(manager: &HttpConnectionManager) -> HttpConnectionManager {
    HttpConnectionManager {
        route_specifier: None,
        http_filters: Vec::new(),
        early_header_mutation_extensions: Vec::new(),
        ..manager.clone()
    }
}

/// Never what is secret.
pub(super) fn secret(secret: &Secret) -> Value {
    let content = match secret.r#type.as_ref().expect("a type") {
        Type::TlsCertificate(pair) => json!({
            "certificateChain": source(pair.certificate_chain.as_ref()),
            "privateKey": source(pair.private_key.as_ref()),
        }),
        Type::ValidationContext(context) => {
            let bare = CertificateValidationContext { trusted_ca: None, ..context.clone() };
            assert_eq!(bare, CertificateValidationContext::default());
            json!({ "trustedCa": source(context.trusted_ca.as_ref()) })
        }
        _ => panic!("no such secret is made"),
    };
    json!({ "name": secret.name, "content": content })
}

fn source(source: Option<&DataSource>) -> String {
    match source.and_then(|source| source.specifier.as_ref()).expect("a source") {
        Specifier::Filename(path) => format!("file {path}"),
        _ => "[redacted]".to_owned(),
    }
}
