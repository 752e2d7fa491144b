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

/// So many answers during loads are wanted in a full run: a single stall is then far from being the thousandth.
const ENOUGH: usize = 20_000;
/// More loads than this are not made for it.
const MOST_LOADS: usize = 12;

/// One load. Times of answers are in microseconds.
struct Sample {
    load_ms: f64,
    idle: Vec<f64>,
    loading: Vec<f64>,
    envoy_mib: f64,
    control_mib: f64,
}

/// Measures as many loads as there are rounds, and in a full run more, until there are enough answers.
pub(crate) async fn measure(plan: &Plan, gateway: &Gateway, keys: usize) -> anyhow::Result<Load> {
    say(&format!("{keys} keys: full loads under traffic: {} or more", plan.rounds));
    let mut samples: Vec<Sample> = Vec::new();
    let is_enough = |samples: &[Sample]| {
        let answers: usize = samples.iter().map(|sample| sample.loading.len()).sum();
        plan.quick || answers >= ENOUGH || samples.len() >= MOST_LOADS
    };
    while samples.len() < plan.rounds || !is_enough(&samples) {
        samples.push(sample(gateway, keys, IDLE.min(plan.time * 2)).await?);
    }
    let of = |value: &dyn Fn(&Sample) -> f64| median(samples.iter().map(value));
    let all = |times: &dyn Fn(&Sample) -> &[f64]| ascending(samples.iter().flat_map(times).copied());
    let (idle, loading) = (all(&|sample| &sample.idle), all(&|sample| &sample.loading));
    let (idle_p999_us, loading_p999_us) = (quantile(&idle, 0.999), quantile(&loading, 0.999));
    Ok(Load {
        keys,
        loads: samples.len(),
        answers: loading.len(),
        load_ms: of(&|sample| sample.load_ms),
        idle_p50_us: quantile(&idle, 0.5),
        idle_p999_us,
        loading_p50_us: quantile(&loading, 0.5),
        loading_p999_us,
        loading_max_us: quantile(&loading, 1.0),
        ratio: loading_p999_us / idle_p999_us,
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
