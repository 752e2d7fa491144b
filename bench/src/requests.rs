//! What a request costs, through each peer, in each case.

use std::path::Path;
use std::time::Duration;

use crate::gateway::Gateway;
use crate::load::{Key, Load};
use crate::options::Plan;
use crate::peers::{DIRECT, DIRECT_OPEN, OPEN, Peers, SECURED};
use crate::process;
use crate::progress::Progress;
use crate::results::{Noise, Request};
use crate::stats::{ascending, median, quantile};

/// As many as keep one worker busy.
pub(crate) const CONNECTIONS: usize = 4;
const WARM_UP: Duration = Duration::from_millis(200);

pub(crate) const NONE: &str = "no filter";
pub(crate) const NATIVE: &str = "api_key_auth";
pub(crate) const EXT_AUTHZ: &str = "ext_authz";
pub(crate) const KEYWARD: &str = "keyward";
pub(crate) const ALLOWED: &str = "allowed";
const DENIED: &str = "denied";
const FLOOD: &str = "flood";
pub(crate) const OPEN_ROUTE: &str = "open route";
pub(crate) const BY_ENVOY: &str = "direct";
pub(crate) const BY_UPSTREAM: &str = "upstream";

/// One cell: a peer in a case.
struct Cell {
    peer: &'static str,
    case: &'static str,
    answer: &'static str,
    /// The process whose CPU time counts, and one that it has to ask.
    pid: u32,
    beside: Option<u32>,
    load: Load,
    samples: Vec<Sample>,
}

/// What one round has shown of it.
#[derive(Debug, Clone, Copy)]
struct Sample {
    cpu_us: f64,
    beside_us: f64,
    requests_per_second: f64,
    p50_us: f64,
    p99_us: f64,
    p999_us: f64,
    mib: f64,
}

/// Measures all cells in turn, round by round.
pub(crate) async fn measure(
    plan: &Plan,
    folder: &Path,
    gateway: &Gateway,
    upstream: u16,
    keys: usize,
) -> anyhow::Result<(Vec<Request>, Noise)> {
    let peers = crate::peers::all(plan, folder, upstream, keys).await?;
    let mut cells = cells(&peers, gateway, keys)?;
    let progress = Progress::new(&format!("{keys} keys: cells"), cells.len() * (plan.rounds + 1));
    // The first round warms up and does not count.
    for round in 0..=plan.rounds {
        for cell in &mut cells {
            let sample = cell.sample(if round == 0 { WARM_UP.min(plan.time) } else { plan.time }).await?;
            if round > 0 {
                cell.samples.push(sample);
            }
            progress.one();
        }
    }
    Ok((cells.iter().map(|cell| cell.row(keys, &cells)).collect(), noise(keys, &cells)))
}

fn cells(peers: &Peers, gateway: &Gateway, keys: usize) -> anyhow::Result<Vec<Cell>> {
    let mut cells = Vec::new();
    let known = Key::Known(keys);
    let mut add = |peer, case, answer, (pid, port, beside), path, key, status| {
        let load = Load { port, path, key, status, connections: CONNECTIONS, pause: Duration::ZERO };
        cells.push(Cell { peer, case, answer, pid, beside, load, samples: Vec::new() });
    };
    let of = |server: &process::Server| (server.id(), server.port, None);
    let none = of(&peers.none);
    let authz = (peers.ext_authz.id(), peers.ext_authz.port, Some(peers.authz.id()));
    let keyward = (gateway.envoy()?, gateway.port, None);
    let secured = [(NATIVE, of(&peers.native)), (EXT_AUTHZ, authz), (KEYWARD, keyward)];
    add(NONE, OPEN_ROUTE, BY_ENVOY, none, DIRECT, known, 200);
    for (peer, process) in secured {
        add(peer, OPEN_ROUTE, BY_ENVOY, process, DIRECT_OPEN, known, 200);
        add(peer, ALLOWED, BY_ENVOY, process, DIRECT, known, 200);
        add(peer, DENIED, BY_ENVOY, process, DIRECT, Key::Unknown, 401);
        add(peer, FLOOD, BY_ENVOY, process, DIRECT, Key::Flood, 401);
    }
    add(NONE, OPEN_ROUTE, BY_UPSTREAM, none, SECURED, known, 200);
    for (peer, process) in secured {
        add(peer, OPEN_ROUTE, BY_UPSTREAM, process, OPEN, known, 200);
        add(peer, ALLOWED, BY_UPSTREAM, process, SECURED, known, 200);
    }
    Ok(cells)
}

fn noise(keys: usize, cells: &[Cell]) -> Noise {
    let Some(cell) = cells.first() else { return Noise { keys, percent: f64::NAN } };
    let sorted = ascending(cell.samples.iter().map(|sample| sample.cpu_us));
    let spread = quantile(&sorted, 1.0) - quantile(&sorted, 0.0);
    Noise { keys, percent: spread / quantile(&sorted, 0.5) * 100.0 }
}

// === impl Cell ===

impl Cell {
    async fn sample(&self, time: Duration) -> anyhow::Result<Sample> {
        let cpu = || -> anyhow::Result<(Duration, Duration)> {
            let beside = self.beside.map(process::cpu).transpose()?.unwrap_or_default();
            Ok((process::cpu(self.pid)?, beside))
        };
        let before = cpu()?;
        let answers = self.load.run(time).await?;
        let after = cpu()?;
        let count = answers.len() as f64;
        let took = ascending(answers.iter().map(|answer| answer.took.as_secs_f64() * 1e6));
        let each =
            |before: Duration, after: Duration| (after.saturating_sub(before)).as_secs_f64() * 1e6 / count;
        Ok(Sample {
            cpu_us: each(before.0, after.0),
            beside_us: each(before.1, after.1),
            requests_per_second: count / time.as_secs_f64(),
            p50_us: quantile(&took, 0.5),
            p99_us: quantile(&took, 0.99),
            p999_us: quantile(&took, 0.999),
            mib: process::resident(self.pid)?,
        })
    }

    fn row(&self, keys: usize, cells: &[Self]) -> Request {
        let of = |value: fn(&Sample) -> f64| median(self.samples.iter().map(value));
        let sorted = ascending(self.samples.iter().map(|sample| sample.cpu_us));
        let native = cells.iter().find(|cell| cell.peer == NATIVE && cell.is_like(self));
        let none = cells.iter().find(|cell| cell.peer == NONE && cell.answer == self.answer);
        Request {
            keys,
            peer: self.peer,
            case: self.case,
            answer: self.answer,
            cpu_us: of(|sample| sample.cpu_us),
            cpu_min_us: quantile(&sorted, 0.0),
            cpu_max_us: quantile(&sorted, 1.0),
            beside_us: of(|sample| sample.beside_us),
            to_none: none.map_or(f64::NAN, |none| self.over(none)),
            to_native: native.filter(|_| self.peer != NONE).map(|native| self.over(native)),
            requests_per_second: of(|sample| sample.requests_per_second),
            p50_us: of(|sample| sample.p50_us),
            p99_us: of(|sample| sample.p99_us),
            p999_us: of(|sample| sample.p999_us),
            envoy_mib: of(|sample| sample.mib),
        }
    }

    fn is_like(&self, other: &Self) -> bool {
        self.case == other.case && self.answer == other.answer
    }

    /// The ratio in the middle of those of the rounds: what disturbs a round disturbs both.
    fn over(&self, base: &Self) -> f64 {
        let pairs = self.samples.iter().zip(&base.samples);
        median(pairs.map(|(own, base)| (own.cpu_us + own.beside_us) / (base.cpu_us + base.beside_us)))
    }
}
