//! Clusters and their endpoints.

use std::net::IpAddr;

use envoy_types::pb::envoy::config::cluster::v3::Cluster as ClusterMessage;
use envoy_types::pb::envoy::config::cluster::v3::cluster::{
    ClusterDiscoveryType, DiscoveryType, DnsLookupFamily, EdsClusterConfig,
};
use envoy_types::pb::envoy::config::endpoint::v3::{
    ClusterLoadAssignment, Endpoint, LbEndpoint, LocalityLbEndpoints, lb_endpoint::HostIdentifier,
};
use keyward_resource::kinds::upstream::{HostAddr, StaticHost};

use super::common;
use crate::proxy::Cluster;
use crate::translate::kind;

/// How long Envoy tries to connect to an endpoint.
const CONNECT_TIMEOUT_SECONDS: i64 = 5;

/// Addresses come over EDS, so that a change of them leaves the cluster and its connections alone.
/// As soon as one host is a name, Envoy resolves: such a cluster carries its hosts itself.
pub(super) fn cluster(cluster: &Cluster) -> ClusterMessage {
    let mut message = ClusterMessage {
        name: cluster.name.clone(),
        connect_timeout: common::seconds(CONNECT_TIMEOUT_SECONDS),
        metadata: Some(common::origin(kind::UPSTREAM, &cluster.upstream)),
        ..ClusterMessage::default()
    };
    if has_names(cluster) {
        message.cluster_discovery_type = discovery(DiscoveryType::StrictDns);
        // The default would take IPv6 alone wherever a name has such an address, and `localhost` has
        // one on most machines on which nothing listens there.
        message.dns_lookup_family = DnsLookupFamily::V4Preferred.into();
        message.load_assignment = Some(assignment(cluster));
    } else {
        message.cluster_discovery_type = discovery(DiscoveryType::Eds);
        message.eds_cluster_config =
            Some(EdsClusterConfig { eds_config: Some(common::ads()), ..EdsClusterConfig::default() });
    }
    message
}

/// The endpoints of a cluster that gets them over EDS.
pub(super) fn load_assignment(cluster: &Cluster) -> Option<ClusterLoadAssignment> {
    (!has_names(cluster)).then(|| assignment(cluster))
}

fn has_names(cluster: &Cluster) -> bool {
    cluster.hosts.iter().any(|host| matches!(host.addr, HostAddr::Dns(_)))
}

fn discovery(kind: DiscoveryType) -> Option<ClusterDiscoveryType> {
    Some(ClusterDiscoveryType::Type(kind.into()))
}

fn assignment(cluster: &Cluster) -> ClusterLoadAssignment {
    let locality = LocalityLbEndpoints {
        lb_endpoints: cluster.hosts.iter().map(endpoint).collect(),
        ..LocalityLbEndpoints::default()
    };
    ClusterLoadAssignment {
        cluster_name: cluster.name.clone(),
        endpoints: vec![locality],
        ..ClusterLoadAssignment::default()
    }
}

fn endpoint(host: &StaticHost) -> LbEndpoint {
    // The host name is what auto_host_rewrite writes. Envoy fills it in for names; for addresses it
    // would leave the client's host header alone.
    let (address, hostname) = match &host.addr {
        HostAddr::Ip(ip @ IpAddr::V4(_)) => (ip.to_string(), ip.to_string()),
        HostAddr::Ip(ip @ IpAddr::V6(_)) => (ip.to_string(), format!("[{ip}]")),
        HostAddr::Dns(name) => (name.clone(), name.clone()),
    };
    let endpoint =
        Endpoint { address: Some(common::tcp(address, host.port)), hostname, ..Endpoint::default() };
    LbEndpoint { host_identifier: Some(HostIdentifier::Endpoint(endpoint)), ..LbEndpoint::default() }
}
