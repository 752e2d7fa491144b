//! Listeners, as far as they decide who answers a request and what comes before its route.

use serde::Deserialize;
use serde_json::Value;

use super::{Metadata, Rest, StringMatcher, Upgrade, type_of};

/// A listener.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Listener {
    pub(crate) name: String,
    address: Address,
    #[serde(default)]
    pub(crate) filter_chains: Vec<Chain>,
    #[serde(default)]
    pub(crate) metadata: Metadata,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Address {
    socket_address: SocketAddress,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SocketAddress {
    address: String,
    port_value: u16,
}

/// What becomes of connections of one kind.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Chain {
    #[serde(default)]
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) filter_chain_match: ChainMatch,
    #[serde(default)]
    filters: Vec<NetworkFilter>,
    transport_socket: Option<TransportSocket>,
}

/// Which connections are of that kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct ChainMatch {
    pub(crate) server_names: Vec<String>,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NetworkFilter {
    typed_config: Value,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TransportSocket {
    #[serde(default)]
    typed_config: Value,
}

/// The connection manager of a chain.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Manager {
    pub(crate) rds: Rds,
    pub(crate) http_filters: Vec<HttpFilter>,
    pub(crate) normalize_path: bool,
    pub(crate) merge_slashes: bool,
    pub(crate) path_with_escaped_slashes_action: String,
    pub(crate) strip_trailing_host_dot: bool,
    pub(crate) early_header_mutation_extensions: Vec<Early>,
    pub(crate) upgrade_configs: Vec<Upgrade>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Rds {
    pub(crate) route_config_name: String,
}

/// An HTTP filter.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HttpFilter {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) typed_config: Value,
    pub(crate) config_discovery: Option<Value>,
    #[serde(default)]
    pub(crate) disabled: bool,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Early {
    #[serde(default)]
    typed_config: EarlyMutation,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EarlyMutation {
    mutations: Vec<Mutation>,
}

/// A change of headers before everything else. Only removals are known.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Mutation {
    pub(crate) remove: Option<String>,
    pub(crate) remove_on_match: Option<RemoveOnMatch>,
    #[serde(flatten)]
    pub(crate) rest: Rest,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RemoveOnMatch {
    pub(crate) key_matcher: StringMatcher,
}

// === impl Listener ===

impl Listener {
    pub(crate) fn port(&self) -> u16 {
        self.address.socket_address.port_value
    }

    pub(crate) fn socket(&self) -> (&str, u16) {
        (&self.address.socket_address.address, self.port())
    }

    /// `address:port`.
    pub(crate) fn address(&self) -> String {
        let SocketAddress { address, port_value } = &self.address.socket_address;
        if address.contains(':') {
            format!("[{address}]:{port_value}")
        } else {
            format!("{address}:{port_value}")
        }
    }

    pub(crate) fn has_tls(&self) -> bool {
        self.filter_chains.iter().any(Chain::has_tls)
    }
}

// === impl Chain ===

impl Chain {
    pub(crate) fn has_tls(&self) -> bool {
        self.transport_socket.is_some()
    }

    /// Whether clients must show a certificate.
    pub(crate) fn wants_certificate(&self) -> bool {
        let socket = self.transport_socket.as_ref();
        socket.is_some_and(|socket| socket.typed_config["requireClientCertificate"] == true)
    }

    pub(crate) fn manager(&self) -> Option<Result<Manager, serde_json::Error>> {
        let config = self.filters.iter().map(|filter| &filter.typed_config);
        let manager = config.into_iter().find(|config| type_of(config) == "HttpConnectionManager")?;
        Some(Manager::deserialize(manager))
    }
}

// === impl Manager ===

impl Manager {
    pub(crate) fn early_mutations(&self) -> impl Iterator<Item = &Mutation> {
        self.early_header_mutation_extensions.iter().flat_map(|early| &early.typed_config.mutations)
    }
}
