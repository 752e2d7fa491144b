//! What was measured: the same types are the table, the JSON and the plots.

use serde::Serialize;

use crate::machine::Machine;
use crate::stats::Spread;

/// Everything of a run. Durations are in the unit that their name ends with.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    pub(crate) settings: Settings,
    pub(crate) requests: Vec<Request>,
    pub(crate) noise: Vec<Noise>,
    pub(crate) loads: Vec<Load>,
    pub(crate) revocations: Vec<Revocations>,
    pub(crate) store: Vec<Store>,
    pub(crate) anatomy: Vec<Step>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Settings {
    pub(crate) rounds: usize,
    pub(crate) seconds: f64,
    pub(crate) connections: usize,
    pub(crate) envoy_workers: usize,
}

/// What a request costs: medians over the rounds, ratios within each round.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) keys: usize,
    pub(crate) peer: &'static str,
    pub(crate) case: &'static str,
    /// Who answers a request that passes.
    pub(crate) answer: &'static str,
    /// CPU time of Envoy for each request.
    pub(crate) cpu_us: f64,
    pub(crate) cpu_min_us: f64,
    pub(crate) cpu_max_us: f64,
    /// CPU time for each request in a process beside Envoy that has to be asked.
    pub(crate) beside_us: f64,
    /// All CPU time over that of no filter with the same answer.
    pub(crate) to_none: f64,
    /// All CPU time over that of Envoy's own filter in the same case; none for no filter.
    pub(crate) to_native: Option<f64>,
    pub(crate) requests_per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
    /// Resident memory of Envoy.
    pub(crate) envoy_mib: f64,
}

/// How far the CPU time of no filter, which is always the same work, was from its median.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Noise {
    pub(crate) keys: usize,
    pub(crate) percent: f64,
}

/// What paced traffic feels while every worker loads a whole new table.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Load {
    pub(crate) keys: usize,
    /// How many loads were made, and how many answers came during them.
    pub(crate) loads: usize,
    pub(crate) answers: usize,
    /// From the API call to the confirmation of the last worker.
    pub(crate) load_ms: f64,
    pub(crate) idle_p50_us: f64,
    pub(crate) idle_p999_us: f64,
    pub(crate) loading_p50_us: f64,
    pub(crate) loading_p999_us: f64,
    pub(crate) loading_max_us: f64,
    /// The p99.9 during the load over the one before it.
    pub(crate) ratio: f64,
    /// Resident memory of Envoy and of the control server, with two tables of so many keys.
    pub(crate) envoy_mib: f64,
    pub(crate) control_mib: f64,
}

/// How long revocations take, from the API call.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Revocations {
    pub(crate) keys: usize,
    pub(crate) envoys: usize,
    pub(crate) under_load: bool,
    pub(crate) count: usize,
    /// Until a request with the key got 401.
    pub(crate) first_401_ms: Spread,
    /// Until the last worker of the last Envoy had confirmed it.
    pub(crate) confirmed_ms: Spread,
    /// Bytes from the control server to all Envoys for each change, and back.
    pub(crate) received_bytes: f64,
    pub(crate) sent_bytes: f64,
}

/// The embedded store with so many Secrets.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Store {
    pub(crate) secrets: usize,
    pub(crate) file_mib: f64,
    /// From the start of the process until it has read all, and then until it has answered a list.
    pub(crate) start_ms: f64,
    pub(crate) control_mib: f64,
    /// One page of a list of all Secrets.
    pub(crate) list_500_ms: Spread,
    pub(crate) get_ms: Spread,
    /// A change of a Secret, until it is answered and so on disk.
    pub(crate) change_ms: Spread,
}

/// A part of what a request costs.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Step {
    /// In parentheses when no other step is compared with it.
    pub(crate) name: &'static str,
    pub(crate) cpu_us: f64,
    pub(crate) cpu_min_us: f64,
    /// CPU time of Envoy beyond that of the step before.
    pub(crate) added_us: f64,
}
