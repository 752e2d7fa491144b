//! Clusters and endpoints as they go over the wire.

use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::cluster::v3::cluster::{ClusterDiscoveryType, DiscoveryType};
use envoy_types::pb::envoy::config::core::v3::TransportSocket;
use envoy_types::pb::envoy::config::core::v3::transport_socket::ConfigType;
use envoy_types::pb::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;
use envoy_types::pb::envoy::config::endpoint::v3::{ClusterLoadAssignment, LbEndpoint};
use envoy_types::pb::envoy::extensions::clusters::dns::v3::DnsCluster;
use envoy_types::pb::envoy::extensions::filters::http::header_mutation::v3::HeaderMutation;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::{
    HttpFilter, http_filter,
};
use envoy_types::pb::envoy::extensions::transport_sockets::proxy_protocol::v3::ProxyProtocolUpstreamTransport;
use envoy_types::pb::envoy::extensions::transport_sockets::raw_buffer::v3::RawBuffer;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::UpstreamTlsContext;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::HttpProtocolOptions;
use prost::Name;
use serde_json::{Value, json};

use super::{debug, origin, proxy_routes::put, socket};
use crate::decoded::unpack;

pub(super) fn cluster(cluster: &Cluster) -> Value {
    let (kind, dns) = match &cluster.cluster_discovery_type {
        Some(ClusterDiscoveryType::Type(kind)) => {
            (DiscoveryType::try_from(*kind).expect("a known type").as_str_name(), None)
        }
        Some(ClusterDiscoveryType::ClusterType(custom)) => {
            let config = custom.typed_config.as_ref().expect("a typed config");
            (custom.name.as_str(), Some(debug::message(&unpack::<DnsCluster>(config))))
        }
        None => panic!("no type"),
    };
    let mut shown = json!({ "name": cluster.name, "type": kind, "from": origin(cluster.metadata.as_ref()) });
    put(&mut shown, "dns", dns);
    if let Some(assignment) = &cluster.load_assignment {
        shown["endpoints"] = endpoints(assignment)["endpoints"].take();
    }
    let rest = Cluster {
        name: String::new(),
        cluster_discovery_type: None,
        metadata: None,
        eds_cluster_config: None,
        load_assignment: None,
        transport_socket: None,
        transport_socket_matches: Vec::new(),
        typed_extension_protocol_options: std::collections::HashMap::new(),
        ..cluster.clone()
    };
    shown["settings"] = debug::message(&rest);
    put(&mut shown, "transportSocket", cluster.transport_socket.as_ref().map(transport));
    let matches = cluster.transport_socket_matches.iter().map(|one| {
        let socket = one.transport_socket.as_ref().map(transport);
        json!({ "name": one.name, "match": debug::message(&one.r#match), "socket": socket })
    });
    put(&mut shown, "transportSocketMatches", matches.collect::<Vec<_>>());
    if let Some(options) = cluster.typed_extension_protocol_options.values().next() {
        let mut options: HttpProtocolOptions = unpack(options);
        let filters: Vec<Value> = options.http_filters.drain(..).map(|one| filter(&one)).collect();
        shown["http"] = debug::message(&options);
        put(&mut shown, "httpFilters", filters);
    }
    shown
}

fn filter(filter: &HttpFilter) -> Value {
    let Some(http_filter::ConfigType::TypedConfig(config)) = &filter.config_type else {
        panic!("no typed config")
    };
    if config.type_url == HeaderMutation::type_url() {
        return json!({ "name": filter.name, "mutations": debug::message(&unpack::<HeaderMutation>(config).mutations) });
    }
    json!({ "name": filter.name })
}

fn transport(socket: &TransportSocket) -> Value {
    let Some(ConfigType::TypedConfig(config)) = &socket.config_type else { panic!("no typed config") };
    if config.type_url == UpstreamTlsContext::type_url() {
        return json!({ "tls": debug::message(&unpack::<UpstreamTlsContext>(config)) });
    }
    if config.type_url == RawBuffer::type_url() {
        return json!("plain");
    }
    let header: ProxyProtocolUpstreamTransport = unpack(config);
    json!({
        "proxyProtocol": debug::message(&header.config),
        "then": header.transport_socket.as_ref().map(transport),
    })
}

pub(super) fn endpoints(assignment: &ClusterLoadAssignment) -> Value {
    let all = assignment.endpoints.iter().flat_map(|locality| &locality.lb_endpoints).map(endpoint);
    json!({ "name": assignment.cluster_name, "endpoints": all.collect::<Vec<_>>() })
}

fn endpoint(endpoint: &LbEndpoint) -> String {
    let Some(HostIdentifier::Endpoint(host)) = &endpoint.host_identifier else { panic!("no endpoint") };
    let mut line = format!("{} as {}", socket(host.address.as_ref()), host.hostname);
    if let Some(weight) = &endpoint.load_balancing_weight {
        line.push_str(&format!(", weight {}", weight.value));
    }
    if let Some(metadata) = &endpoint.metadata {
        line.push_str(&format!(", {}", debug::message(&metadata.filter_metadata)));
    }
    line
}
