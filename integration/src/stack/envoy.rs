//! An Envoy as its operator sees it: its admin port.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::http1::Connection;
use super::process::Process;
use crate::headers::Headers;
use crate::paths;

/// The admin port of an Envoy.
#[derive(Debug, Clone, Copy)]
pub struct Proxy {
    admin: SocketAddr,
}

// === impl Proxy ===

impl Proxy {
    /// The Envoy whose admin port this is.
    #[must_use]
    pub fn new(admin: SocketAddr) -> Self {
        Self { admin }
    }

    /// Starts an Envoy that nobody supervises.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(bootstrap: &Path, folder: &Path, concurrency: u16) -> anyhow::Result<Process> {
        let mut command = Command::new(paths::envoy()?);
        command.arg("--config-path").arg(bootstrap).args(["--concurrency", &concurrency.to_string()]).args([
            "--log-level",
            "warning",
            "--disable-hot-restart",
        ]);
        Process::start(&mut command, &folder.join("envoy.log"))
    }

    /// What a path of the admin port answers.
    ///
    /// # Errors
    ///
    /// When it is not 200.
    pub fn get(&self, path: &str) -> anyhow::Result<String> {
        let headers = Headers::new().with("host", "localhost").with("connection", "close");
        let response = Connection::open(self.admin)?.request("GET", path, &headers)?;
        ensure!(response.status == 200, "{path}: {}", response.status);
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }

    /// All counters and gauges.
    ///
    /// # Errors
    ///
    /// When the admin port does not answer.
    pub fn stats(&self) -> anyhow::Result<BTreeMap<String, u64>> {
        let text = self.get("/stats")?;
        let pairs = text.lines().filter_map(|line| line.split_once(": "));
        Ok(pairs.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect())
    }

    /// One counter or gauge, zero until it is used.
    ///
    /// # Errors
    ///
    /// When the admin port does not answer.
    pub fn stat(&self, name: &str) -> anyhow::Result<u64> {
        Ok(self.stats()?.get(name).copied().unwrap_or(0))
    }

    /// Whether it serves.
    ///
    /// # Errors
    ///
    /// When it does not.
    pub fn ready(&self) -> anyhow::Result<()> {
        self.get("/ready").map(|_| ()).context("envoy is not ready")
    }
}
