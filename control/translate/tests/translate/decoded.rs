//! Encoded resources back to messages, so that tests see what goes over the wire.

use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::core::v3::TypedExtensionConfig;
use envoy_types::pb::envoy::config::endpoint::v3::ClusterLoadAssignment;
use envoy_types::pb::envoy::config::listener::v3::filter::ConfigType;
use envoy_types::pb::envoy::config::listener::v3::{FilterChain, Listener};
use envoy_types::pb::envoy::config::route::v3::RouteConfiguration;
use envoy_types::pb::envoy::extensions::filters::http::wasm::v3::Wasm;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpConnectionManager;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::Secret;
use envoy_types::pb::google::protobuf::Any;
use keyward_translate::{Encoded, XdsResources};
use prost::{Message, Name};

pub(crate) struct Decoded {
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) endpoints: Vec<ClusterLoadAssignment>,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) routes: Vec<RouteConfiguration>,
    pub(crate) extensions: Vec<TypedExtensionConfig>,
}

pub(crate) fn decode(resources: &XdsResources) -> Decoded {
    Decoded {
        clusters: all(&resources.clusters),
        endpoints: all(&resources.endpoints),
        secrets: all(&resources.secrets),
        listeners: all(&resources.listeners),
        routes: all(&resources.routes),
        extensions: all(&resources.extensions),
    }
}

/// The connection managers of all chains.
pub(crate) fn managers(listener: &Listener) -> Vec<HttpConnectionManager> {
    listener.filter_chains.iter().map(manager).collect()
}

pub(crate) fn manager(chain: &FilterChain) -> HttpConnectionManager {
    let filter = &chain.filters[0];
    let Some(ConfigType::TypedConfig(config)) = &filter.config_type else { panic!("no typed config") };
    unpack(config)
}

pub(crate) fn wasm(extension: &TypedExtensionConfig) -> Wasm {
    unpack(extension.typed_config.as_ref().expect("a typed config"))
}

pub(crate) fn unpack<M: Message + Name + Default>(any: &Any) -> M {
    assert_eq!(any.type_url, M::type_url());
    M::decode(any.value.as_slice()).expect("a packed message is well formed")
}

fn all<M: Message + Name + Default>(encoded: &[Encoded]) -> Vec<M> {
    encoded
        .iter()
        .map(|encoded| {
            assert_eq!(encoded.type_url, M::type_url());
            M::decode(encoded.bytes.clone()).expect("a resource is well formed")
        })
        .collect()
}
