//! Processes of a run: gone when it is.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};

/// How long anything may take to answer: an Envoy reads a million keys of its own in some ten seconds.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);
/// How long anything may take to end.
const GOODBYE: Duration = Duration::from_secs(30);

/// A process that listens on a port.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

/// A port that is free now.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

/// A client that gives up on what hangs.
pub(crate) fn client() -> anyhow::Result<reqwest::Client> {
    Ok(reqwest::Client::builder().timeout(PATIENCE).build()?)
}

/// Waits until a URL answers with this status.
pub(crate) async fn until(url: &str, key: Option<&str>, status: u16) -> anyhow::Result<()> {
    let client = client()?;
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
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The CPU time that all threads of a process have had.
pub(crate) fn cpu(pid: u32) -> anyhow::Result<Duration> {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir(format!("/proc/{pid}/task")).context("the process under test is gone")? {
        // A thread may have ended since it was listed.
        let Ok(text) = std::fs::read_to_string(task?.path().join("schedstat")) else { continue };
        let first = text.split_whitespace().next().and_then(|word| word.parse::<u64>().ok());
        nanoseconds += first.context("an odd schedstat file")?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// The memory that a process has resident, in MiB.
pub(crate) fn resident(pid: u32) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).context("no VmRSS")?;
    let kib: f64 = line.split_whitespace().nth(1).context("no VmRSS")?.parse()?;
    Ok(kib / 1024.0)
}

// === impl Server ===

impl Server {
    /// Starts a program that will listen on `port`; what it says goes to a file.
    pub(crate) fn spawn(program: &Path, arguments: &[&str], port: u16, log: &Path) -> anyhow::Result<Self> {
        let log = std::fs::File::create(log).with_context(|| log.display().to_string())?;
        let child = Command::new(program)
            .args(arguments)
            .env_remove("LOG_LEVEL")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .with_context(|| format!("{} could not be started: run ./x bench", program.display()))?;
        Ok(Self { child, port })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end and waits.
    pub(crate) fn stop(&mut self) -> anyhow::Result<()> {
        if self.child.try_wait()?.is_some() {
            return Ok(());
        }
        let pid = i32::try_from(self.child.id()).ok().and_then(rustix::process::Pid::from_raw);
        rustix::process::kill_process(pid.context("no pid")?, rustix::process::Signal::TERM)?;
        let start = Instant::now();
        while self.child.try_wait()?.is_none() {
            if start.elapsed() > GOODBYE {
                bail!("a process does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
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
