//! How long a revocation takes: from the API call to the first 401, and until every worker of every
//! Envoy has confirmed it; and the bytes that it takes on the wire.
//!
//! The one and the same key is deleted and made again. While it is deleted, requests with it go out
//! one after the other over one connection, so the first 401 is as late as that worker is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::fleet::{self, Fleet};
use crate::gateway::{Gateway, SECRETS, WAIT};
use crate::load::Load;
use crate::options::Plan;
use crate::peers::DIRECT;
use crate::progress::Progress;
use crate::results::Revocations;
use crate::stats::{Spread, milliseconds};

/// The Secret that comes and goes.
const NAME: &str = "guest";
const KEY: &str = "guest-7d2a-4c58-9e41-0b3a90b5c3f8";
/// The first ones warm up and do not count.
const WARM_UP: usize = 3;
/// Load while it is measured: about half of what a worker can.
const CONNECTIONS: usize = 8;

/// Measures so many revocations with nothing else going on, and as many under load, with each number
/// of Envoys.
pub(crate) async fn measure(
    plan: &Plan,
    folder: &Path,
    gateway: &Gateway,
    keys: usize,
) -> anyhow::Result<Vec<Revocations>> {
    let mut rows = Vec::new();
    for envoys in &plan.envoys {
        let fleet = fleet::start(plan, folder, gateway, *envoys).await?;
        for under_load in [false, true] {
            let what = if under_load { "under load" } else { "idle" };
            let progress = Progress::new(
                &format!("{keys} keys, {envoys} Envoys, {what}: revocations"),
                plan.revocations,
            );
            let load = Load::beside(gateway.port, keys, CONNECTIONS);
            let load = under_load.then(|| load.start()).transpose()?;
            let row = run(plan, gateway, &fleet, &progress).await?;
            if let Some(load) = load {
                load.stop().await?;
            }
            rows.push(Revocations { keys, envoys: *envoys, under_load, ..row });
        }
    }
    Ok(rows)
}

async fn run(
    plan: &Plan,
    gateway: &Gateway,
    fleet: &Fleet,
    progress: &Progress,
) -> anyhow::Result<Revocations> {
    let secret = json!({
        "type": "extauth.keyward.io/apikey",
        "metadata": { "name": NAME, "labels": { "team": "bench" } },
        "stringData": { "api-key": KEY },
    });
    let (mut first_401, mut confirmed) = (Vec::new(), Vec::new());
    fleet.quiet(gateway).await?;
    let mut before = fleet.wire(gateway).await?;
    for round in 0..plan.revocations + WARM_UP {
        if round == WARM_UP {
            before = fleet.wire(gateway).await?;
        }
        let url = gateway.url(&format!("{SECRETS}?{WAIT}"));
        gateway.confirmed(gateway.client.post(url).json(&secret)).await?;
        let begun = Arc::new(AtomicBool::new(false));
        let watching = tokio::spawn(watch(gateway.port, gateway.client.clone(), Arc::clone(&begun)));
        while !begun.load(Ordering::Acquire) && !watching.is_finished() {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        let start = Instant::now();
        let url = gateway.url(&format!("{SECRETS}/{NAME}?{WAIT}"));
        gateway.confirmed(gateway.client.delete(url)).await?;
        let all = start.elapsed();
        let first = watching.await??.saturating_duration_since(start);
        if round >= WARM_UP {
            first_401.push(milliseconds(first));
            confirmed.push(milliseconds(all));
            progress.one();
        }
    }
    let after = fleet.wire(gateway).await?;
    // Each round has made the key and deleted it.
    let changes = (2 * plan.revocations) as f64;
    Ok(Revocations {
        keys: 0,
        envoys: 0,
        under_load: false,
        count: plan.revocations,
        first_401_ms: Spread::of(first_401),
        confirmed_ms: Spread::of(confirmed),
        received_bytes: (after.received - before.received) as f64 / changes,
        sent_bytes: (after.sent - before.sent) as f64 / changes,
    })
}

/// Asks with the key until it is refused; when that was. It says when it has begun.
async fn watch(port: u16, client: reqwest::Client, begun: Arc<AtomicBool>) -> anyhow::Result<Instant> {
    let url = format!("http://127.0.0.1:{port}{DIRECT}");
    loop {
        let status = client.get(&url).header("api-key", KEY).send().await?.status().as_u16();
        match status {
            200 => begun.store(true, Ordering::Release),
            401 => return Ok(Instant::now()),
            other => anyhow::bail!("a request with the key was answered with {other}"),
        }
    }
}
