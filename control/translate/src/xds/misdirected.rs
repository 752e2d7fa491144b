//! Requests for hosts that are served on other connections.

use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{DirectResponseAction, Route, RouteMatch, VirtualHost};

use crate::proxy::names;

/// A browser that holds a connection for one host uses it for every other host that the certificate is
/// good for. This status, and no other, makes it open a new one with the right server name.
const MISDIRECTED_REQUEST: u32 = 421;

/// The virtual host that answers for these domains; none without any.
pub(super) fn virtual_host(domains: &[String]) -> Option<VirtualHost> {
    let answer = Route {
        name: names::MISDIRECTED.to_owned(),
        r#match: Some(RouteMatch {
            path_specifier: Some(PathSpecifier::Prefix("/".to_owned())),
            ..RouteMatch::default()
        }),
        action: Some(Action::DirectResponse(DirectResponseAction {
            status: MISDIRECTED_REQUEST,
            ..DirectResponseAction::default()
        })),
        ..Route::default()
    };
    (!domains.is_empty()).then(|| VirtualHost {
        name: names::MISDIRECTED.to_owned(),
        domains: domains.to_vec(),
        routes: vec![answer],
        ..VirtualHost::default()
    })
}
