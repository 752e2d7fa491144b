//! Which hosts are well: by asking them, and by their answers.

use envoy_types::pb::envoy::config::cluster::v3::{
    Cluster as ClusterMessage, OutlierDetection as OutlierDetectionMessage,
};
use envoy_types::pb::envoy::config::core::v3::health_check::payload::Payload as PayloadContent;
use envoy_types::pb::envoy::config::core::v3::health_check::{
    GrpcHealthCheck, HealthChecker as HealthCheckerMessage, HttpHealthCheck as HttpHealthCheckMessage,
    Payload, TcpHealthCheck,
};
use envoy_types::pb::envoy::config::core::v3::{HealthCheck as HealthCheckMessage, RequestMethod};
use envoy_types::pb::envoy::r#type::matcher::v3::StringMatcher;
use envoy_types::pb::envoy::r#type::matcher::v3::string_matcher::MatchPattern;
use envoy_types::pb::envoy::r#type::v3::{CodecClientType, Int64Range};
use envoy_types::pb::google::protobuf::BoolValue;
use keyward_resource::kinds::upstream::{
    HealthCheck, HealthChecker, HealthMethod, HttpHealthCheck, OutlierDetection, Upstream,
};

use super::super::common;
use super::super::routes::header_to_add;

/// Sets how a cluster finds out which hosts are well.
pub(super) fn apply(spec: &Upstream, message: &mut ClusterMessage) {
    message.health_checks = spec.health_checks.iter().map(check).collect();
    message.outlier_detection = spec.outlier_detection.as_ref().map(outliers);
}

fn check(check: &HealthCheck) -> HealthCheckMessage {
    HealthCheckMessage {
        timeout: Some(common::duration(check.timeout)),
        interval: Some(common::duration(check.interval)),
        initial_jitter: check.initial_jitter.map(common::duration),
        interval_jitter: check.interval_jitter.map(common::duration),
        interval_jitter_percent: check.interval_jitter_percent.unwrap_or_default(),
        unhealthy_threshold: common::count(check.unhealthy_threshold),
        healthy_threshold: common::count(check.healthy_threshold),
        reuse_connection: Some(BoolValue { value: check.reuse_connection }),
        no_traffic_interval: check.no_traffic_interval.map(common::duration),
        unhealthy_interval: check.unhealthy_interval.map(common::duration),
        unhealthy_edge_interval: check.unhealthy_edge_interval.map(common::duration),
        healthy_edge_interval: check.healthy_edge_interval.map(common::duration),
        always_log_health_check_failures: check.always_log_failures,
        health_checker: Some(match &check.checker {
            HealthChecker::Http(check) => HealthCheckerMessage::HttpHealthCheck(http(check)),
            HealthChecker::Tcp(check) => HealthCheckerMessage::TcpHealthCheck(TcpHealthCheck {
                send: check.send.as_deref().map(payload),
                receive: check.receive.iter().map(|expected| payload(expected)).collect(),
                ..TcpHealthCheck::default()
            }),
            HealthChecker::Grpc(check) => HealthCheckerMessage::GrpcHealthCheck(GrpcHealthCheck {
                service_name: check.service_name.clone().unwrap_or_default(),
                authority: check.authority.clone().unwrap_or_default(),
                ..GrpcHealthCheck::default()
            }),
        }),
        ..HealthCheckMessage::default()
    }
}

fn http(check: &HttpHealthCheck) -> HttpHealthCheckMessage {
    let codec = if check.http2 { CodecClientType::Http2 } else { CodecClientType::Http1 };
    let ranges = check.expected_statuses.iter();
    HttpHealthCheckMessage {
        host: check.host.clone().unwrap_or_default(),
        path: check.path.clone(),
        method: method(check.method).into(),
        codec_client_type: codec.into(),
        service_name_matcher: check.service_name.clone().map(|name| StringMatcher {
            match_pattern: Some(MatchPattern::Prefix(name)),
            ..StringMatcher::default()
        }),
        request_headers_to_add: check.headers.iter().map(header_to_add).collect(),
        request_headers_to_remove: check.headers_to_remove.clone(),
        expected_statuses: ranges
            .map(|(start, end)| Int64Range { start: i64::from(*start), end: i64::from(*end) })
            .collect(),
        ..HttpHealthCheckMessage::default()
    }
}

fn method(method: HealthMethod) -> RequestMethod {
    match method {
        HealthMethod::Get => RequestMethod::Get,
        HealthMethod::Head => RequestMethod::Head,
        HealthMethod::Post => RequestMethod::Post,
        HealthMethod::Put => RequestMethod::Put,
        HealthMethod::Delete => RequestMethod::Delete,
        HealthMethod::Options => RequestMethod::Options,
        HealthMethod::Trace => RequestMethod::Trace,
        HealthMethod::Patch => RequestMethod::Patch,
    }
}

fn payload(bytes: &[u8]) -> Payload {
    Payload { payload: Some(PayloadContent::Binary(bytes.to_vec())) }
}

fn outliers(outliers: &OutlierDetection) -> OutlierDetectionMessage {
    OutlierDetectionMessage {
        interval: outliers.interval.map(common::duration),
        base_ejection_time: outliers.base_ejection_time.map(common::duration),
        max_ejection_percent: outliers.max_ejection_percent.and_then(common::count),
        consecutive_5xx: outliers.consecutive_5xx.and_then(common::count),
        enforcing_consecutive_5xx: outliers.enforcing_consecutive_5xx.and_then(common::count),
        consecutive_gateway_failure: outliers.consecutive_gateway_failure.and_then(common::count),
        enforcing_consecutive_gateway_failure: outliers
            .enforcing_consecutive_gateway_failure
            .and_then(common::count),
        enforcing_success_rate: outliers.enforcing_success_rate.and_then(common::count),
        success_rate_minimum_hosts: outliers.success_rate_minimum_hosts.and_then(common::count),
        success_rate_request_volume: outliers.success_rate_request_volume.and_then(common::count),
        success_rate_stdev_factor: outliers.success_rate_stdev_factor.and_then(common::count),
        split_external_local_origin_errors: outliers.split_external_local_origin_errors,
        consecutive_local_origin_failure: outliers.consecutive_local_origin_failure.and_then(common::count),
        enforcing_consecutive_local_origin_failure: outliers
            .enforcing_consecutive_local_origin_failure
            .and_then(common::count),
        enforcing_local_origin_success_rate: outliers
            .enforcing_local_origin_success_rate
            .and_then(common::count),
        ..OutlierDetectionMessage::default()
    }
}
