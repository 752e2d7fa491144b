//! The peers: Envoys with a static configuration.

use std::path::Path;

use serde_json::{Value, json};

use crate::process::{self, Server};

/// An Envoy that answers 200 to everything.
pub(crate) async fn upstream(folder: &Path) -> anyhow::Result<Server> {
    let route = json!({ "match": { "prefix": "/" }, "direct_response": { "status": 200, "body": { "inline_string": "ok" } } });
    start(folder, "upstream", &route, &[], &json!([])).await
}

/// An Envoy that passes on.
pub(crate) async fn plain(folder: &Path, upstream: u16) -> anyhow::Result<Server> {
    start(folder, "plain", &pass_on(), &[], &clusters(upstream)).await
}

/// An Envoy that passes on what its own API-key filter lets through, as Keyward does: with the
/// identity in a header and without the key.
pub(crate) async fn native(folder: &Path, upstream: u16, keys: &[String]) -> anyhow::Result<Server> {
    let credentials: Vec<Value> = keys
        .iter()
        .enumerate()
        .map(|(index, key)| json!({ "key": key, "client": format!("client-{index}") }))
        .collect();
    let filter = json!({
        "name": "envoy.filters.http.api_key_auth",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.api_key_auth.v3.ApiKeyAuth",
            "credentials": credentials,
            "key_sources": [{ "header": "api-key" }],
            "forwarding": { "header": "x-user-id", "hide_credentials": true },
        },
    });
    start(folder, "native", &pass_on(), &[filter], &clusters(upstream)).await
}

fn pass_on() -> Value {
    json!({ "match": { "prefix": "/" }, "route": { "cluster": "upstream" } })
}

fn clusters(upstream: u16) -> Value {
    json!([{
        "name": "upstream",
        "type": "STATIC",
        "load_assignment": {
            "cluster_name": "upstream",
            "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": address(upstream) } }] }],
        },
    }])
}

fn address(port: u16) -> Value {
    json!({ "socket_address": { "address": "127.0.0.1", "port_value": port } })
}

async fn start(
    folder: &Path,
    name: &str,
    route: &Value,
    filters: &[Value],
    clusters: &Value,
) -> anyhow::Result<Server> {
    let port = process::free_port()?;
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
    });
    let filters: Vec<Value> = filters.iter().cloned().chain([router]).collect();
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "route_config": { "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": [route] }] },
        "http_filters": filters,
    });
    let config = json!({
        "static_resources": {
            "listeners": [{
                "name": name,
                "address": address(port),
                "filter_chains": [{ "filters": [{
                    "name": "envoy.filters.network.http_connection_manager",
                    "typed_config": manager,
                }] }],
            }],
            "clusters": clusters,
        },
    });
    let path = folder.join(format!("{name}-{port}.json"));
    std::fs::write(&path, config.to_string())?;
    let arguments =
        ["--config-path", &path.display().to_string(), "--concurrency", "1", "--disable-hot-restart"];
    let server = Server::spawn(&process::envoy(), &arguments.map(str::to_owned), port)?;
    let first = filters.len() > 1;
    process::until(&format!("http://127.0.0.1:{port}/"), None, if first { 401 } else { 200 }).await?;
    Ok(server)
}
