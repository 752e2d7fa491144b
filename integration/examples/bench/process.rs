//! Processes of the benchmark: gone when it is.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

/// How long anything may take to answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A process that listens on a port.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The Envoy that `./x` gets.
pub(crate) fn envoy() -> PathBuf {
    root().join(".tools/bin/envoy")
}

/// A port that is free now.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

/// Waits until a URL answers with this status.
pub(crate) async fn until(url: &str, key: Option<&str>, status: u16) -> anyhow::Result<()> {
    let client = reqwest::Client::new();
    let start = Instant::now();
    loop {
        let mut request = client.get(url);
        if let Some(key) = key {
            request = request.header("api-key", key);
        }
        let answer = request.send().await.map(|response| response.status().as_u16());
        if answer.as_ref().is_ok_and(|answer| *answer == status) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            bail!("{url} does not answer with {status}, but with {answer:?}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

// === impl Server ===

impl Server {
    /// Starts a program that will listen on `port`.
    pub(crate) fn spawn(program: &Path, arguments: &[String], port: u16) -> anyhow::Result<Self> {
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} could not be started: run ./x first", program.display()))?;
        Ok(Self { child, port })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end and waits.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.context("no pid")?, rustix::process::Signal::TERM)?;
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            if start.elapsed() > PATIENCE {
                bail!("a process does not end");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Asked first: a control server that is killed leaves its Envoy running.
        if self.stop().is_err() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
