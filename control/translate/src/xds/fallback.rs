//! What an Envoy is told whose node role names no proxy.

use std::collections::BTreeSet;

use envoy_types::pb::envoy::config::core::v3::DataSource;
use envoy_types::pb::envoy::config::core::v3::data_source::Specifier;
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{
    DirectResponseAction, Route, RouteConfiguration, RouteMatch, VirtualHost,
};

use super::{XdsResources, encode, http_filters, listeners};
use crate::input::Settings;
use crate::proxy::{Chain, Listener, names};

const LISTENER_NAME: &str = "listener-misconfigured-node";

/// A listener on the default port that answers every request with 500 and says what to set: whoever
/// starts an Envoy with a wrong bootstrap finds out with the first request.
#[must_use]
pub fn misconfigured_node(settings: &Settings) -> XdsResources {
    let chain = Chain::plain(names::route_config(LISTENER_NAME), Vec::new());
    let listener = Listener::new(LISTENER_NAME.to_owned(), settings.default_gateway, vec![chain.clone()]);
    let strip = BTreeSet::from([settings.identity_header.clone()]);
    let manager = listeners::manager(&listener, &chain.name, &strip, vec![http_filters::router()]);
    let body =
        DataSource { specifier: Some(Specifier::InlineString(text(settings))), ..DataSource::default() };
    let answer = Route {
        name: "misconfigured-node".to_owned(),
        r#match: Some(RouteMatch {
            path_specifier: Some(PathSpecifier::Prefix("/".to_owned())),
            ..RouteMatch::default()
        }),
        action: Some(Action::DirectResponse(DirectResponseAction {
            status: 500,
            body: Some(body),
            ..DirectResponseAction::default()
        })),
        ..Route::default()
    };
    let routes = RouteConfiguration {
        name: chain.name.clone(),
        virtual_hosts: vec![VirtualHost {
            name: "misconfigured-node".to_owned(),
            domains: vec!["*".to_owned()],
            routes: vec![answer],
            ..VirtualHost::default()
        }],
        ..RouteConfiguration::default()
    };
    let mut resources = XdsResources::default();
    resources.add(
        encode::encode(
            LISTENER_NAME,
            &listeners::message(&listener, listeners::filter_chains(&chain, &manager)),
        ),
        &[],
    );
    resources.add(encode::encode(&routes.name, &routes), &[]);
    resources
}

fn text(settings: &Settings) -> String {
    let example = names::role(&settings.system_namespace, names::DEFAULT_PROXY);
    format!(
        "this Envoy is not configured: node.metadata.role in its bootstrap is missing or names no proxy that a \
         Gateway declares\nhint: set node.metadata.role to <system namespace>~<proxy name>, such as {example}\n"
    )
}
