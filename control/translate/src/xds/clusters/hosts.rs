//! The endpoints of a cluster.

use std::collections::HashMap;
use std::net::IpAddr;

use envoy_types::pb::envoy::config::core::v3::Metadata;
use envoy_types::pb::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints, lb_endpoint::HostIdentifier,
};
use envoy_types::pb::google::protobuf::{Struct, Value, value};
use keyward_resource::kinds::upstream::{HostAddr, StaticHost};

use super::super::common;
use super::tls::{self, ServerNames};
use crate::proxy::Cluster;

/// Where load balancers look for what is said of an endpoint.
const BALANCING: &str = "envoy.lb";
/// By what consistent hashing knows an endpoint, instead of by its address.
const HASH_KEY: &str = "hash_key";

/// All endpoints.
pub(super) fn assignment(cluster: &Cluster) -> ClusterLoadAssignment {
    let server_names = ServerNames::of(cluster);
    let lb_endpoints = cluster.spec.hosts.iter().map(|host| endpoint(cluster, host, &server_names));
    let locality =
        LocalityLbEndpoints { lb_endpoints: lb_endpoints.collect(), ..LocalityLbEndpoints::default() };
    ClusterLoadAssignment {
        cluster_name: cluster.name.clone(),
        endpoints: vec![locality],
        ..ClusterLoadAssignment::default()
    }
}

fn endpoint(cluster: &Cluster, host: &StaticHost, server_names: &ServerNames) -> LbEndpoint {
    // The host name is what auto_host_rewrite writes. Envoy fills it in for names; for addresses it
    // would leave the client's host header alone.
    let (address, hostname) = match &host.addr {
        HostAddr::Ip(ip @ IpAddr::V4(_)) => (ip.to_string(), ip.to_string()),
        HostAddr::Ip(ip @ IpAddr::V6(_)) => (ip.to_string(), format!("[{ip}]")),
        HostAddr::Dns(name) => (name.clone(), name.clone()),
    };
    let mut metadata = HashMap::new();
    // Envoy has a setting for this, but refuses it for clusters that are resolved as ours are. Addresses
    // have no other name.
    if cluster.spec.load_balancer.use_hostname_for_hashing && super::has_names(&cluster.spec) {
        let name = Value { kind: Some(value::Kind::StringValue(hostname.clone())) };
        metadata.insert(BALANCING.to_owned(), Struct { fields: [(HASH_KEY.to_owned(), name)].into() });
    }
    if let ServerNames::OfEachHost(_) = server_names
        && let Some(name) = tls::server_name(cluster, host)
    {
        metadata.insert(tls::MATCH.to_owned(), tls::by_name(&name));
    }
    let endpoint =
        Endpoint { address: Some(common::tcp(address, host.port)), hostname, ..Endpoint::default() };
    LbEndpoint {
        host_identifier: Some(HostIdentifier::Endpoint(endpoint)),
        load_balancing_weight: host.weight.and_then(common::count),
        metadata: (!metadata.is_empty())
            .then(|| Metadata { filter_metadata: metadata, ..Metadata::default() }),
        ..LbEndpoint::default()
    }
}
