//! What can be chosen about the machines.

use crate::type_url;
use envoy_types::pb::envoy::config::core::v3::ControlPlane;
use std::collections::BTreeSet;

/// Choices and limits of one stream's machine.
#[derive(Clone, Debug)]
pub struct Options {
    /// Types of which each response carries one resource only.
    ///
    /// A client refuses responses, not resources: on its own, a bad resource cannot take a good one
    /// along, and the refusal says which one it was. Listeners and clusters in state of the world
    /// are exempt, as the protocol demands the full set. Default: filter configurations (one bad
    /// one would make Envoy drop its neighbours), routes and secrets (Envoy's refusal does not name
    /// them).
    pub one_per_response: BTreeSet<String>,
    /// The name of this server in every response; empty leaves it out.
    pub control_plane: String,
    /// The most types that one stream may ask for. Default 64.
    pub max_types: usize,
    /// The most names that one stream may subscribe to or claim to hold, over all types. Default 1,048,576.
    pub max_names: usize,
}

// === impl Options ===

impl Options {
    pub(crate) fn identity(&self) -> Option<ControlPlane> {
        (!self.control_plane.is_empty()).then(|| ControlPlane { identifier: self.control_plane.clone() })
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            one_per_response: [type_url::EXTENSION_CONFIG, type_url::ROUTE, type_url::SECRET]
                .map(str::to_owned)
                .into(),
            control_plane: String::new(),
            max_types: 64,
            max_names: 1 << 20,
        }
    }
}
