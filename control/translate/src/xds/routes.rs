//! Route configurations.

use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::route_action::{ClusterSpecifier, HostRewriteSpecifier};
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{
    Route as RouteMessage, RouteAction, RouteConfiguration, RouteMatch, VirtualHost as VirtualHostMessage,
};
use envoy_types::pb::google::protobuf::BoolValue;

use super::{common, http_filters};
use crate::input::Settings;
use crate::proxy::{Listener, Route, VirtualHost, names};
use crate::translate::kind;

/// The routes of a listener.
pub(super) fn route_configuration(listener: &Listener, settings: &Settings) -> RouteConfiguration {
    RouteConfiguration {
        name: names::route_config(&listener.name),
        virtual_hosts: listener.virtual_hosts.iter().map(virtual_host).collect(),
        // Also for routes on which the filter does not run.
        response_headers_to_remove: vec![settings.identity_header.clone()],
        // A domain stands for a host on whatever port the client reached it.
        ignore_port_in_host_matching: true,
        // A missing upstream makes its own routes answer 503 and leaves all others alone.
        validate_clusters: Some(BoolValue { value: false }),
        ..RouteConfiguration::default()
    }
}

fn virtual_host(host: &VirtualHost) -> VirtualHostMessage {
    VirtualHostMessage {
        name: host.name.clone(),
        domains: host.domains.clone(),
        routes: host.routes.iter().map(|spec| route(host, spec)).collect(),
        metadata: Some(common::origin(kind::VIRTUAL_SERVICE, &host.virtual_service)),
        ..VirtualHostMessage::default()
    }
}

fn route(host: &VirtualHost, route: &Route) -> RouteMessage {
    let matcher = RouteMatch {
        path_specifier: Some(PathSpecifier::Prefix(route.prefix.clone())),
        ..RouteMatch::default()
    };
    let rewrite = HostRewriteSpecifier::AutoHostRewrite(BoolValue { value: true });
    let action = RouteAction {
        cluster_specifier: Some(ClusterSpecifier::Cluster(route.cluster.clone())),
        host_rewrite_specifier: route.auto_host_rewrite.then_some(rewrite),
        ..RouteAction::default()
    };
    RouteMessage {
        name: route.name.clone(),
        r#match: Some(matcher),
        metadata: Some(common::origin(kind::VIRTUAL_SERVICE, &host.virtual_service)),
        typed_per_filter_config: http_filters::per_route(&route.auth),
        action: Some(Action::Route(action)),
        ..RouteMessage::default()
    }
}
