//! The plugin configuration: what the control server tells a filter through xDS.
//!
//! It names policies, never keys. Keys arrive on the key stream ([`crate::wire`]).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The identity header when the settings name no other.
pub const DEFAULT_IDENTITY_HEADER: &str = "x-user-id";
/// The API-key header when an `AuthConfig` names no other.
pub const DEFAULT_KEY_HEADER: &str = "api-key";
/// How long a request waits for the first snapshot of its key table, in milliseconds.
pub const DEFAULT_WAIT_FOR_KEYS_MS: u32 = 5_000;
/// The longest name of the control cluster: see [`crate::wire::grpc_service`].
pub const MAX_CLUSTER_LEN: usize = 125;
/// Separates the auth id from the rest of a generated route name: `<namespace>/<name>|<route>`.
pub const AUTH_ID_SEPARATOR: u8 = b'|';

/// The whole plugin configuration, JSON in a `google.protobuf.StringValue`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilterConfig {
    /// Names this content: a hash of 53 bits, the same for the same configuration also after a
    /// restart of the control server. Exported as a metric and reported on the key stream, because
    /// neither an xDS ACK nor a config dump proves that a configuration is in force.
    pub version: u64,
    /// The node role that this configuration was made for: `<namespace>~<proxy>`.
    pub role: String,
    /// The Envoy cluster of the control server, for the key stream.
    pub control_cluster: String,
    /// The request header that carries the identity to the upstream, in lower case.
    pub identity_header: String,
    /// How long a request waits for keys after a start, in milliseconds; then it gets 503.
    pub wait_for_keys_ms: u32,
    /// The policies by auth id (`<namespace>/<name>` of the `AuthConfig`). A route whose auth id
    /// is not here is denied with 403.
    pub policies: BTreeMap<String, Policy>,
}

/// What one accepted `AuthConfig` demands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// The request header that carries the key, in lower case.
    pub key_header: String,
    /// The key table that decides.
    pub table: String,
    /// Keeps the verified value of the key header for the upstream instead of removing it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forward_key: bool,
}

/// A plugin configuration that the filter does not take. The message tells nothing of its content.
#[derive(Debug, thiserror::Error)]
pub enum InvalidConfig {
    /// It is not JSON of exactly this shape.
    #[error("the plugin configuration is not valid at line {} column {}", .0.line(), .0.column())]
    Json(#[from] serde_json::Error),
    /// The name of the control cluster cannot be given to Envoy.
    #[error("the name of the control cluster is empty or longer than {MAX_CLUSTER_LEN} bytes")]
    ControlCluster,
}

// === impl FilterConfig ===

impl FilterConfig {
    /// Reads a plugin configuration.
    ///
    /// # Errors
    ///
    /// When the bytes are not JSON of exactly this shape, or the control cluster's name is empty or
    /// longer than [`MAX_CLUSTER_LEN`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, InvalidConfig> {
        let config: Self = serde_json::from_slice(bytes)?;
        if (1..=MAX_CLUSTER_LEN).contains(&config.control_cluster.len()) {
            Ok(config)
        } else {
            Err(InvalidConfig::ControlCluster)
        }
    }
}

/// The auth id in a generated route name, if there is one.
#[must_use]
pub fn auth_id_of_route(route_name: &[u8]) -> Option<&str> {
    let end = route_name.iter().position(|byte| *byte == AUTH_ID_SEPARATOR)?;
    std::str::from_utf8(route_name.get(..end)?).ok()
}

#[cfg(test)]
mod tests;
