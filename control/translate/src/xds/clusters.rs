//! Clusters and their endpoints.

mod balancing;
mod connection;
mod health;
mod hosts;
mod mark;
mod protocol;
mod tls;

use envoy_types::pb::envoy::config::cluster::v3::Cluster as ClusterMessage;
use envoy_types::pb::envoy::config::cluster::v3::cluster::{
    ClusterDiscoveryType, CustomClusterType, DiscoveryType, EdsClusterConfig,
};
use envoy_types::pb::envoy::config::endpoint::v3::ClusterLoadAssignment;
use envoy_types::pb::envoy::extensions::clusters::common::dns::v3::DnsLookupFamily;
use envoy_types::pb::envoy::extensions::clusters::dns::v3::DnsCluster;
use keyward_resource::kinds::upstream::{HostAddr, Upstream};

use super::{common, encode};
use crate::proxy::Cluster;
use crate::translate::kind;

const DNS_NAME: &str = "envoy.clusters.dns";
/// How long Envoy tries to connect to an endpoint when nothing is said.
const CONNECT_TIMEOUT_SECONDS: i64 = 5;
/// Envoy refuses to resolve names more often than this.
const MIN_DNS_REFRESH: std::time::Duration = std::time::Duration::from_millis(2);

/// Addresses come over EDS, so that a change of them leaves the cluster and its connections alone.
/// As soon as one host is a name, Envoy resolves: such a cluster carries its hosts itself.
pub(super) fn cluster(cluster: &Cluster) -> ClusterMessage {
    let spec = &*cluster.spec;
    let mut message = ClusterMessage {
        name: cluster.name.clone(),
        connect_timeout: spec
            .connection
            .connect_timeout
            .map_or(common::seconds(CONNECT_TIMEOUT_SECONDS), |timeout| Some(common::duration(timeout))),
        metadata: Some(common::origin(kind::UPSTREAM, &cluster.upstream)),
        ignore_health_on_host_removal: spec.ignore_health_on_host_removal,
        ..ClusterMessage::default()
    };
    if has_names(spec) {
        message.cluster_discovery_type = Some(ClusterDiscoveryType::ClusterType(resolving(spec)));
        message.load_assignment = Some(hosts::assignment(cluster));
    } else {
        message.cluster_discovery_type = Some(ClusterDiscoveryType::Type(DiscoveryType::Eds.into()));
        message.eds_cluster_config =
            Some(EdsClusterConfig { eds_config: Some(common::ads()), ..EdsClusterConfig::default() });
    }
    balancing::apply(spec, &mut message);
    connection::apply(cluster, &mut message);
    health::apply(spec, &mut message);
    protocol::apply(cluster, &mut message);
    tls::apply(cluster, &mut message);
    message
}

/// Every address of every name is an endpoint of its own.
fn resolving(spec: &Upstream) -> CustomClusterType {
    let dns = DnsCluster {
        dns_refresh_rate: spec.dns_refresh_rate.map(|rate| common::duration(rate.max(MIN_DNS_REFRESH))),
        respect_dns_ttl: spec.respect_dns_ttl,
        // The default would take IPv6 alone wherever a name has such an address, and `localhost` has
        // one on most machines on which nothing listens there.
        dns_lookup_family: DnsLookupFamily::V4Preferred.into(),
        ..DnsCluster::default()
    };
    CustomClusterType { name: DNS_NAME.to_owned(), typed_config: Some(encode::any(&dns)) }
}

/// The endpoints of a cluster that gets them over EDS.
pub(super) fn load_assignment(cluster: &Cluster) -> Option<ClusterLoadAssignment> {
    (!has_names(&cluster.spec)).then(|| hosts::assignment(cluster))
}

fn has_names(spec: &Upstream) -> bool {
    spec.hosts.iter().any(|host| matches!(host.addr, HostAddr::Dns(_)))
}
