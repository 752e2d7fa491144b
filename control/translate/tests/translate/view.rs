//! What goldens show: reports, proxies and the xDS resources as read back from their bytes.

use std::collections::BTreeMap;

use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::cluster::v3::cluster::{ClusterDiscoveryType, DiscoveryType};
use envoy_types::pb::envoy::config::core::v3::{Address, Metadata, address, socket_address::PortSpecifier};
use envoy_types::pb::envoy::config::endpoint::v3::ClusterLoadAssignment;
use envoy_types::pb::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;
use envoy_types::pb::envoy::config::listener::v3::Listener;
use envoy_types::pb::envoy::config::route::v3::route::Action;
use envoy_types::pb::envoy::config::route::v3::route_action::ClusterSpecifier;
use envoy_types::pb::envoy::config::route::v3::route_match::PathSpecifier;
use envoy_types::pb::envoy::config::route::v3::{Route, RouteConfiguration};
use envoy_types::pb::envoy::extensions::filters::network::http_connection_manager::v3::http_connection_manager::RouteSpecifier;
use envoy_types::pb::envoy::extensions::wasm::v3::plugin_config::Vm;
use envoy_types::pb::google::protobuf::{StringValue, value};
use keyward_translate::proxy::{Auth, Proxy};
use keyward_translate::{Output, XdsResources};
use serde_json::{Map, Value, json};

use crate::decoded::{decode, manager, unpack, wasm};
use crate::support::{filter, settings};

pub(crate) fn output(output: &Output) -> Value {
    let reports = output.reports.iter().map(|(object, report)| {
        let mut shown = json!({ "state": report.state.as_str() });
        if !report.reasons.is_empty() {
            shown["reasons"] = json!(report.reasons);
        }
        (object.to_string(), shown)
    });
    let proxies = output.proxies.iter().map(|(role, made)| (role.clone(), proxy(made)));
    let xds = output.proxies.iter().map(|(role, proxy)| {
        let resources = keyward_translate::xds(proxy, &filter(), &settings());
        (role.clone(), xds(&resources))
    });
    json!({
        "reports": reports.collect::<Map<_, _>>(),
        "proxies": proxies.collect::<Map<_, _>>(),
        "xds": xds.collect::<Map<_, _>>(),
    })
}

fn proxy(proxy: &Proxy) -> Value {
    let listeners = proxy.listeners.iter().map(|listener| {
        let hosts = listener.virtual_hosts.iter().map(|host| {
            let routes = host.routes.iter().map(|route| {
                let auth = match &route.auth {
                    Auth::Open => "open".to_owned(),
                    Auth::Secured { auth_id } => format!("secured by {auth_id}"),
                    Auth::Denied { auth_id, reason } => format!("denied by {auth_id}: {reason}"),
                };
                let rewrite = if route.auto_host_rewrite { ", host rewritten" } else { "" };
                format!("{} -> {}{rewrite}, {auth}", route.prefix, route.cluster)
            });
            json!({ "from": host.virtual_service.to_string(), "domains": host.domains, "routes": routes.collect::<Vec<_>>() })
        });
        let gateway = listener.gateway.as_ref().map_or("default".to_owned(), ToString::to_string);
        json!({ "address": listener.address.to_string(), "gateway": gateway, "virtualHosts": hosts.collect::<Vec<_>>() })
    });
    json!({
        "listeners": listeners.collect::<Vec<_>>(),
        "policies": proxy.policies,
        "tables": proxy.tables,
    })
}

fn xds(resources: &XdsResources) -> Value {
    let decoded = decode(resources);
    let extensions = decoded.extensions.iter().map(|extension| {
        let plugin = wasm(extension).config.expect("a plugin");
        let Some(Vm::VmConfig(vm)) = &plugin.vm else { panic!("no vm") };
        let configuration: StringValue = unpack(plugin.configuration.as_ref().expect("a configuration"));
        let configuration: Value = serde_json::from_str(&configuration.value).expect("JSON");
        json!({
            "name": extension.name,
            "vmId": vm.vm_id,
            "failurePolicy": plugin.failure_policy().as_str_name(),
            "configuration": configuration,
        })
    });
    let origin = resources.origin.iter().map(|((type_url, name), objects)| {
        let kind = type_url.rsplit('.').next().unwrap_or_default();
        let objects: Vec<String> = objects.iter().map(ToString::to_string).collect();
        (format!("{kind} {name}"), json!(objects))
    });
    json!({
        "clusters": decoded.clusters.iter().map(cluster).collect::<Vec<_>>(),
        "endpoints": decoded.endpoints.iter().map(endpoints).collect::<Vec<_>>(),
        "listeners": decoded.listeners.iter().map(listener).collect::<Vec<_>>(),
        "routes": decoded.routes.iter().map(routes).collect::<Vec<_>>(),
        "extensions": extensions.collect::<Vec<_>>(),
        "origin": origin.collect::<Map<_, _>>(),
    })
}

fn cluster(cluster: &Cluster) -> Value {
    let Some(ClusterDiscoveryType::Type(kind)) = cluster.cluster_discovery_type else { panic!("no type") };
    let kind = DiscoveryType::try_from(kind).expect("a known type").as_str_name();
    let mut shown = json!({ "name": cluster.name, "type": kind, "from": origin(cluster.metadata.as_ref()) });
    if let Some(assignment) = &cluster.load_assignment {
        shown["endpoints"] = endpoints(assignment)["endpoints"].take();
    }
    shown
}

fn endpoints(assignment: &ClusterLoadAssignment) -> Value {
    let all = assignment.endpoints.iter().flat_map(|locality| &locality.lb_endpoints).map(|endpoint| {
        let Some(HostIdentifier::Endpoint(endpoint)) = &endpoint.host_identifier else {
            panic!("no endpoint")
        };
        format!("{} as {}", socket(endpoint.address.as_ref()), endpoint.hostname)
    });
    json!({ "name": assignment.cluster_name, "endpoints": all.collect::<Vec<_>>() })
}

fn listener(listener: &Listener) -> Value {
    let manager = manager(listener);
    let Some(RouteSpecifier::Rds(rds)) = &manager.route_specifier else { panic!("no route discovery") };
    let filters = manager.http_filters.iter().map(|filter| {
        let disabled = if filter.disabled { ", off unless a route turns it on" } else { "" };
        format!("{}{disabled}", filter.name)
    });
    json!({
        "name": listener.name,
        "address": socket(listener.address.as_ref()),
        "from": origin(listener.metadata.as_ref()),
        "routes": rds.route_config_name,
        "filters": filters.collect::<Vec<_>>(),
    })
}

fn routes(routes: &RouteConfiguration) -> Value {
    let hosts = routes.virtual_hosts.iter().map(|host| {
        json!({
            "name": host.name,
            "domains": host.domains,
            "from": origin(host.metadata.as_ref()),
            "routes": host.routes.iter().map(route).collect::<Vec<_>>(),
        })
    });
    json!({
        "name": routes.name,
        "removedFromResponses": routes.response_headers_to_remove,
        "virtualHosts": hosts.collect::<Vec<_>>(),
    })
}

fn route(route: &Route) -> Value {
    let path = route.r#match.as_ref().and_then(|matcher| matcher.path_specifier.as_ref());
    let Some(PathSpecifier::Prefix(prefix)) = path else { panic!("no prefix") };
    let Some(Action::Route(action)) = &route.action else { panic!("no route action") };
    let Some(ClusterSpecifier::Cluster(cluster)) = &action.cluster_specifier else { panic!("no cluster") };
    let filters: BTreeMap<&String, _> = route.typed_per_filter_config.iter().collect();
    json!({
        "name": route.name,
        "prefix": prefix,
        "cluster": cluster,
        "hostRewritten": action.host_rewrite_specifier.is_some(),
        "filtersOn": filters.keys().collect::<Vec<_>>(),
        "from": origin(route.metadata.as_ref()),
    })
}

fn socket(address: Option<&Address>) -> String {
    let Some(address::Address::SocketAddress(socket)) = address.and_then(|address| address.address.as_ref())
    else {
        panic!("no socket address")
    };
    let Some(PortSpecifier::PortValue(port)) = socket.port_specifier else { panic!("no port") };
    let both = if socket.ipv4_compat { " and IPv4" } else { "" };
    format!("{} {port}{both}", socket.address)
}

fn origin(metadata: Option<&Metadata>) -> String {
    let fields = metadata.map(|metadata| &metadata.filter_metadata["keyward.io"].fields);
    let field = |name: &str| match fields.and_then(|fields| fields.get(name)?.kind.clone()) {
        Some(value::Kind::StringValue(text)) => text,
        other => panic!("origin has no {name}: {other:?}"),
    };
    format!("{} {}/{}", field("kind"), field("namespace"), field("name"))
}
