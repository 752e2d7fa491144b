//! TLS towards the hosts of an upstream.

use std::collections::{BTreeSet, HashMap};

use envoy_types::pb::envoy::config::cluster::v3::Cluster as ClusterMessage;
use envoy_types::pb::envoy::config::cluster::v3::cluster::TransportSocketMatch;
use envoy_types::pb::envoy::config::core::v3::proxy_protocol_config::Version;
use envoy_types::pb::envoy::config::core::v3::{
    ProxyProtocolConfig, TransportSocket, transport_socket::ConfigType,
};
use envoy_types::pb::envoy::extensions::transport_sockets::proxy_protocol::v3::ProxyProtocolUpstreamTransport;
use envoy_types::pb::envoy::extensions::transport_sockets::raw_buffer::v3::RawBuffer;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{CommonTlsContext, UpstreamTlsContext};
use envoy_types::pb::google::protobuf::{Struct, Value, value};
use keyward_resource::kinds::ssl::{Alpn, SslParameters, TlsVersion, UpstreamSslConfig};
use keyward_resource::kinds::upstream::{HostAddr, ProxyProtocol, StaticHost};

use super::super::{encode, tls};
use crate::proxy::{Cluster, ClusterTls};

/// The metadata of an endpoint by which Envoy chooses a transport socket.
pub(super) const MATCH: &str = "envoy.transport_socket_match";
const SERVER_NAME: &str = "sni";
const RAW_NAME: &str = "envoy.transport_sockets.raw_buffer";
const PROXY_PROTOCOL_NAME: &str = "envoy.transport_sockets.upstream_proxy_protocol";

/// The server names that hosts are sent.
pub(super) enum ServerNames {
    /// All are sent the same, or none.
    Same(Option<String>),
    /// Each its own; these are all that there are.
    OfEachHost(BTreeSet<String>),
}

/// Sets the transport socket of a cluster.
pub(super) fn apply(cluster: &Cluster, message: &mut ClusterMessage) {
    let Some((ssl, secrets)) = cluster.spec.tls.as_ref().zip(cluster.tls.as_ref()) else {
        message.transport_socket = cluster.spec.proxy_protocol.map(|version| behind_header(version, raw()));
        return;
    };
    let socket = |server_name: Option<&String>| {
        let tls = tls::socket(&context(ssl, secrets, server_name));
        match cluster.spec.proxy_protocol {
            Some(version) => behind_header(version, tls),
            None => tls,
        }
    };
    match ServerNames::of(cluster) {
        ServerNames::Same(name) => message.transport_socket = Some(socket(name.as_ref())),
        ServerNames::OfEachHost(names) => {
            message.transport_socket = Some(socket(None));
            message.transport_socket_matches = names
                .iter()
                .map(|name| TransportSocketMatch {
                    name: name.clone(),
                    r#match: Some(by_name(name)),
                    transport_socket: Some(socket(Some(name))),
                })
                .collect();
        }
    }
}

/// What the metadata of an endpoint with this server name says.
pub(super) fn by_name(name: &str) -> Struct {
    let name = Value { kind: Some(value::Kind::StringValue(name.to_owned())) };
    Struct { fields: HashMap::from([(SERVER_NAME.to_owned(), name)]) }
}

/// The server name that a host is sent, if TLS is spoken to it.
pub(super) fn server_name(cluster: &Cluster, host: &StaticHost) -> Option<String> {
    let ssl = cluster.spec.tls.as_ref()?;
    let own = |host: &StaticHost| match &host.addr {
        HostAddr::Dns(name) => Some(name.clone()),
        HostAddr::Ip(_) => None,
    };
    host.sni.clone().or_else(|| ssl.sni.clone()).or_else(|| {
        if cluster.spec.auto_sni_rewrite { own(host) } else { cluster.spec.hosts.first().and_then(own) }
    })
}

fn context(
    ssl: &UpstreamSslConfig,
    secrets: &ClusterTls,
    server_name: Option<&String>,
) -> UpstreamTlsContext {
    let common = CommonTlsContext {
        tls_params: tls::parameters(&parameters(&ssl.parameters)),
        tls_certificate_sds_secret_configs: secrets
            .certificate
            .iter()
            .map(|name| tls::secret(name))
            .collect(),
        // What is not said here is offered by the version of HTTP that is spoken.
        alpn_protocols: match &ssl.alpn {
            Alpn::These(protocols) => protocols.clone(),
            Alpn::Default | Alpn::Nothing => Vec::new(),
        },
        validation_context_type: secrets
            .root_ca
            .as_ref()
            .map(|root_ca| tls::validation(root_ca, &ssl.verify_subject_alt_name)),
        ..CommonTlsContext::default()
    };
    UpstreamTlsContext {
        common_tls_context: Some(common),
        sni: server_name.cloned().unwrap_or_default(),
        allow_renegotiation: ssl.allow_renegotiation,
        ..UpstreamTlsContext::default()
    }
}

/// Envoy speaks TLS 1.2 at most as a client unless told otherwise: a higher minimum needs a maximum.
fn parameters(parameters: &SslParameters) -> SslParameters {
    let maximum = match parameters.minimum {
        Some(TlsVersion::V1_3) => parameters.maximum.or(Some(TlsVersion::V1_3)),
        _ => parameters.maximum,
    };
    SslParameters { maximum, ..parameters.clone() }
}

fn behind_header(version: ProxyProtocol, inner: TransportSocket) -> TransportSocket {
    let version = match version {
        ProxyProtocol::V1 => Version::V1,
        ProxyProtocol::V2 => Version::V2,
    };
    let transport = ProxyProtocolUpstreamTransport {
        config: Some(ProxyProtocolConfig { version: version.into(), ..ProxyProtocolConfig::default() }),
        transport_socket: Some(inner),
        ..ProxyProtocolUpstreamTransport::default()
    };
    TransportSocket {
        name: PROXY_PROTOCOL_NAME.to_owned(),
        config_type: Some(ConfigType::TypedConfig(encode::any(&transport))),
    }
}

fn raw() -> TransportSocket {
    TransportSocket {
        name: RAW_NAME.to_owned(),
        config_type: Some(ConfigType::TypedConfig(encode::any(&RawBuffer {}))),
    }
}

// === impl ServerNames ===

impl ServerNames {
    pub(super) fn of(cluster: &Cluster) -> Self {
        let of_hosts: BTreeSet<Option<String>> =
            cluster.spec.hosts.iter().map(|host| server_name(cluster, host)).collect();
        if of_hosts.len() > 1 {
            return Self::OfEachHost(of_hosts.into_iter().flatten().collect());
        }
        Self::Same(of_hosts.into_iter().next().flatten())
    }
}
