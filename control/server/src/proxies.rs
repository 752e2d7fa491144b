//! Writes what each proxy is told to do as an object of kind `Proxy`, for people to read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use keyward_api::{Preconditions, Target, WriteOptions, Writer};
use keyward_resource::kinds::route::PathMatcher;
use keyward_resource::{ApiStatus, kind};
use keyward_translate::proxy::{Action, Auth, Listener, Proxy, Route, VirtualHost};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::published::Published;

/// Changes within this time are written together: nothing but eyes waits for these objects.
const SETTLE: Duration = Duration::from_secs(1);
/// The field manager.
const MANAGER: &str = "keyward";

/// What each proxy is told, by node role.
pub(crate) type Proxies = BTreeMap<String, Proxy>;

/// Follows what is published until cancelled.
pub(crate) async fn follow(
    writer: Writer,
    mut published: watch::Receiver<Arc<Published>>,
    cancelled: CancellationToken,
) -> anyhow::Result<()> {
    let mut written: BTreeMap<String, Value> = BTreeMap::new();
    loop {
        tokio::select! {
            () = cancelled.cancelled() => return Ok(()),
            changed = published.changed() => if changed.is_err() { return Ok(()) },
        }
        tokio::select! {
            () = cancelled.cancelled() => return Ok(()),
            () = sleep(SETTLE) => {}
        }
        let proxies = Arc::clone(&published.borrow_and_update().told);
        let gone: BTreeSet<String> =
            written.keys().filter(|role| !proxies.contains_key(*role)).cloned().collect();
        for role in gone {
            report(&role, delete(&writer, &role).await);
            written.remove(&role);
        }
        for (role, proxy) in &*proxies {
            let Some(object) = object(role, proxy) else { continue };
            if written.get(role) != Some(&object) {
                report(role, apply(&writer, &object).await);
                written.insert(role.clone(), object);
            }
        }
    }
}

async fn apply(writer: &Writer, object: &Value) -> Result<(), ApiStatus> {
    let target = Target::of_object(object, "")?;
    writer.apply(&target, object.clone(), true, &WriteOptions::internal(MANAGER)).await.map(drop)
}

async fn delete(writer: &Writer, role: &str) -> Result<(), ApiStatus> {
    let Some((namespace, name)) = role.split_once('~') else { return Ok(()) };
    let target = Target::of_object(&skeleton(namespace, name), namespace)?;
    writer.delete(&target, &Preconditions::default(), &WriteOptions::internal(MANAGER)).await.map(drop)
}

fn report(role: &str, outcome: Result<(), ApiStatus>) {
    if let Err(status) = outcome {
        tracing::warn!(%role, "the Proxy object could not be written: {}", status.message);
    }
}

fn skeleton(namespace: &str, name: &str) -> Value {
    let kind = kind::by_name("Proxy").map(keyward_resource::Kind::api_version);
    json!({ "apiVersion": kind, "kind": "Proxy", "metadata": { "namespace": namespace, "name": name } })
}

/// The object that shows a proxy.
pub(crate) fn object(role: &str, proxy: &Proxy) -> Option<Value> {
    let (namespace, name) = role.split_once('~')?;
    let mut object = skeleton(namespace, name);
    object["spec"] = json!({ "listeners": proxy.listeners.iter().map(listener).collect::<Vec<_>>() });
    Some(object)
}

fn listener(listener: &Listener) -> Value {
    let hosts: Vec<Value> = listener.virtual_hosts().map(|host| virtual_host(host)).collect();
    json!({
        "name": listener.name,
        "bindAddress": listener.address.ip().to_string(),
        "bindPort": listener.address.port(),
        "httpListener": { "virtualHosts": hosts },
    })
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
