//! The peers: Envoys with a static configuration, each with the same four routes as Keyward.

use std::path::Path;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::keys;
use crate::options::Plan;
use crate::process::{self, Server};

/// The routes of everything under test: with the filter and without it, answered by Envoy itself and
/// by an upstream.
pub(crate) const DIRECT_OPEN: &str = "/direct/open";
pub(crate) const DIRECT: &str = "/direct";
pub(crate) const OPEN: &str = "/open";
pub(crate) const SECURED: &str = "/";
/// What Envoy answers by itself, and the upstream too.
pub(crate) const BODY: &str = "ok";

/// The Envoys of one number of keys.
pub(crate) struct Peers {
    pub(crate) none: Server,
    pub(crate) native: Server,
    pub(crate) ext_authz: Server,
    pub(crate) authz: Server,
}

/// An Envoy that answers 200 to everything.
pub(crate) async fn upstream(plan: &Plan, folder: &Path) -> anyhow::Result<Server> {
    start(plan, folder, "upstream", &json!([direct("/", None)]), &[], &[]).await
}

/// Starts them all.
pub(crate) async fn all(plan: &Plan, folder: &Path, upstream: u16, count: usize) -> anyhow::Result<Peers> {
    let up = cluster("upstream", upstream, &json!({}));
    let none = start(plan, folder, "none", &routes(None), &[], std::slice::from_ref(&up)).await?;
    let native = native_filter(count);
    let up = std::slice::from_ref(&up);
    let filters = std::slice::from_ref(&native);
    let native = start(plan, folder, "native", &routes(Some(&native)), filters, up).await?;
    let authz = authz(folder, count).await?;
    let http2 = json!({
        "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            "explicit_http_config": { "http2_protocol_options": {} },
        },
    });
    let clusters = [up[0].clone(), cluster("authz", authz.port, &http2)];
    let filter = ext_authz_filter();
    let ext_authz =
        start(plan, folder, "ext-authz", &routes(Some(&filter)), std::slice::from_ref(&filter), &clusters)
            .await?;
    Ok(Peers { none, native, ext_authz, authz })
}

/// Envoy's own filter. As Keyward does it: the identity goes into a header, and the key is taken away.
pub(crate) fn native_filter(count: usize) -> Value {
    let credentials: Vec<Value> = (0..count)
        .map(|number| json!({ "key": keys::known(number), "client": keys::identity(number) }))
        .collect();
    json!({
        "name": "envoy.filters.http.api_key_auth",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.api_key_auth.v3.ApiKeyAuth",
            "credentials": credentials,
            "key_sources": [{ "header": "api-key" }],
            "forwarding": { "header": "x-user-id", "hide_credentials": true },
        },
    })
}

fn ext_authz_filter() -> Value {
    json!({
        "name": "envoy.filters.http.ext_authz",
        "typed_config": {
            "@type": "type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
            "transport_api_version": "V3",
            "grpc_service": { "envoy_grpc": { "cluster_name": "authz" }, "timeout": "5s" },
        },
    })
}

/// The server of ext_authz is this program once more, so that its CPU time can be told from ours.
async fn authz(folder: &Path, count: usize) -> anyhow::Result<Server> {
    let port = process::free_port()?;
    let program = std::env::current_exe().context("this program cannot be found")?;
    let arguments = ["ext-authz", "--port", &port.to_string(), "--keys", &count.to_string()];
    let server = Server::spawn(&program, &arguments, port, &folder.join("authz.log"))?;
    let start = std::time::Instant::now();
    while tokio::net::TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        anyhow::ensure!(start.elapsed() < process::PATIENCE, "the ext_authz server does not listen");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    Ok(server)
}

fn direct(prefix: &str, without: Option<&Value>) -> Value {
    json!({
        "match": { "prefix": prefix },
        "direct_response": { "status": 200, "body": { "inline_string": BODY } },
        "typed_per_filter_config": disabled(without),
    })
}

fn forwarded(prefix: &str, without: Option<&Value>) -> Value {
    json!({
        "match": { "prefix": prefix },
        "route": { "cluster": "upstream" },
        "typed_per_filter_config": disabled(without),
    })
}

fn disabled(filter: Option<&Value>) -> Value {
    let Some(name) = filter.and_then(|filter| filter["name"].as_str()) else { return json!({}) };
    let off = json!({ "@type": "type.googleapis.com/envoy.config.route.v3.FilterConfig", "disabled": true });
    json!({ name: off })
}

/// The four routes; a filter is off on the open ones.
pub(crate) fn routes(filter: Option<&Value>) -> Value {
    json!([
        direct(DIRECT_OPEN, filter),
        direct(DIRECT, None),
        forwarded(OPEN, filter),
        forwarded(SECURED, None),
    ])
}

/// A cluster of one host on this machine.
pub(crate) fn cluster(name: &str, port: u16, options: &Value) -> Value {
    json!({
        "name": name,
        "type": "STATIC",
        "load_assignment": {
            "cluster_name": name,
            "endpoints": [{ "lb_endpoints": [{ "endpoint": { "address": address(port) } }] }],
        },
        "typed_extension_protocol_options": options,
    })
}

fn address(port: u16) -> Value {
    json!({ "socket_address": { "address": "127.0.0.1", "port_value": port } })
}

/// Starts an Envoy with these filters in front of its router.
pub(crate) async fn start(
    plan: &Plan,
    folder: &Path,
    name: &str,
    routes: &Value,
    filters: &[Value],
    clusters: &[Value],
) -> anyhow::Result<Server> {
    let port = process::free_port()?;
    let router = json!({
        "name": "envoy.filters.http.router",
        "typed_config": { "@type": "type.googleapis.com/envoy.extensions.filters.http.router.v3.Router" },
    });
    let filters: Vec<&Value> = filters.iter().chain([&router]).collect();
    let manager = json!({
        "@type": "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
        "stat_prefix": name,
        "route_config": { "virtual_hosts": [{ "name": "all", "domains": ["*"], "routes": routes }] },
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
    let path = folder.join(format!("{name}.json"));
    std::fs::write(&path, config.to_string()).with_context(|| path.display().to_string())?;
    // At `warning` the native filter writes two lines for every key.
    let path = path.display().to_string();
    let arguments =
        ["--config-path", &path, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"];
    let server = Server::spawn(&plan.envoy, &arguments, port, &folder.join(format!("{name}.log")))?;
    process::until(&format!("http://127.0.0.1:{port}{DIRECT_OPEN}"), None, 200).await?;
    Ok(server)
}
