//! What traffic feels while a worker loads a whole table.
//!
//! Another `AuthConfig` that selects all the same Secrets by another label comes into use on a
//! domain of its own: every worker needs all keys once more, while traffic goes on by the first.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::gateway::{AUTH_CONFIGS, Gateway, VIRTUAL_SERVICES, WAIT, auth_config};
use crate::keys::NAMESPACE;
use crate::load::{Answer, Load as Traffic};
use crate::options::Plan;
use crate::peers::BODY;
use crate::process;
use crate::progress::say;
use crate::results::Load;
use crate::stats::{ascending, median, milliseconds, quantile};

const NAME: &str = "again";
/// Some 2,000 requests a second: what is measured is the wait behind a load, not a full machine.
const CONNECTIONS: usize = 4;
/// Traffic alone, before each load.
const IDLE: Duration = Duration::from_secs(2);

/// One load.
struct Sample {
    load_ms: f64,
    idle: Vec<f64>,
    loading: Vec<f64>,
    envoy_mib: f64,
    control_mib: f64,
}

/// Measures so many loads as there are rounds.
pub(crate) async fn measure(plan: &Plan, gateway: &Gateway, keys: usize) -> anyhow::Result<Load> {
    say(&format!("{keys} keys: full loads under traffic: {}", plan.rounds));
    let mut samples = Vec::new();
    for _ in 0..plan.rounds {
        samples.push(sample(gateway, keys, IDLE.min(plan.time * 2)).await?);
    }
    let of = |value: &dyn Fn(&Sample) -> f64| median(samples.iter().map(value));
    let idle_p999_us = of(&|sample| quantile(&sample.idle, 0.999));
    Ok(Load {
        keys,
        load_ms: of(&|sample| sample.load_ms),
        idle_p50_us: of(&|sample| quantile(&sample.idle, 0.5)),
        idle_p999_us,
        loading_p50_us: of(&|sample| quantile(&sample.loading, 0.5)),
        loading_p999_us: of(&|sample| quantile(&sample.loading, 0.999)),
        loading_max_us: of(&|sample| quantile(&sample.loading, 1.0)),
        ratio: of(&|sample| quantile(&sample.loading, 0.999) / quantile(&sample.idle, 0.999)),
        envoy_mib: of(&|sample| sample.envoy_mib),
        control_mib: of(&|sample| sample.control_mib),
    })
}

async fn sample(gateway: &Gateway, keys: usize, idle: Duration) -> anyhow::Result<Sample> {
    let traffic = Traffic::beside(gateway.port, keys, CONNECTIONS).start()?;
    tokio::time::sleep(idle).await;
    let service = json!({
        "metadata": { "name": NAME },
        "spec": { "virtualHost": {
            "domains": ["again.bench"],
            "options": { "extauth": { "configRef": { "name": NAME, "namespace": NAMESPACE } } },
            "routes": [{ "matchers": [{ "prefix": "/" }], "directResponseAction": { "status": 200, "body": BODY } }],
        } },
    });
    let begin = Instant::now();
    gateway.create(AUTH_CONFIGS, &auth_config(NAME, &json!({ "again": "yes" }))).await?;
    let url = gateway.url(&format!("{VIRTUAL_SERVICES}?{WAIT}"));
    gateway.confirmed(gateway.client.post(url).json(&service)).await?;
    let end = Instant::now();
    let memory = (process::resident(gateway.envoy()?)?, process::resident(gateway.control())?);
    let answers = traffic.stop().await?;
    for path in [VIRTUAL_SERVICES, AUTH_CONFIGS] {
        let url = gateway.url(&format!("{path}/{NAME}?{WAIT}"));
        gateway.confirmed(gateway.client.delete(url)).await?;
    }
    gateway.synced().await?;
    let within = |from: Option<Instant>, to: Instant| {
        let during = |answer: &&Answer| {
            answer.asked + answer.took >= from.unwrap_or(answer.asked) && answer.asked < to
        };
        ascending(answers.iter().filter(during).map(|answer| answer.took.as_secs_f64() * 1e6))
    };
    Ok(Sample {
        load_ms: milliseconds(end - begin),
        idle: within(None, begin),
        loading: within(Some(begin), end),
        envoy_mib: memory.0,
        control_mib: memory.1,
    })
}
