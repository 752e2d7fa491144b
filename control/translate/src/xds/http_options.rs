//! What a Gateway says about HTTP with clients.

use envoy_types::pb::envoy::config::core::v3::{Http1ProtocolOptions, HttpProtocolOptions};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::HttpConnectionManager;
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::ServerHeaderTransformation;
use envoy_types::pb::google::protobuf::BoolValue;
use keyward_resource::kinds::gateway::{HttpOptions, ServerHeader};

use super::common;

/// Sets what is said. What routing and authentication rely on cannot be said, so it stays.
pub(super) fn apply(options: &HttpOptions, manager: &mut HttpConnectionManager) {
    let said = |value: bool| BoolValue { value };
    if let Some(remote) = options.use_remote_address {
        manager.use_remote_address = Some(said(remote));
    }
    if let Some(timeout) = options.request_headers_timeout {
        manager.request_headers_timeout = Some(common::duration(timeout));
    }
    if let Some(server_header) = options.server_header {
        manager.server_header_transformation = match server_header {
            ServerHeader::Overwrite => ServerHeaderTransformation::Overwrite,
            ServerHeader::AppendIfAbsent => ServerHeaderTransformation::AppendIfAbsent,
            ServerHeader::PassThrough => ServerHeaderTransformation::PassThrough,
        }
        .into();
    }
    manager.xff_num_trusted_hops = options.xff_num_trusted_hops.unwrap_or_default();
    manager.skip_xff_append = options.skip_xff_append.unwrap_or_default();
    manager.via = options.via.clone().unwrap_or_default();
    manager.generate_request_id = options.generate_request_id.map(said);
    manager.preserve_external_request_id = options.preserve_external_request_id.unwrap_or_default();
    manager.stream_idle_timeout = options.stream_idle_timeout.map(common::duration);
    manager.request_timeout = options.request_timeout.map(common::duration);
    manager.drain_timeout = options.drain_timeout.map(common::duration);
    manager.delayed_close_timeout = options.delayed_close_timeout.map(common::duration);
    manager.max_request_headers_kb = options.max_request_headers_kb.and_then(common::count);
    manager.server_name = options.server_name.clone().unwrap_or_default();
    let connections = HttpProtocolOptions {
        idle_timeout: options.idle_timeout.map(common::duration),
        max_connection_duration: options.max_connection_duration.map(common::duration),
        max_stream_duration: options.max_stream_duration.map(common::duration),
        max_headers_count: options.max_headers_count.and_then(common::count),
        ..HttpProtocolOptions::default()
    };
    manager.common_http_protocol_options =
        (connections != HttpProtocolOptions::default()).then_some(connections);
    let http1 = Http1ProtocolOptions {
        accept_http_10: options.accept_http_10.unwrap_or_default(),
        default_host_for_http_10: options.default_host_for_http_10.clone().unwrap_or_default(),
        ..Http1ProtocolOptions::default()
    };
    manager.http_protocol_options = (http1 != Http1ProtocolOptions::default()).then_some(http1);
}
