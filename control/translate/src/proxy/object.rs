//! A proxy as an object of kind `Proxy`, for people to read.

use keyward_resource::kind;
use keyward_resource::kinds::route::PathMatcher;
use serde_json::{Value, json};

use super::{Action, Auth, ChainTls, Listener, Proxy, Route, VirtualHost};

/// An object without a spec.
#[must_use]
pub fn skeleton(namespace: &str, name: &str) -> Value {
    let kind = kind::by_name("Proxy").map(keyward_resource::Kind::api_version);
    json!({ "apiVersion": kind, "kind": "Proxy", "metadata": { "namespace": namespace, "name": name } })
}

/// The object that shows a proxy. None where the role is none: `<system namespace>~<proxy>`.
#[must_use]
pub fn object(role: &str, proxy: &Proxy) -> Option<Value> {
    let (namespace, name) = role.split_once('~')?;
    let mut object = skeleton(namespace, name);
    object["spec"] = json!({ "listeners": proxy.listeners.iter().map(listener).collect::<Vec<_>>() });
    Some(object)
}

fn listener(listener: &Listener) -> Value {
    let hosts: Vec<Value> = listener.virtual_hosts().map(|host| virtual_host(host)).collect();
    let mut shown = json!({
        "name": listener.name,
        "bindAddress": listener.address.ip().to_string(),
        "bindPort": listener.address.port(),
        "httpListener": { "virtualHosts": hosts },
    });
    let tls: Vec<Value> = listener.chains.iter().filter_map(|chain| chain.tls.as_ref()).map(ssl).collect();
    if !tls.is_empty() {
        shown["sslConfigurations"] = tls.into();
    }
    shown
}

/// Which server names a certificate is for; none where it is for all.
fn ssl(tls: &ChainTls) -> Value {
    if tls.server_names.is_empty() { json!({}) } else { json!({ "sniDomains": tls.server_names }) }
}

fn virtual_host(host: &VirtualHost) -> Value {
    let service = &host.virtual_service;
    json!({
        "name": host.name,
        "domains": host.domains,
        "routes": host.routes.iter().map(route).collect::<Vec<_>>(),
        "metadataStatic": {
            "sources": [{
                "resourceKind": "VirtualService",
                "resourceRef": { "name": service.name, "namespace": service.namespace },
            }],
        },
    })
}

/// A route in the words in which people declare them, with what decides about it.
fn route(route: &Route) -> Value {
    let mut matcher = match &route.matcher.path {
        PathMatcher::Prefix(prefix) => json!({ "prefix": prefix }),
        PathMatcher::Exact(path) => json!({ "exact": path }),
        PathMatcher::Regex(regex) => json!({ "regex": regex }),
    };
    if !route.matcher.methods.is_empty() {
        matcher["methods"] = json!(route.matcher.methods);
    }
    let headers: Vec<&str> = route.matcher.headers.iter().map(|header| header.name.as_str()).collect();
    let query = route.matcher.query_parameters.iter();
    let query: Vec<&str> = query.map(|parameter| parameter.name.as_str()).collect();
    for (field, names) in [("headers", headers), ("queryParameters", query)] {
        if !names.is_empty() {
            matcher[field] = json!(names);
        }
    }
    let extauth = match &route.auth {
        Auth::Open => json!("open"),
        Auth::Secured { auth_id, open: true, .. } => json!(format!("{auth_id}, open without a key")),
        Auth::Secured { auth_id, .. } => json!(auth_id),
        Auth::Denied { reason, .. } => json!(format!("denied: {reason}")),
    };
    let mut shown = json!({ "name": route.path, "matchers": [matcher], "extauth": extauth });
    match &route.action {
        Action::Forward(forward) => {
            let to = forward.to.iter();
            let to = to.map(|to| json!({ "cluster": to.cluster, "weight": to.weight }));
            shown["routeAction"] = json!({ "destinations": to.collect::<Vec<_>>() });
        }
        Action::Redirect(redirect) => {
            shown["redirectAction"] = json!({ "responseCode": redirect.code.status() });
        }
        Action::DirectResponse(response) => {
            shown["directResponseAction"] = json!({ "status": response.status });
        }
    }
    shown
}
