//! Keyward under test: the real control server with the real Envoy.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::process::{self, Server, free_port};

/// Secrets that are created at once: the store shares one sync between those that wait.
const WRITERS: usize = 64;

/// A running Keyward.
pub(crate) struct Gateway {
    control: Server,
    /// Its Envoy's process.
    pub(crate) envoy: u32,
    /// Where traffic goes.
    pub(crate) port: u16,
}

/// The key with this number: as long as a UUID.
pub(crate) fn key(number: usize) -> String {
    format!("{number:08x}-7d2a-4c58-9e41-0b3a90b5c3f8")
}

/// Starts Keyward with these keys.
pub(crate) async fn start(folder: &Path, upstream: u16, keys: &[String]) -> anyhow::Result<Gateway> {
    let (gateway, rest, xds, admin) = (free_port()?, free_port()?, free_port()?, free_port()?);
    let data = folder.join(format!("keyward-{gateway}"));
    let address = |port: u16| format!("127.0.0.1:{port}");
    let arguments = [
        "serve",
        "--data",
        &data.display().to_string(),
        "--rest",
        &address(rest),
        "--xds",
        &address(xds),
        "--gateway",
        &address(gateway),
        "--admin",
        &address(admin),
        "--snapshots",
        "127.0.0.1:0",
        "--envoy",
        &process::envoy().display().to_string(),
        "--envoy-concurrency",
        "1",
        "--log-level",
        "warn",
    ];
    let binary = process::root().join("target/debug/keyward");
    let control = Server::spawn(&binary, &arguments.map(str::to_owned), rest)?;
    process::until(&format!("http://127.0.0.1:{rest}/readyz"), None, 200).await?;
    let base = format!("http://127.0.0.1:{rest}");
    create_keys(&base, keys).await?;
    let client = reqwest::Client::new();
    for (path, object) in routing(upstream) {
        create(&client, &format!("{base}{path}"), &object).await?;
    }
    let last = keys.last().context("at least one key is needed")?;
    process::until(&format!("http://127.0.0.1:{gateway}/"), Some(last), 200).await?;
    let note: Value = serde_json::from_slice(&std::fs::read(data.join("envoy/envoy.json"))?)?;
    let envoy = note["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok()).context("no pid of Envoy")?;
    Ok(Gateway { control, envoy, port: gateway })
}

async fn create_keys(base: &str, keys: &[String]) -> anyhow::Result<()> {
    let (next, keys) = (Arc::new(AtomicUsize::new(0)), Arc::new(keys.to_vec()));
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS {
        let (next, keys) = (Arc::clone(&next), Arc::clone(&keys));
        let url = format!("{base}/api/v1/namespaces/bench/secrets");
        writers.spawn(async move {
            let client = reqwest::Client::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(key) = keys.get(number) else { return anyhow::Ok(()) };
                let secret = json!({
                    "type": "extauth.keyward.io/apikey",
                    "metadata": { "name": format!("client-{number}"), "labels": { "team": "bench" } },
                    "stringData": { "api-key": key },
                });
                create(&client, &url, &secret).await?;
            }
        });
    }
    while let Some(writer) = writers.join_next().await {
        writer.context("a writer failed")??;
    }
    Ok(())
}

async fn create(client: &reqwest::Client, url: &str, object: &Value) -> anyhow::Result<()> {
    let answer = client.post(url).json(object).send().await?;
    let status = answer.status();
    ensure!(status.is_success(), "{url} answers {status}: {}", answer.text().await?);
    Ok(())
}

fn routing(upstream: u16) -> [(&'static str, Value); 3] {
    let action = json!({ "single": { "upstream": { "name": "upstream", "namespace": "bench" } } });
    [
        (
            "/apis/service.keyward.io/v1/namespaces/bench/upstreams",
            json!({
                "metadata": { "name": "upstream" },
                "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": upstream }] } },
            }),
        ),
        (
            "/apis/enterprise.keyward.io/v1/namespaces/bench/authconfigs",
            json!({
                "metadata": { "name": "keys" },
                "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "bench" } } }] },
            }),
        ),
        (
            "/apis/gateway.keyward.io/v1/namespaces/bench/virtualservices",
            json!({
                "metadata": { "name": "all" },
                "spec": { "virtualHost": {
                    "domains": ["*"],
                    "options": { "extauth": { "configRef": { "name": "keys", "namespace": "bench" } } },
                    "routes": [
                        {
                            "matchers": [{ "prefix": "/open" }],
                            "routeAction": action,
                            "options": { "extauth": { "disable": true } },
                        },
                        { "matchers": [{ "prefix": "/" }], "routeAction": action },
                    ],
                } },
            }),
        ),
    ]
}

// === impl Gateway ===

impl Gateway {
    /// Stops the control server, which stops its Envoy.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        tokio::task::spawn_blocking(move || self.control.stop()).await?
    }
}
