//! How a request is forwarded.

use envoy_types::pb::envoy::config::core::v3::RuntimeFractionalPercent;
use envoy_types::pb::envoy::config::route::v3::route_action::hash_policy::{
    ConnectionProperties, Cookie, Header, PolicySpecifier,
};
use envoy_types::pb::envoy::config::route::v3::route_action::{
    ClusterSpecifier, HashPolicy as HashMessage, HostRewriteSpecifier, MaxStreamDuration as DurationMessage,
    RequestMirrorPolicy, UpgradeConfig,
};
use envoy_types::pb::envoy::config::route::v3::weighted_cluster::ClusterWeight;
use envoy_types::pb::envoy::config::route::v3::{RouteAction, WeightedCluster};
use envoy_types::pb::google::protobuf::{BoolValue, UInt32Value};
use keyward_resource::kinds::options::{
    HashPolicy, HashSource, HostRewrite, MaxStreamDuration, Upgrade, UpgradeKind,
};

use super::super::common;
use super::headers::Headers;
use super::retries::retry_policy;
use crate::proxy::{Destination, Forward, PathRewrite, Shadow};

pub(super) fn route_action(forward: &Forward) -> RouteAction {
    let (prefix_rewrite, regex_rewrite) = match &forward.path_rewrite {
        None => (String::new(), None),
        Some(PathRewrite::Prefix(prefix)) => (prefix.clone(), None),
        Some(PathRewrite::Regex(rewrite)) => (String::new(), Some(common::regex_rewrite(rewrite))),
    };
    RouteAction {
        cluster_specifier: Some(clusters(&forward.to)),
        host_rewrite_specifier: forward.host_rewrite.as_ref().and_then(host_rewrite),
        append_x_forwarded_host: forward.append_x_forwarded_host,
        prefix_rewrite,
        regex_rewrite,
        timeout: forward.timeout.map(common::duration),
        idle_timeout: forward.idle_timeout.map(common::duration),
        max_stream_duration: forward.max_stream_duration.as_ref().map(max_stream_duration),
        retry_policy: forward.retries.as_ref().map(retry_policy),
        request_mirror_policies: forward.shadow.iter().map(mirror).collect(),
        upgrade_configs: forward.upgrades.iter().map(upgrade).collect(),
        hash_policy: forward.hash.iter().map(hash_policy).collect(),
        ..RouteAction::default()
    }
}

fn clusters(to: &[Destination]) -> ClusterSpecifier {
    match to {
        [Destination { cluster, header_manipulation: None, .. }] => {
            ClusterSpecifier::Cluster(cluster.clone())
        }
        several => ClusterSpecifier::WeightedClusters(WeightedCluster {
            clusters: several.iter().map(cluster_weight).collect(),
            ..WeightedCluster::default()
        }),
    }
}

fn cluster_weight(destination: &Destination) -> ClusterWeight {
    let headers = Headers::of(destination.header_manipulation.as_ref());
    ClusterWeight {
        name: destination.cluster.clone(),
        weight: Some(UInt32Value { value: destination.weight }),
        request_headers_to_add: headers.request_add,
        request_headers_to_remove: headers.request_remove,
        response_headers_to_add: headers.response_add,
        response_headers_to_remove: headers.response_remove,
        ..ClusterWeight::default()
    }
}

fn host_rewrite(rewrite: &HostRewrite) -> Option<HostRewriteSpecifier> {
    Some(match rewrite {
        HostRewrite::Auto(false) => return None,
        HostRewrite::Auto(true) => HostRewriteSpecifier::AutoHostRewrite(BoolValue { value: true }),
        HostRewrite::Literal(host) => HostRewriteSpecifier::HostRewriteLiteral(host.clone()),
        HostRewrite::Header(name) => HostRewriteSpecifier::HostRewriteHeader(name.clone()),
        HostRewrite::PathRegex(rewrite) => {
            HostRewriteSpecifier::HostRewritePathRegex(common::regex_rewrite(rewrite))
        }
    })
}

fn max_stream_duration(durations: &MaxStreamDuration) -> DurationMessage {
    DurationMessage {
        max_stream_duration: durations.max_stream_duration.map(common::duration),
        grpc_timeout_header_max: durations.grpc_timeout_header_max.map(common::duration),
        grpc_timeout_header_offset: durations.grpc_timeout_header_offset.map(common::duration),
    }
}

fn mirror(shadow: &Shadow) -> RequestMirrorPolicy {
    RequestMirrorPolicy {
        cluster: shadow.cluster.clone(),
        runtime_fraction: Some(RuntimeFractionalPercent {
            default_value: Some(common::per_million(shadow.per_million)),
            ..RuntimeFractionalPercent::default()
        }),
        disable_shadow_host_suffix_append: shadow.disable_host_suffix,
        host_rewrite_literal: shadow.host_rewrite.clone().unwrap_or_default(),
        ..RequestMirrorPolicy::default()
    }
}

fn upgrade(upgrade: &Upgrade) -> UpgradeConfig {
    let name = match upgrade.kind {
        UpgradeKind::WebSocket => "websocket",
    };
    UpgradeConfig {
        upgrade_type: name.to_owned(),
        enabled: Some(BoolValue { value: upgrade.enabled }),
        ..UpgradeConfig::default()
    }
}

fn hash_policy(policy: &HashPolicy) -> HashMessage {
    let specifier = match &policy.source {
        HashSource::Header(name) => {
            PolicySpecifier::Header(Header { header_name: name.clone(), ..Header::default() })
        }
        HashSource::Cookie { name, ttl, path } => PolicySpecifier::Cookie(Cookie {
            name: name.clone(),
            ttl: ttl.map(common::duration),
            path: path.clone().unwrap_or_default(),
            ..Cookie::default()
        }),
        HashSource::SourceIp => {
            PolicySpecifier::ConnectionProperties(ConnectionProperties { source_ip: true })
        }
    };
    HashMessage { terminal: policy.terminal, policy_specifier: Some(specifier) }
}
