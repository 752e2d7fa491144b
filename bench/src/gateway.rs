//! Keyward under test: the real control server with the real Envoy.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::keys::{self, NAMESPACE};
use crate::options::Plan;
use crate::peers::{BODY, DIRECT, DIRECT_OPEN, OPEN, SECURED};
use crate::process::{self, Server, free_port};

const UPSTREAMS: &str = "/apis/service.keyward.io/v1/namespaces/bench/upstreams";
pub(crate) const AUTH_CONFIGS: &str = "/apis/enterprise.keyward.io/v1/namespaces/bench/authconfigs";
pub(crate) const VIRTUAL_SERVICES: &str = "/apis/gateway.keyward.io/v1/namespaces/bench/virtualservices";
pub(crate) const GATEWAYS: &str = "/apis/gateway.keyward.io/v1/namespaces/bench/gateways";
pub(crate) const SECRETS: &str = "/api/v1/namespaces/bench/secrets";
/// What goes wrong takes no longer.
pub(crate) const WAIT: &str = "wait=60s";

/// A running control server, and the Envoy that it supervises.
pub(crate) struct Gateway {
    control: Server,
    /// Its Envoy's process; none when it supervises none.
    envoy: Option<u32>,
    /// Where traffic goes.
    pub(crate) port: u16,
    /// Where its REST API is.
    pub(crate) rest: u16,
    /// Where its proxies ask.
    pub(crate) xds: u16,
    /// Where its Envoy tells how it is.
    pub(crate) admin: u16,
    pub(crate) client: reqwest::Client,
}

/// The folder of the store of a run.
pub(crate) fn data(folder: &Path) -> PathBuf {
    folder.join("keyward")
}

/// Starts Keyward on what its store holds, `count` keys, with the routes of all who are measured.
pub(crate) async fn start(
    plan: &Plan,
    folder: &Path,
    upstream: u16,
    count: usize,
) -> anyhow::Result<Gateway> {
    let mut gateway = control(plan, folder, true).await?;
    for (path, object) in routing(upstream) {
        gateway.create(path, &object).await?;
    }
    let url = format!("http://127.0.0.1:{}{SECURED}", gateway.port);
    process::until(&url, Some(&keys::known(count - 1)), 200).await?;
    gateway.synced().await?;
    let note: Value = serde_json::from_slice(&std::fs::read(data(folder).join("envoy/envoy.json"))?)?;
    gateway.envoy = note["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    Ok(gateway)
}

/// Starts the control server on what its store holds, and waits until it has read it.
pub(crate) async fn control(plan: &Plan, folder: &Path, with_envoy: bool) -> anyhow::Result<Gateway> {
    let ports = [free_port()?, free_port()?, free_port()?, free_port()?, free_port()?];
    let [rest, xds, port, tls, admin] = ports.map(|port| format!("127.0.0.1:{port}"));
    let (data, envoy) = (data(folder).display().to_string(), plan.envoy.display().to_string());
    let mut arguments = vec!["serve", "--data", &data, "--rest", &rest, "--xds", &xds, "--gateway", &port];
    arguments.extend(["--snapshots", "127.0.0.1:0"]);
    arguments.extend(["--gateway-tls", &tls, "--admin", &admin, "--log-level", "warn"]);
    if with_envoy {
        arguments.extend(["--envoy", &envoy, "--envoy-concurrency", "1"]);
    } else {
        arguments.push("--no-envoy");
    }
    let [rest, xds, port, _, admin] = ports;
    let control = Server::spawn(&plan.keyward, &arguments, rest, &folder.join("keyward.log"))?;
    process::until(&format!("http://127.0.0.1:{rest}/readyz"), None, 200).await?;
    Ok(Gateway { control, envoy: None, port, rest, xds, admin, client: process::client()? })
}

fn routing(upstream: u16) -> [(&'static str, Value); 3] {
    let forward = json!({ "single": { "upstream": { "name": "upstream", "namespace": NAMESPACE } } });
    let direct = json!({ "status": 200, "body": BODY });
    let open = json!({ "extauth": { "disable": true } });
    let upstream = json!({
        "metadata": { "name": "upstream" },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": upstream }] } },
    });
    let service = json!({
        "metadata": { "name": "all" },
        "spec": { "virtualHost": {
            "domains": ["*"],
            "options": { "extauth": { "configRef": { "name": "keys", "namespace": NAMESPACE } } },
            "routes": [
                { "matchers": [{ "prefix": DIRECT_OPEN }], "directResponseAction": direct, "options": open },
                { "matchers": [{ "prefix": DIRECT }], "directResponseAction": direct },
                { "matchers": [{ "prefix": OPEN }], "routeAction": forward, "options": open },
                { "matchers": [{ "prefix": SECURED }], "routeAction": forward },
            ],
        } },
    });
    [
        (UPSTREAMS, upstream),
        (AUTH_CONFIGS, auth_config("keys", &json!({ "team": "bench" }))),
        (VIRTUAL_SERVICES, service),
    ]
}

/// An `AuthConfig` for the keys with some labels.
pub(crate) fn auth_config(name: &str, labels: &Value) -> Value {
    json!({
        "metadata": { "name": name },
        "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": labels } }] },
    })
}

// === impl Gateway ===

impl Gateway {
    /// The process of the control server.
    pub(crate) fn control(&self) -> u32 {
        self.control.id()
    }

    /// The process of its Envoy.
    pub(crate) fn envoy(&self) -> anyhow::Result<u32> {
        self.envoy.context("the control server supervises no Envoy")
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.rest)
    }

    /// Creates an object, or leaves the one that an earlier start has created.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> anyhow::Result<()> {
        let answer = self.client.post(self.url(path)).json(object).send().await?;
        let status = answer.status();
        ensure!(status.is_success() || status == 409, "{path} answers {status}: {}", answer.text().await?);
        Ok(())
    }

    /// Waits until every worker holds what the store holds.
    pub(crate) async fn synced(&self) -> anyhow::Result<()> {
        let answer = self.client.get(self.url(&format!("/keyward/v1/sync?{WAIT}"))).send().await?;
        let status = answer.status();
        ensure!(status.is_success(), "the workers do not follow: {}", answer.text().await?);
        Ok(())
    }

    /// A write that returns when every worker has confirmed it.
    pub(crate) async fn confirmed(&self, request: reqwest::RequestBuilder) -> anyhow::Result<()> {
        let answer = request.send().await?;
        let synced = answer.headers().get("keyward-synced").map(|value| value.as_bytes() == b"true");
        let done = answer.status().is_success() && synced == Some(true);
        ensure!(done, "not confirmed: {} {:?}: {}", answer.status(), synced, answer.text().await?);
        Ok(())
    }

    /// Stops the control server, which stops its Envoy.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        tokio::task::spawn_blocking(move || self.control.stop()).await?
    }
}
