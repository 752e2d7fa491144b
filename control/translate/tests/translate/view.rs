//! What goldens show: reports, proxies and the xDS resources as read back from their bytes.

mod debug;
mod proxy_listeners;
mod proxy_routes;
mod xds_clusters;
mod xds_listeners;
mod xds_routes;

use envoy_types::pb::envoy::config::core::v3::{Address, Metadata, address, socket_address::PortSpecifier};
use envoy_types::pb::envoy::extensions::wasm::v3::plugin_config::Vm;
use envoy_types::pb::google::protobuf::{StringValue, value};
use keyward_translate::proxy::Proxy;
use keyward_translate::{Output, XdsResources};
use serde_json::{Map, Value, json};

use crate::decoded::{decode, unpack, wasm};
use crate::support::filter;

/// What the statuses say, the proxies, and what they are told: one file of a golden each.
pub(crate) fn output(output: &Output) -> [(&'static str, Value); 3] {
    let reports = output.reports.iter().map(|(object, report)| {
        let mut shown = json!({ "state": report.state.as_str() });
        if !report.reasons.is_empty() {
            shown["reasons"] = json!(report.reasons);
        }
        (object.to_string(), shown)
    });
    let proxies = output.proxies.iter().map(|(role, made)| (role.clone(), proxy(made)));
    let xds = output.proxies.iter().map(|(role, proxy)| {
        let resources = keyward_translate::xds(proxy, &filter(), &output.settings);
        (role.clone(), xds(&resources))
    });
    [
        ("status.yaml", Value::Object(reports.collect())),
        ("proxy.yaml", Value::Object(proxies.collect())),
        ("xds.yaml", Value::Object(xds.collect())),
    ]
}

fn proxy(proxy: &Proxy) -> Value {
    let listeners = proxy.listeners.iter().map(proxy_listeners::listener);
    let secrets = proxy.secrets.iter().map(|(name, secret)| (name.clone(), proxy_listeners::secret(secret)));
    json!({
        "listeners": listeners.collect::<Vec<_>>(),
        "secrets": secrets.collect::<Map<_, _>>(),
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
        "clusters": decoded.clusters.iter().map(xds_clusters::cluster).collect::<Vec<_>>(),
        "endpoints": decoded.endpoints.iter().map(xds_clusters::endpoints).collect::<Vec<_>>(),
        "secrets": decoded.secrets.iter().map(xds_listeners::secret).collect::<Vec<_>>(),
        "listeners": decoded.listeners.iter().map(xds_listeners::listener).collect::<Vec<_>>(),
        "routes": decoded.routes.iter().map(xds_routes::configuration).collect::<Vec<_>>(),
        "extensions": extensions.collect::<Vec<_>>(),
        "origin": origin.collect::<Map<_, _>>(),
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
    let metadata = metadata.expect("an origin");
    let field = |name: &str| field(metadata, name);
    format!("{} {}/{}", field("kind"), field("namespace"), field("name"))
}

/// A text of an origin.
fn field(metadata: &Metadata, name: &str) -> String {
    match metadata.filter_metadata["keyward.io"].fields.get(name).and_then(|value| value.kind.clone()) {
        Some(value::Kind::StringValue(text)) => text,
        other => panic!("origin has no {name}: {other:?}"),
    }
}
