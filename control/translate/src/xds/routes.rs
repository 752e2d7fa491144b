//! Route configurations.
//!
//! A configuration is its virtual hosts, one after the other, between a head and a tail: each virtual
//! host is encoded once and stays as it is while others change.

mod action;
mod forward;
mod headers;
mod matching;
mod retries;

use envoy_types::pb::envoy::config::core::v3::Metadata;
use envoy_types::pb::envoy::config::route::v3::{
    Route as RouteMessage, RouteConfiguration, VirtualHost as VirtualHostMessage,
};
use envoy_types::pb::google::protobuf::{BoolValue, Value, value};
use keyward_resource::ObjectKey;
use keyward_resource::kinds::gateway::RouteConfigurationOptions;
use prost::bytes::Bytes;

pub(super) use self::headers::add as header_to_add;
use super::{Encoded, common, encode, http_filters};
use crate::input::Settings;
use crate::proxy::{Route, VirtualHost};
use crate::translate::kind;

/// The field number of `RouteConfiguration.virtual_hosts`.
const VIRTUAL_HOSTS: u32 = 2;
/// Envoy refuses a route configuration with a longer body in it; its own limit would be 4 KiB.
const MAX_BODY_LEN: u32 = 1024 * 1024;

/// The routes of a chain of a listener, from its encoded virtual hosts.
pub(super) fn route_configuration<'a>(
    name: &str,
    options: &RouteConfigurationOptions,
    settings: &Settings,
    virtual_hosts: impl Iterator<Item = &'a Bytes>,
) -> Encoded {
    let head = RouteConfiguration { name: name.to_owned(), ..RouteConfiguration::default() };
    let tail = RouteConfiguration {
        // Also for routes on which the filter does not run. Answers that this does not reach are left to the
        // filters of the listener, as other spellings are.
        response_headers_to_remove: vec![settings.identity_header.clone()],
        // A domain stands for a host on whatever port the client reached it.
        ignore_port_in_host_matching: true,
        // A missing upstream makes its own routes answer 503 and leaves all others alone.
        validate_clusters: Some(BoolValue { value: false }),
        max_direct_response_body_size_bytes: common::count(
            // A body that is longer than told would take all other routes with it.
            options.max_direct_response_body_size.unwrap_or_default().max(MAX_BODY_LEN),
        ),
        most_specific_header_mutations_wins: options.most_specific_header_mutations_wins,
        ..RouteConfiguration::default()
    };
    encode::around(name, &head, VIRTUAL_HOSTS, virtual_hosts, &tail)
}

/// A virtual host.
pub(super) fn virtual_host(host: &VirtualHost, settings: &Settings) -> VirtualHostMessage {
    let headers = headers::Headers::of(host.options.header_manipulation.as_ref());
    VirtualHostMessage {
        name: host.name.clone(),
        domains: host.domains.clone(),
        routes: host.routes.iter().map(|of| route(of, settings)).collect(),
        request_headers_to_add: headers.request_add,
        request_headers_to_remove: headers.request_remove,
        response_headers_to_add: headers.response_add,
        response_headers_to_remove: headers.response_remove,
        include_request_attempt_count: host.options.include_request_attempt_count,
        include_attempt_count_in_response: host.options.include_attempt_count_in_response,
        metadata: Some(common::origin(kind::VIRTUAL_SERVICE, &host.virtual_service)),
        ..VirtualHostMessage::default()
    }
}

fn route(route: &Route, settings: &Settings) -> RouteMessage {
    let headers = headers::Headers::of(route.header_manipulation.as_ref());
    RouteMessage {
        name: route.name.clone(),
        r#match: Some(matching::matching(&route.matcher)),
        metadata: Some(origin(&route.from, &route.path)),
        typed_per_filter_config: http_filters::per_route(route, settings),
        request_headers_to_add: headers.request_add,
        request_headers_to_remove: headers.request_remove,
        response_headers_to_add: headers.response_add,
        response_headers_to_remove: headers.response_remove,
        action: Some(action::action(&route.action)),
        ..RouteMessage::default()
    }
}

fn origin(from: &ObjectKey, path: &str) -> Metadata {
    let mut metadata = common::origin(from.kind, &from.object_ref());
    let path = Value { kind: Some(value::Kind::StringValue(path.to_owned())) };
    for entry in metadata.filter_metadata.values_mut() {
        entry.fields.insert("route".to_owned(), path.clone());
    }
    metadata
}
