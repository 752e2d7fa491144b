//! Which version of HTTP is spoken with hosts, and how.

use std::collections::HashMap;

use envoy_types::pb::envoy::config::cluster::v3::Cluster as ClusterMessage;
use envoy_types::pb::envoy::config::core::v3::http1_protocol_options::HeaderKeyFormat;
use envoy_types::pb::envoy::config::core::v3::http1_protocol_options::header_key_format::{
    HeaderFormat as HeaderFormatMessage, ProperCaseWords,
};
use envoy_types::pb::envoy::config::core::v3::{
    Http1ProtocolOptions, Http2ProtocolOptions, HttpProtocolOptions as CommonOptions, TypedExtensionConfig,
};
use envoy_types::pb::envoy::extensions::http::header_formatters::preserve_case::v3::PreserveCaseFormatterConfig;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::HttpProtocolOptions;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::http_protocol_options::explicit_http_config::ProtocolConfig;
use envoy_types::pb::envoy::extensions::upstreams::http::v3::http_protocol_options::{
    ExplicitHttpConfig, UpstreamProtocolOptions, UseDownstreamHttpConfig,
};
use envoy_types::pb::google::protobuf::BoolValue;
use keyward_resource::kinds::upstream::{
    ConnectionConfig, HeaderFormat, Http1Options, Http2Options, Protocol,
};

use super::super::{common, encode};
use super::mark;
use crate::proxy::Cluster;

const OPTIONS_NAME: &str = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const PRESERVE_CASE_NAME: &str = "envoy.http.stateful_header_formatters.preserve_case";

/// Sets how a cluster speaks HTTP. Nothing is said where Envoy does the same by itself.
pub(super) fn apply(cluster: &Cluster, message: &mut ClusterMessage) {
    let spec = &*cluster.spec;
    let protocol = match spec.protocol {
        Protocol::Http1 => explicit(ProtocolConfig::HttpProtocolOptions(http1(&spec.connection.http1))),
        Protocol::Http2 => explicit(ProtocolConfig::Http2ProtocolOptions(http2(&spec.http2))),
        Protocol::Downstream => {
            UpstreamProtocolOptions::UseDownstreamProtocolConfig(UseDownstreamHttpConfig {
                http_protocol_options: Some(http1(&spec.connection.http1)),
                http2_protocol_options: Some(http2(&spec.http2)),
                ..UseDownstreamHttpConfig::default()
            })
        }
    };
    let common = common_options(&spec.connection);
    let plain = spec.protocol == Protocol::Http1 && spec.connection.http1 == Http1Options::default();
    if plain && common.is_none() && !cluster.is_marked {
        return;
    }
    let options = HttpProtocolOptions {
        common_http_protocol_options: common,
        upstream_protocol_options: Some(protocol),
        http_filters: if cluster.is_marked { mark::filters() } else { Vec::new() },
        ..HttpProtocolOptions::default()
    };
    message.typed_extension_protocol_options =
        HashMap::from([(OPTIONS_NAME.to_owned(), encode::any(&options))]);
}

fn explicit(protocol: ProtocolConfig) -> UpstreamProtocolOptions {
    UpstreamProtocolOptions::ExplicitHttpConfig(ExplicitHttpConfig { protocol_config: Some(protocol) })
}

fn common_options(connection: &ConnectionConfig) -> Option<CommonOptions> {
    let options = CommonOptions {
        idle_timeout: connection.idle_timeout.map(common::duration),
        max_headers_count: connection.max_headers_count.and_then(common::count),
        max_stream_duration: connection.max_stream_duration.map(common::duration),
        max_requests_per_connection: connection.max_requests_per_connection.and_then(common::count),
        ..CommonOptions::default()
    };
    (options != CommonOptions::default()).then_some(options)
}

fn http1(options: &Http1Options) -> Http1ProtocolOptions {
    let format = match options.header_format {
        HeaderFormat::LowerCase => None,
        HeaderFormat::ProperCase => Some(HeaderFormatMessage::ProperCaseWords(ProperCaseWords {})),
        HeaderFormat::Preserve => Some(HeaderFormatMessage::StatefulFormatter(TypedExtensionConfig {
            name: PRESERVE_CASE_NAME.to_owned(),
            typed_config: Some(encode::any(&PreserveCaseFormatterConfig::default())),
        })),
    };
    Http1ProtocolOptions {
        enable_trailers: options.enable_trailers,
        header_key_format: format.map(|format| HeaderKeyFormat { header_format: Some(format) }),
        override_stream_error_on_invalid_http_message: options
            .stream_error_on_invalid_message
            .map(|value| BoolValue { value }),
        ..Http1ProtocolOptions::default()
    }
}

fn http2(options: &Http2Options) -> Http2ProtocolOptions {
    Http2ProtocolOptions {
        initial_stream_window_size: options.initial_stream_window_size.and_then(common::count),
        initial_connection_window_size: options.initial_connection_window_size.and_then(common::count),
        max_concurrent_streams: options.max_concurrent_streams.and_then(common::count),
        override_stream_error_on_invalid_http_message: options
            .stream_error_on_invalid_message
            .map(|value| BoolValue { value }),
        ..Http2ProtocolOptions::default()
    }
}
