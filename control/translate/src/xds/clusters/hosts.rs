//! The endpoints of a cluster.

use std::collections::HashMap;
use std::net::IpAddr;

use envoy_types::pb::envoy::config::core::v3::Metadata;
use envoy_types::pb::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints, lb_endpoint::HostIdentifier,
};
use keyward_resource::kinds::upstream::{HostAddr, StaticHost};

use super::super::common;
use super::tls::{self, ServerNames};
use crate::proxy::Cluster;

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
    let endpoint =
        Endpoint { address: Some(common::tcp(address, host.port)), hostname, ..Endpoint::default() };
    let by_server_name = match server_names {
        ServerNames::OfEachHost(_) => tls::server_name(cluster, host),
        ServerNames::Same(_) => None,
    };
    LbEndpoint {
        host_identifier: Some(HostIdentifier::Endpoint(endpoint)),
        load_balancing_weight: host.weight.and_then(common::count),
        metadata: by_server_name.map(|name| Metadata {
            filter_metadata: HashMap::from([(tls::MATCH.to_owned(), tls::by_name(&name))]),
            ..Metadata::default()
        }),
        ..LbEndpoint::default()
    }
}
