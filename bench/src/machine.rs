//! The machine of a run, and how busy it was with something else.

use std::process::Command;

use serde::Serialize;

use crate::options::Plan;

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Machine {
    pub(crate) processor: String,
    pub(crate) cores: usize,
    pub(crate) memory_gib: f64,
    pub(crate) kernel: String,
    pub(crate) envoy: String,
    pub(crate) keyward: String,
    /// Load averages of the last minute, before the run: what else was going on.
    pub(crate) load_before: f64,
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// What stands behind a word at the beginning of a line.
fn after<'a>(text: &'a str, word: &str) -> &'a str {
    let line = text.lines().find(|line| line.starts_with(word)).and_then(|line| line.split_once(':'));
    line.map_or("unknown", |(_, value)| value.trim())
}

fn version(program: &std::path::Path) -> String {
    let output = Command::new(program).arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("unknown").to_owned()
}

/// `<path>  version: <commit>/<version>/<state>/<kind>/<tls>`
fn envoy_version(text: &str) -> Option<&str> {
    text.split_once("version: ")?.1.split('/').nth(1)
}

// === impl Machine ===

impl Machine {
    pub(crate) fn look(plan: &Plan) -> Self {
        let memory = read("/proc/meminfo");
        let kib =
            after(&memory, "MemTotal").split_whitespace().next().and_then(|kib| kib.parse::<f64>().ok());
        let envoy = version(&plan.envoy);
        let load = read("/proc/loadavg");
        let load = load.split_whitespace().next().and_then(|load| load.parse().ok());
        let release = plan.keyward.components().any(|part| part.as_os_str() == "release");
        Self {
            processor: after(&read("/proc/cpuinfo"), "model name").to_owned(),
            cores: std::thread::available_parallelism().map_or(0, usize::from),
            memory_gib: kib.unwrap_or(f64::NAN) / 1024.0 / 1024.0,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
            envoy: envoy_version(&envoy).unwrap_or(&envoy).to_owned(),
            keyward: format!(
                "{}{}",
                version(&plan.keyward),
                if release { "" } else { " (not a release build)" }
            ),
            load_before: load.unwrap_or(f64::NAN),
        }
    }
}
