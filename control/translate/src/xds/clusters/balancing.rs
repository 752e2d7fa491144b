//! Which host gets which request.

use envoy_types::pb::envoy::config::cluster::v3::Cluster as ClusterMessage;
use envoy_types::pb::envoy::config::cluster::v3::cluster::{
    CommonLbConfig, LbConfig, LbPolicy as LbPolicyMessage, LeastRequestLbConfig, RingHashLbConfig,
    RoundRobinLbConfig, SlowStartConfig,
};
use envoy_types::pb::envoy::config::core::v3::RuntimeDouble;
use envoy_types::pb::envoy::r#type::v3::Percent;
use envoy_types::pb::google::protobuf::UInt64Value;
use keyward_resource::kinds::upstream::{LbPolicy, LoadBalancer, SlowStart, Upstream};

use super::super::common;

/// Envoy wants each runtime value to have a key; nothing is ever set under this one.
const AGGRESSION_KEY: &str = "keyward.slow_start.aggression";

/// Sets the load balancer of a cluster.
pub(super) fn apply(spec: &Upstream, message: &mut ClusterMessage) {
    let load_balancer = &spec.load_balancer;
    let (policy, config) = policy(&load_balancer.policy);
    message.lb_policy = policy.into();
    message.lb_config = config;
    if *load_balancer == (LoadBalancer { policy: load_balancer.policy.clone(), ..LoadBalancer::default() }) {
        return;
    }
    message.common_lb_config = Some(CommonLbConfig {
        healthy_panic_threshold: load_balancer
            .healthy_panic_threshold
            .map(|percent| Percent { value: percent.get() }),
        update_merge_window: load_balancer.update_merge_window.map(common::duration),
        close_connections_on_host_set_change: load_balancer.close_connections_on_host_set_change,
        ..CommonLbConfig::default()
    });
}

fn policy(policy: &LbPolicy) -> (LbPolicyMessage, Option<LbConfig>) {
    let size = |size: &Option<u64>| size.map(|value| UInt64Value { value });
    match policy {
        LbPolicy::RoundRobin { slow_start: slow } => {
            let config =
                slow.as_ref().map(|slow| RoundRobinLbConfig { slow_start_config: Some(slow_start(slow)) });
            (LbPolicyMessage::RoundRobin, config.map(LbConfig::RoundRobinLbConfig))
        }
        LbPolicy::LeastRequest { choice_count, slow_start: slow } => {
            let config = LeastRequestLbConfig {
                choice_count: choice_count.and_then(common::count),
                slow_start_config: slow.as_ref().map(slow_start),
                ..LeastRequestLbConfig::default()
            };
            (LbPolicyMessage::LeastRequest, Some(LbConfig::LeastRequestLbConfig(config)))
        }
        LbPolicy::Random => (LbPolicyMessage::Random, None),
        LbPolicy::RingHash { minimum_ring_size, maximum_ring_size } => {
            let config = RingHashLbConfig {
                minimum_ring_size: size(minimum_ring_size),
                maximum_ring_size: size(maximum_ring_size),
                ..RingHashLbConfig::default()
            };
            (LbPolicyMessage::RingHash, Some(LbConfig::RingHashLbConfig(config)))
        }
        LbPolicy::Maglev => (LbPolicyMessage::Maglev, None),
    }
}

fn slow_start(slow_start: &SlowStart) -> SlowStartConfig {
    SlowStartConfig {
        slow_start_window: Some(common::duration(slow_start.window)),
        aggression: slow_start.aggression.map(|aggression| RuntimeDouble {
            default_value: aggression.get(),
            runtime_key: AGGRESSION_KEY.to_owned(),
        }),
        min_weight_percent: slow_start.min_weight_percent.map(|percent| Percent { value: percent.get() }),
    }
}
