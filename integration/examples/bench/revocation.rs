//! Measures how long a revocation takes: from the API call to the first 401, and until every worker
//! has confirmed it.
//!
//! The one and the same key is deleted and made again. While it is deleted, requests with it go out
//! one after the other over one connection, so the first 401 is as late as that worker is.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::json;

use crate::gateway::{self, Gateway};

/// The Secret that comes and goes.
const NAME: &str = "guest";
const KEY: &str = "guest-7d2a-4c58-9e41-0b3a90b5c3f8";
/// What goes wrong takes no longer.
const WAIT: &str = "30s";

/// What was measured, in milliseconds.
#[derive(Debug, Default)]
struct Times {
    first_401: Vec<f64>,
    confirmed: Vec<f64>,
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1_000.0
}

/// A quantile of sorted values.
fn quantile(sorted: &[f64], part: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let at = (last as f64 * part).round() as usize;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// Measures so many revocations with nothing else going on, and as many under load.
pub(crate) async fn measure(gateway: &Gateway, keys: usize, count: usize) -> anyhow::Result<()> {
    let client = reqwest::Client::new();
    let idle = run(gateway, &client, count).await?;
    report(keys, "idle", idle);
    let asked = gateway::key(keys / 2);
    let url = format!("http://127.0.0.1:{}/", gateway.port);
    let mut load = Command::new("wrk");
    let load = load.args(["-t", "1", "-c", "8", "-d", "600s", "-H", &format!("api-key: {asked}"), &url]);
    let mut load = load.stdout(std::process::Stdio::null()).spawn().context("wrk could not be started")?;
    let busy = run(gateway, &client, count).await;
    load.kill()?;
    load.wait()?;
    report(keys, "under load", busy?);
    Ok(())
}

async fn run(gateway: &Gateway, client: &reqwest::Client, count: usize) -> anyhow::Result<Times> {
    let secrets = format!("http://127.0.0.1:{}/api/v1/namespaces/bench/secrets", gateway.rest);
    let secret = json!({
        "type": "extauth.keyward.io/apikey",
        "metadata": { "name": NAME, "labels": { "team": "bench" } },
        "stringData": { "api-key": KEY },
    });
    let mut times = Times::default();
    // The first ones warm up and are not counted.
    for round in 0..count + 3 {
        let made = client.post(format!("{secrets}?wait={WAIT}")).json(&secret).send().await?;
        confirmed(&made)?;
        let begun = Arc::new(AtomicBool::new(false));
        let watching = tokio::spawn(first_401(gateway.port, client.clone(), Arc::clone(&begun)));
        while !begun.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
        let start = Instant::now();
        let gone = client.delete(format!("{secrets}/{NAME}?wait={WAIT}")).send().await?;
        let all = start.elapsed();
        confirmed(&gone)?;
        let first = watching.await??.saturating_duration_since(start);
        if round >= 3 {
            times.first_401.push(milliseconds(first));
            times.confirmed.push(milliseconds(all));
        }
    }
    Ok(times)
}

fn confirmed(answer: &reqwest::Response) -> anyhow::Result<()> {
    let synced = answer.headers().get("keyward-synced").map(reqwest::header::HeaderValue::as_bytes);
    ensure!(answer.status().is_success() && synced == Some(b"true"), "not confirmed: {answer:?}");
    Ok(())
}

/// Asks with the key until it is refused; when that was. It says when it has begun.
async fn first_401(port: u16, client: reqwest::Client, begun: Arc<AtomicBool>) -> anyhow::Result<Instant> {
    let url = format!("http://127.0.0.1:{port}/");
    loop {
        let status = client.get(&url).header("api-key", KEY).send().await?.status().as_u16();
        match status {
            200 => begun.store(true, Ordering::Release),
            401 => return Ok(Instant::now()),
            other => anyhow::bail!("a request with the key was answered with {other}"),
        }
    }
}

#[expect(clippy::print_stdout, reason = "the result of the program")]
fn report(keys: usize, when: &str, times: Times) {
    println!("\n{keys} keys, {} revocations, {when} (milliseconds)", times.confirmed.len());
    println!("{:<34} {:>8} {:>8} {:>8}", "", "p50", "p99", "max");
    for (what, mut values) in [
        ("API call to the first 401", times.first_401),
        ("API call to the last confirmation", times.confirmed),
    ] {
        values.sort_by(f64::total_cmp);
        let of = |part| quantile(&values, part);
        println!("{what:<34} {:>8.2} {:>8.2} {:>8.2}", of(0.5), of(0.99), of(1.0));
    }
}
