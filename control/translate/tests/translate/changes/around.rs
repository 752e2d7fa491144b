//! What stands around routes: gateways, groups of upstreams, settings, certificates. With it every kind
//! that is translated comes, goes and turns bad.

use std::collections::BTreeMap;

use keyward_resource::Meta;
use keyward_resource::kinds::gateway::{SelectBy, Selection};
use keyward_resource::kinds::options::VirtualHostOptions;
use keyward_resource::kinds::route::Namespaces;
use keyward_resource::kinds::settings::Settings;
use keyward_resource::kinds::{Gateway, RouteOption, UpstreamGroup, VirtualHostOption};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::json;

use super::{
    Change, GROUPS, OPTIONS, SERVICES, change, extauth, headers, named, options, reference, weighted,
};
use crate::generators::{secrets, tls};
use crate::support::{gateway, settings_object};

pub(crate) const GATEWAYS: [&str; 3] = ["g0", "g1", "g2"];
pub(crate) const SECRETS: [&str; 3] = ["one", "two", "three"];
/// Where gateways and settings are: in the namespace of the installation they say more.
pub(crate) const NAMESPACES: [&str; 2] = ["default", "keyward-system"];

fn selection() -> impl Strategy<Value = Selection> {
    let refs =
        prop::collection::vec(select(&SERVICES[..]).prop_map(reference), 1..3).prop_map(SelectBy::Refs);
    let labels = select(&["x", "y"][..])
        .prop_map(|value| SelectBy::Labels(BTreeMap::from([("in".to_owned(), value.to_owned())])));
    let by = prop_oneof![3 => Just(SelectBy::All), 2 => refs, 1 => labels];
    by.prop_map(|by| Selection { by, namespaces: Namespaces::All })
}

pub(crate) fn gateways() -> impl Strategy<Value = Gateway> {
    let ip = select(&["127.0.0.1", "127.0.0.1", "127.0.0.2", "::"][..]);
    // The last one is a port of Keyward's own.
    let port = select(&[8080_u16, 8081, 8443, 9080][..]);
    let proxies = subsequence(&["gateway-proxy", "internal"][..], 1..=2);
    (named(&GATEWAYS), select(&NAMESPACES[..]), ip, port, proxies, selection(), any::<[bool; 2]>()).prop_map(
        |(meta, namespace, ip, port, proxies, selection, [ssl, wins])| {
            let mut gateway = Gateway {
                meta: Meta { namespace: namespace.to_owned(), ..meta },
                ssl,
                proxy_names: proxies.into_iter().map(str::to_owned).collect(),
                selection,
                ..gateway("", (ip.parse::<std::net::IpAddr>().expect("an address"), port).into())
            };
            gateway.routes.most_specific_header_mutations_wins = wins;
            gateway
        },
    )
}

fn groups() -> impl Strategy<Value = UpstreamGroup> {
    let destination = (select(&["a", "b", "missing"][..]), 1..3_u32, headers());
    let destinations = prop::collection::vec(destination, 1..3);
    (named(&GROUPS), destinations).prop_map(|(meta, destinations)| UpstreamGroup {
        meta,
        destinations: destinations
            .into_iter()
            .map(|(to, weight, headers)| weighted(to, weight, headers))
            .collect(),
        warnings: Vec::new(),
    })
}

fn settings() -> impl Strategy<Value = Settings> {
    let watched = prop::option::weighted(0.6, select(&["default", "elsewhere"][..]));
    let header = select(&["", "x-caller", "x-team"][..]);
    let name = select(&["default", "default", "other"][..]);
    (name, select(&NAMESPACES[..]), watched, header, 1..3_u32, any::<[bool; 3]>()).prop_map(
        |(name, namespace, watched, header, max_connections, [replaces, overrides, one_way_tls])| {
            let spec = json!({
                "watchNamespaces": watched.into_iter().collect::<Vec<_>>(),
                "gloo": {
                    "invalidConfigPolicy": { "replaceInvalidRoutes": replaces },
                    "circuitBreakers": { "maxConnections": max_connections },
                },
                "gateway": {
                    "delegation": { "allowAuthOverride": overrides },
                    "virtualServiceOptions": { "oneWayTls": one_way_tls },
                },
                "extauth": { "userIdHeader": header },
            });
            settings_object(namespace, name, spec)
        },
    )
}

/// Everything that a route option and a virtual host option can say of what is generated elsewhere.
fn shared() -> impl Strategy<Value = Change> {
    let of_hosts = (named(&OPTIONS), extauth(), headers(), any::<[Option<bool>; 2]>()).prop_map(
        |(meta, extauth, header_manipulation, [attempts, told])| {
            let options = VirtualHostOptions {
                extauth,
                header_manipulation,
                include_request_attempt_count: attempts,
                include_attempt_count_in_response: told,
                ..VirtualHostOptions::default()
            };
            Change::HostOption(VirtualHostOption { meta, options, warnings: Vec::new() })
        },
    );
    let of_routes = (named(&OPTIONS), options())
        .prop_map(|(meta, options)| Change::RouteOption(RouteOption { meta, options, warnings: Vec::new() }));
    prop_oneof![of_hosts, of_routes]
}

/// A change of any kind of object.
pub(crate) fn any_change() -> impl Strategy<Value = Change> {
    let secret = secrets().prop_map(Change::Secrets);
    let with_tls = (change(), tls()).prop_map(|(change, ssl_config)| match change {
        Change::Service(mut service) => {
            service.ssl_config = ssl_config;
            Change::Service(service)
        }
        other => other,
    });
    prop_oneof![
        6 => change(),
        6 => with_tls,
        4 => gateways().prop_map(Change::Gateway),
        2 => groups().prop_map(Change::Group),
        1 => settings().prop_map(Change::Settings),
        2 => shared(),
        2 => secret,
    ]
}
