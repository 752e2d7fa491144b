//! Load by `wrk`, and the CPU time of the process that takes it.

use std::process::Command;

use anyhow::{Context as _, ensure};

/// Clock ticks a second, as in `/proc/<pid>/stat`: fixed at 100 on Linux.
const TICKS: f64 = 100.0;
const CONNECTIONS: u32 = 4;

/// One measurement.
pub(crate) struct Sample {
    requests: f64,
    cpu_seconds: f64,
    pub(crate) requests_per_second: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) rss_mb: f64,
}

/// Puts load on a URL for some seconds.
pub(crate) fn run(pid: u32, url: &str, key: Option<&str>, seconds: u32) -> anyhow::Result<Sample> {
    let mut wrk = Command::new("wrk");
    wrk.args(["-t1", "--latency", &format!("-c{CONNECTIONS}"), &format!("-d{seconds}s")]);
    if let Some(key) = key {
        wrk.arg("-H").arg(format!("api-key: {key}"));
    }
    let before = cpu_seconds(pid)?;
    let output =
        wrk.arg(url).output().context("wrk could not be run: install it (Debian: apt-get install wrk)")?;
    let cpu_seconds = cpu_seconds(pid)? - before;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "wrk failed: {text}");
    let line = |word: &str| {
        text.lines().map(str::trim).find(|line| line.contains(word)).unwrap_or_default().trim().to_owned()
    };
    let number = |text: &str| text.parse::<f64>().ok();
    let requests =
        line("requests in").split_whitespace().next().and_then(number).context("no count from wrk")?;
    let requests_per_second =
        line("Requests/sec:").split_whitespace().last().and_then(number).context("no rate from wrk")?;
    let percentile = |word: &str| text.lines().map(str::trim).find_map(|line| line.strip_prefix(word));
    let latency = |word: &str| percentile(word).map(str::trim).map(micros).context("no latency from wrk");
    Ok(Sample {
        requests,
        cpu_seconds,
        requests_per_second,
        p50_us: latency("50%")??,
        p99_us: latency("99%")??,
        rss_mb: rss_mb(pid)?,
    })
}

/// wrk writes `85.00us`, `1.20ms` or `1.00s`.
fn micros(text: &str) -> anyhow::Result<f64> {
    let (number, scale) = if let Some(number) = text.strip_suffix("us") {
        (number, 1.0)
    } else if let Some(number) = text.strip_suffix("ms") {
        (number, 1e3)
    } else {
        (text.trim_end_matches('s'), 1e6)
    };
    Ok(number.parse::<f64>().with_context(|| format!("{text} is no latency"))? * scale)
}

fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let stat =
        std::fs::read_to_string(format!("/proc/{pid}/stat")).context("the process under test is gone")?;
    let fields: Vec<&str> = stat.rsplit_once(')').context("an odd stat file")?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index).and_then(|field| field.parse::<f64>().ok());
    let (user, system) = ticks(11).zip(ticks(12)).context("an odd stat file")?;
    Ok((user + system) / TICKS)
}

fn rss_mb(pid: u32) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no VmRSS")?.parse()?;
    Ok(kib / 1024.0)
}

// === impl Sample ===

impl Sample {
    /// CPU time for each request, in microseconds.
    pub(crate) fn cpu_us(&self) -> f64 {
        self.cpu_seconds * 1e6 / self.requests
    }
}
