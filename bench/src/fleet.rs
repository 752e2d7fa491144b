//! More Envoys of the same control server, each with a port and a role of its own.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::ensure;
use keyward_bootstrap::{BootstrapOptions, Endpoint, bootstrap};
use serde_json::json;

use crate::gateway::{GATEWAYS, Gateway};
use crate::keys;
use crate::options::Plan;
use crate::peers::DIRECT;
use crate::process::{self, Server};

/// What they have received from the control server and sent to it, in bytes, all told.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wire {
    pub(crate) received: u64,
    pub(crate) sent: u64,
}

/// So long almost nothing must come, pings of HTTP/2 aside.
const QUIET: Duration = Duration::from_millis(500);
const QUIET_BYTES: u64 = 512;
const QUIET_TRIES: usize = 120;

/// The Envoys of a gateway, the first of them its own.
pub(crate) struct Fleet {
    more: Vec<(Server, u16)>,
    first: u16,
}

/// Starts as many Envoys as are missing to `count`.
pub(crate) async fn start(
    plan: &Plan,
    folder: &Path,
    gateway: &Gateway,
    count: usize,
) -> anyhow::Result<Fleet> {
    let mut fleet = Fleet { more: Vec::new(), first: gateway.admin };
    for number in 1..count {
        let (port, admin) = (process::free_port()?, process::free_port()?);
        let name = format!("more-{number}");
        let object = json!({
            "metadata": { "name": format!("{name}-{port}") },
            "spec": { "bindAddress": "127.0.0.1", "bindPort": port, "httpGateway": {}, "proxyNames": [&name] },
        });
        gateway.create(GATEWAYS, &object).await?;
        let options = BootstrapOptions {
            node_id: name.clone(),
            role: format!("keyward-system~{name}"),
            control: Endpoint { host: "127.0.0.1".to_owned(), port: gateway.xds },
            admin: SocketAddr::from(([127, 0, 0, 1], admin)).into(),
            certificates: None,
        };
        let path = folder.join(format!("{name}.json"));
        std::fs::write(&path, bootstrap(&options).to_string())?;
        let path = path.display().to_string();
        let arguments =
            ["--config-path", &path, "--concurrency", "1", "--disable-hot-restart", "--log-level", "error"];
        let log = folder.join(format!("{name}.log"));
        fleet.more.push((Server::spawn(&plan.envoy, &arguments, port, &log)?, admin));
    }
    for (server, _) in &fleet.more {
        let url = format!("http://127.0.0.1:{}{DIRECT}", server.port);
        process::until(&url, Some(&keys::known(0)), 200).await?;
    }
    gateway.synced().await?;
    Ok(fleet)
}

// === impl Fleet ===

impl Fleet {
    /// Waits until nothing is on its way any more of what was before: a policy that goes late, say.
    pub(crate) async fn quiet(&self, gateway: &Gateway) -> anyhow::Result<()> {
        let mut before = self.wire(gateway).await?;
        for _ in 0..QUIET_TRIES {
            tokio::time::sleep(QUIET).await;
            let now = self.wire(gateway).await?;
            if now.received - before.received < QUIET_BYTES {
                return Ok(());
            }
            before = now;
        }
        anyhow::bail!("the control server does not stop to send")
    }

    /// Bytes so far, headers of HTTP/2 included.
    pub(crate) async fn wire(&self, gateway: &Gateway) -> anyhow::Result<Wire> {
        let mut wire = Wire { received: 0, sent: 0 };
        for admin in self.more.iter().map(|(_, admin)| *admin).chain([self.first]) {
            let filter = "%5Ecluster.keyward-control.upstream_cx_.x_bytes_total";
            let url = format!("http://127.0.0.1:{admin}/stats?filter={filter}");
            let text = gateway.client.get(url).send().await?.text().await?;
            let of = |name: &str| {
                let value =
                    text.lines().find_map(|line| line.split_once(": ").filter(|(at, _)| at.ends_with(name)));
                value.and_then(|(_, value)| value.parse::<u64>().ok())
            };
            let (received, sent) = (of("rx_bytes_total"), of("tx_bytes_total"));
            ensure!(received.is_some() && sent.is_some(), "an Envoy does not tell its bytes: {text}");
            wire.received += received.unwrap_or_default();
            wire.sent += sent.unwrap_or_default();
        }
        Ok(wire)
    }
}
