//! The bootstrap configuration of a gateway proxy: who it is and where its control server is.

use std::net::SocketAddr;

use serde_json::{Value, json};

/// What a bootstrap configuration depends on.
#[derive(Debug, Clone)]
pub(crate) struct BootstrapOptions {
    /// The node id.
    pub(crate) node_id: String,
    /// The node role, `<namespace>~<proxy>`: decides which configuration the proxy gets.
    pub(crate) role: String,
    /// Name of the control cluster, as in the filter's configuration.
    pub(crate) control_cluster: String,
    /// Address of the control server's gRPC port.
    pub(crate) control: SocketAddr,
    /// Address of Envoy's admin.
    pub(crate) admin: SocketAddr,
}

/// A bootstrap configuration, as JSON.
#[must_use]
pub(crate) fn bootstrap(options: &BootstrapOptions) -> Value {
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
        "admin": { "address": socket_address(options.admin) },
        "dynamic_resources": {
            "ads_config": {
                "api_type": "DELTA_GRPC",
                "transport_api_version": "V3",
                "set_node_on_first_message_only": true,
                "grpc_services": [{
                    "envoy_grpc": {
                        "cluster_name": options.control_cluster,
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
        "static_resources": {
            "clusters": [{
                "name": options.control_cluster,
                "type": "STATIC",
                "connect_timeout": "1s",
                "load_assignment": {
                    "cluster_name": options.control_cluster,
                    "endpoints": [{
                        "lb_endpoints": [{
                            "endpoint": { "address": socket_address(options.control) },
                        }],
                    }],
                },
                "typed_extension_protocol_options": {
                    "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
                        "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
                        "explicit_http_config": {
                            "http2_protocol_options": {
                                // A control server that is gone without a word is noticed in seconds.
                                "connection_keepalive": { "interval": "5s", "timeout": "3s" },
                            },
                        },
                    },
                },
            }],
        },
    })
}

fn socket_address(address: SocketAddr) -> Value {
    json!({ "socket_address": { "address": address.ip().to_string(), "port_value": address.port() } })
}
