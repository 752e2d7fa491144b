//! How connections to hosts are, and how many there may be.

use envoy_types::pb::envoy::config::cluster::v3::cluster::PreconnectPolicy;
use envoy_types::pb::envoy::config::cluster::v3::{
    CircuitBreakers as CircuitBreakersMessage, Cluster as ClusterMessage, UpstreamConnectionOptions,
    circuit_breakers::Thresholds,
};
use envoy_types::pb::envoy::config::core::v3::TcpKeepalive as TcpKeepaliveMessage;
use envoy_types::pb::google::protobuf::{DoubleValue, UInt32Value};
use keyward_resource::kinds::upstream::{CircuitBreakers, Decimal, TcpKeepalive};

use super::super::common;
use crate::proxy::Cluster;

/// Sets how a cluster connects.
pub(super) fn apply(cluster: &Cluster, message: &mut ClusterMessage) {
    let spec = &*cluster.spec;
    message.per_connection_buffer_limit_bytes = spec.connection.buffer_limit.and_then(common::count);
    message.upstream_connection_options =
        spec.connection.tcp_keepalive.as_ref().map(|keepalive| UpstreamConnectionOptions {
            tcp_keepalive: Some(tcp_keepalive(keepalive)),
            ..UpstreamConnectionOptions::default()
        });
    message.preconnect_policy = spec.preconnect.as_ref().map(|preconnect| PreconnectPolicy {
        per_upstream_preconnect_ratio: preconnect.per_upstream_ratio.map(ratio),
        predictive_preconnect_ratio: preconnect.predictive_ratio.map(ratio),
        ..PreconnectPolicy::default()
    });
    message.circuit_breakers =
        (cluster.circuit_breakers != CircuitBreakers::default()).then(|| breakers(&cluster.circuit_breakers));
}

fn tcp_keepalive(keepalive: &TcpKeepalive) -> TcpKeepaliveMessage {
    let seconds = |duration: std::time::Duration| {
        let value = u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
        UInt32Value { value }
    };
    TcpKeepaliveMessage {
        keepalive_probes: keepalive.probes.and_then(common::count),
        keepalive_time: keepalive.time.map(seconds),
        keepalive_interval: keepalive.interval.map(seconds),
    }
}

fn breakers(breakers: &CircuitBreakers) -> CircuitBreakersMessage {
    let thresholds = Thresholds {
        max_connections: breakers.max_connections.and_then(common::count),
        max_pending_requests: breakers.max_pending_requests.and_then(common::count),
        max_requests: breakers.max_requests.and_then(common::count),
        max_retries: breakers.max_retries.and_then(common::count),
        track_remaining: breakers.track_remaining,
        ..Thresholds::default()
    };
    CircuitBreakersMessage { thresholds: vec![thresholds], ..CircuitBreakersMessage::default() }
}

fn ratio(ratio: Decimal) -> DoubleValue {
    DoubleValue { value: ratio.get() }
}
