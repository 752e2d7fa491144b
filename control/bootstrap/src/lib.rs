//! What a gateway proxy is started with: the bootstrap configuration of its Envoy.
//!
//! ```text
//! BootstrapOptions ─▶ bootstrap ─▶ bootstrap.json ──names──▶ identity.sds.json ─▶ identity.pem
//!                                                 └─names──▶ trust.sds.json    ─▶ ca.crt
//! ```
//!
//! It says who the proxy is and where its control server is, and nothing else: all the rest comes
//! over xDS. With TLS the certificates come from files that Envoy watches, through its file-based
//! secret discovery, so that a new certificate needs no restart. Pure: text in, JSON out.

mod stats;
mod tls;

use std::net::{IpAddr, SocketAddr};

use keyward_resource::MAX_REGEX_PROGRAM_SIZE;
use serde_json::{Value, json};

pub use tls::{
    CONTROL_URI, IDENTITY_FILE, IDENTITY_SECRET_FILE, TRUST_FILE, TRUST_SECRET_FILE, identity_secret,
    trust_secret,
};

/// The name of the bootstrap configuration in a proxy's folder.
pub const BOOTSTRAP_FILE: &str = "bootstrap.json";
/// The Envoy cluster of the control server in every bootstrap, and in the filter's configuration.
pub const CONTROL_CLUSTER: &str = "keyward-control";
/// Bytes of one stream from the control server that may be under way. It bounds for how long a worker
/// takes in a key table without serving requests in between. It is the least that Envoy accepts.
const STREAM_WINDOW: u32 = 65_535;

/// What a bootstrap configuration depends on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootstrapOptions {
    /// The node id.
    pub node_id: String,
    /// The node role, `<namespace>~<proxy>`: decides which configuration the proxy gets.
    pub role: String,
    /// The control server's gRPC port.
    pub control: Endpoint,
    /// Where Envoy's admin listens.
    pub admin: Admin,
    /// The folder with the proxy's certificates, as the proxy sees it. Without it there is no TLS.
    pub certificates: Option<String>,
}

/// Where the admin of an Envoy listens. It asks nobody who they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Admin {
    /// On a port.
    Port(SocketAddr),
    /// On a Unix domain socket of this path, which nobody but its owner may use.
    Socket(String),
}

/// A host, by address or by name, and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// A bootstrap configuration, as JSON.
#[must_use]
pub fn bootstrap(options: &BootstrapOptions) -> Value {
    let ads_source = json!({
        "ads": {},
        "resource_api_version": "V3",
        // Wait for the control server as long as it takes: an empty configuration is no answer.
        "initial_fetch_timeout": "0s",
    });
    json!({
        "node": {
            "id": options.node_id,
            "cluster": options.node_id,
            "metadata": { "role": options.role },
        },
        "admin": { "address": options.admin.address() },
        "dynamic_resources": {
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "transport_api_version": "V3",
                "set_node_on_first_message_only": true,
                "grpc_services": [{
                    "envoy_grpc": {
                        "cluster_name": CONTROL_CLUSTER,
                        // Back soon after a restart of the control server, without hammering it.
                        "retry_policy": {
                            "retry_back_off": { "base_interval": "0.1s", "max_interval": "2s" },
                        },
                    },
                }],
            },
            "lds_config": ads_source,
            "cds_config": ads_source,
        },
        "static_resources": { "clusters": [control_cluster(options)] },
        "layered_runtime": layered_runtime(),
        "stats_config": stats::stats_config(),
    })
}

/// What Envoy's runtime has to say: that a regular expression may be as large as validation takes it.
/// Without it Envoy refuses large ones.
#[must_use]
pub fn layered_runtime() -> Value {
    json!({
        "layers": [
            {
                "name": "keyward",
                "static_layer": { "re2.max_program_size.error_level": MAX_REGEX_PROGRAM_SIZE },
            },
            // There by default, but not beside other layers.
            { "name": "admin", "admin_layer": {} },
        ],
    })
}

fn control_cluster(options: &BootstrapOptions) -> Value {
    let mut cluster = json!({
        "name": CONTROL_CLUSTER,
        "type": if options.control.is_address() { "STATIC" } else { "STRICT_DNS" },
        "connect_timeout": if options.certificates.is_some() { "5s" } else { "1s" },
        "load_assignment": {
            "cluster_name": CONTROL_CLUSTER,
            "endpoints": [{
                "lb_endpoints": [{ "endpoint": { "address": socket_address(&options.control) } }],
            }],
        },
        "typed_extension_protocol_options": {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                "explicit_http_config": {
                    "http2_protocol_options": {
                        "initial_stream_window_size": STREAM_WINDOW,
                        // A control server that is gone without a word is noticed in seconds.
                        "connection_keepalive": { "interval": "5s", "timeout": "3s" },
                    },
                },
            },
        },
    });
    if let Some(folder) = &options.certificates {
        cluster["transport_socket"] = tls::transport_socket(folder);
    }
    cluster
}

fn socket_address(endpoint: &Endpoint) -> Value {
    json!({ "socket_address": { "address": endpoint.host, "port_value": endpoint.port } })
}

// === impl Admin ===

impl Admin {
    fn address(&self) -> Value {
        match self {
            Self::Port(address) => socket_address(&Endpoint::from(*address)),
            Self::Socket(path) => json!({ "pipe": { "path": path, "mode": 0o600 } }),
        }
    }
}

impl From<SocketAddr> for Admin {
    fn from(address: SocketAddr) -> Self {
        Self::Port(address)
    }
}

// === impl Endpoint ===

impl Endpoint {
    /// Reads `HOST:PORT`; an IPv6 address stands in brackets. Without a port it is `default_port`.
    ///
    /// # Errors
    ///
    /// When it is neither; for people.
    pub fn parse(text: &str, default_port: u16) -> Result<Self, String> {
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Ok(address.into());
        }
        let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = inside.parse::<IpAddr>() {
            return Ok(Self { host: address.to_string(), port: default_port });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => {
                (host, port.parse().map_err(|_| format!("{port:?} is no port: 1 to 65535"))?)
            }
            None => (text, default_port),
        };
        let label = |label: &str| {
            !label.is_empty()
                && label.len() <= 63
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        if host.len() > 253 || !host.trim_end_matches('.').split('.').all(label) {
            return Err(format!("{host:?} is neither an address nor a host name"));
        }
        Ok(Self { host: host.to_owned(), port })
    }

    fn is_address(&self) -> bool {
        self.host.parse::<IpAddr>().is_ok()
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(address: SocketAddr) -> Self {
        Self { host: address.ip().to_string(), port: address.port() }
    }
}

#[cfg(test)]
mod tests;
