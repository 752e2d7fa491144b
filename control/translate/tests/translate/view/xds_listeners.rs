//! Listeners and secrets as they go over the wire.

use envoy_types::pb::envoy::config::accesslog::v3::{AccessLog, access_log};
use envoy_types::pb::envoy::config::core::v3::DataSource;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::core::v3::substitution_format_string::Format;
use envoy_types::pb::envoy::config::core::v3::transport_socket::ConfigType;
use envoy_types::pb::envoy::config::listener::v3::{FilterChain, Listener};
use envoy_types::pb::envoy::extensions::access_loggers::file::v3::FileAccessLog;
use envoy_types::pb::envoy::extensions::access_loggers::file::v3::file_access_log::AccessLogFormat;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpConnectionManager;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::secret::Type;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{
    CertificateValidationContext, DownstreamTlsContext, Secret,
};
use envoy_types::pb::google::protobuf::{Struct, Value as ProtoValue, value};
use serde_json::{Map, Value, json};

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
    put(&mut shown, "accessLogs", manager.access_log.iter().map(access_log).collect::<Vec<_>>());
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
        access_log: Vec::new(),
        ..manager.clone()
    }
}

fn access_log(log: &AccessLog) -> Value {
    let Some(access_log::ConfigType::TypedConfig(config)) = &log.config_type else { panic!("no log") };
    let FileAccessLog { path, access_log_format } = unpack(config);
    let Some(AccessLogFormat::LogFormat(format)) = access_log_format else { panic!("no format") };
    let line = match format.format {
        Some(Format::JsonFormat(fields)) => object(&fields),
        Some(Format::TextFormatSource(DataSource {
            specifier: Some(Specifier::InlineString(text)), ..
        })) => json!(text),
        other => panic!("no such format is made: {other:?}"),
    };
    json!({ "path": path, "line": line })
}

fn object(fields: &Struct) -> Value {
    fields.fields.iter().map(|(name, value)| (name.clone(), plain(value))).collect::<Map<_, _>>().into()
}

fn plain(value: &ProtoValue) -> Value {
    match value.kind.as_ref().expect("a value") {
        value::Kind::NullValue(_) => Value::Null,
        value::Kind::NumberValue(number) => json!(number),
        value::Kind::StringValue(text) => json!(text),
        value::Kind::BoolValue(flag) => json!(flag),
        value::Kind::StructValue(fields) => object(fields),
        value::Kind::ListValue(list) => list.values.iter().map(plain).collect(),
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
