//! Keeps one Envoy running.
//!
//! Envoy outlives the control server when that is killed, and goes on serving with what it holds.
//! The next control server on the same data folder adopts it when it was started in the same way,
//! and replaces it otherwise.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, bail};
use keyward_admin::proxy::QUIET;
use keyward_bootstrap::{BOOTSTRAP_FILE, BootstrapOptions, bootstrap};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::log_tail;
use super::process::{Ended, Launch, Process, log_path};
use crate::logs::Ring;

/// How long Envoy may take to end after it was asked to.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// An Envoy that ran this long was all right; its end is not the end of a series of failures.
const HEALTHY_AFTER: Duration = Duration::from_secs(10);
/// An Envoy that ended this often in a row and never was all right will not be so by itself.
const HOPELESS: u32 = 3;
/// A log longer than this is put aside at the next start, in bytes.
const MAX_LOG: u64 = 64 * 1024 * 1024;
/// How to run the Envoy.
#[derive(Debug, Clone)]
pub(crate) struct SupervisorOptions {
    /// The binary.
    pub(crate) envoy: PathBuf,
    /// Folder for its bootstrap configuration and its log.
    pub(crate) folder: PathBuf,
    /// Worker threads.
    pub(crate) concurrency: u16,
    /// Log level.
    pub(crate) log_level: String,
    /// Loggers that write whole requests, keys included, have that level too.
    pub(crate) header_logging: bool,
    /// Where the last lines of its log are kept.
    pub(crate) log: Ring,
    /// Its bootstrap configuration.
    pub(crate) bootstrap: BootstrapOptions,
}

/// Keeps one Envoy running until it is cancelled; then stops it.
#[derive(Debug)]
pub(crate) struct Supervisor {
    options: SupervisorOptions,
    launch: Launch,
    config_path: String,
    adopted: Option<Process>,
}

/// Keeps the log from growing without end, over starts of Envoy at least.
fn put_aside(log: &Path) {
    if std::fs::metadata(log).is_ok_and(|log| log.len() > MAX_LOG) {
        // A log that cannot be moved is appended to.
        let _ = std::fs::rename(log, log.with_extension("log.1"));
    }
}

// === impl Supervisor ===

impl Supervisor {
    /// Writes the bootstrap configuration; starts nothing yet.
    ///
    /// # Errors
    ///
    /// When the folder or the file cannot be written.
    pub(crate) fn new(options: SupervisorOptions) -> anyhow::Result<Self> {
        let folder = &options.folder;
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .with_context(|| format!("{} could not be made", folder.display()))?;
        let config = serde_json::to_string_pretty(&bootstrap(&options.bootstrap))?;
        let config_path = folder.join(BOOTSTRAP_FILE).display().to_string();
        std::fs::write(&config_path, &config)
            .with_context(|| format!("{config_path} could not be written"))?;
        let command = vec![
            options.envoy.display().to_string(),
            "--config-path".to_owned(),
            config_path.clone(),
            "--concurrency".to_owned(),
            options.concurrency.to_string(),
            "--log-path".to_owned(),
            log_path(folder).display().to_string(),
            "--log-level".to_owned(),
            options.log_level.clone(),
            // What it says should be seen when it happens.
            "--file-flush-interval-msec".to_owned(),
            "200".to_owned(),
            "--log-format".to_owned(),
            // With line breaks escaped: a message may quote what others have sent.
            "%l %Y-%m-%dT%T.%e%z [%n] %_".to_owned(),
            // Hot restart shares memory by number between all Envoys of a machine.
            "--disable-hot-restart".to_owned(),
        ];
        let mut command = command;
        if matches!(options.log_level.as_str(), "trace" | "debug") && !options.header_logging {
            command.extend(["--component-log-level".to_owned(), QUIET.to_owned()]);
        }
        Ok(Self { options, launch: Launch { command, bootstrap: config }, config_path, adopted: None })
    }

    /// Takes over an Envoy that was started as this one would be, and stops one that was not: afterwards no
    /// other holds the ports of the installation.
    ///
    /// # Errors
    ///
    /// When it does not end although it was killed.
    pub(crate) async fn take_over(mut self) -> anyhow::Result<Self> {
        self.adopted = self.adopt().await?;
        Ok(self)
    }

    /// Runs until cancelled, then stops Envoy and returns when it is gone.
    ///
    /// # Errors
    ///
    /// When Envoy cannot be started at all, and when it does not end although it was killed.
    pub(crate) async fn run(mut self, cancelled: CancellationToken) -> anyhow::Result<()> {
        let ended = CancellationToken::new();
        let (log, ring) = (log_path(&self.options.folder), self.options.log.clone());
        let tail = tokio::spawn(log_tail::follow(log, ring, ended.clone()));
        let outcome = self.keep_running(&cancelled).await;
        ended.cancel();
        tail.await.context("the log could not be followed")?;
        outcome
    }

    async fn keep_running(&mut self, cancelled: &CancellationToken) -> anyhow::Result<()> {
        let mut backoff = MIN_BACKOFF;
        let mut failures = 0;
        let mut process = self.adopted.take();
        // Until one was all right, failing is a mistake in the settings, and somebody is looking.
        let mut proven = process.is_some();
        loop {
            let since = Instant::now();
            if process.is_none() {
                process = match Process::spawn(&self.options.folder, &self.launch) {
                    Ok(process) => {
                        tracing::info!(pid = process.id(), "envoy started");
                        Some(process)
                    }
                    Err(error) if !proven => return Err(error.context("envoy could not be started")),
                    Err(error) => {
                        tracing::error!("envoy could not be started: {error:#}");
                        None
                    }
                };
            }
            let mut exited = false;
            if let Some(running) = &mut process {
                tokio::select! {
                    Ended { how, exited: by_itself } = running.ended() => {
                        exited = by_itself;
                        let log = log_path(&self.options.folder);
                        tracing::error!(pid = running.id(), "envoy ended ({how}): see {}", log.display());
                    }
                    () = cancelled.cancelled() => {
                        running.stop(STOP_PATIENCE).await.context("envoy could not be stopped")?;
                        tracing::info!("envoy stopped");
                        return Ok(());
                    }
                }
            }
            process = None;
            if since.elapsed() > HEALTHY_AFTER {
                (backoff, failures, proven) = (MIN_BACKOFF, 0, true);
            } else {
                backoff = (backoff * 2).min(MAX_BACKOFF);
                failures += u32::from(exited);
            }
            if !proven && failures >= HOPELESS {
                let log = log_path(&self.options.folder);
                bail!("envoy ended {failures} times right after its start\nhint: {} says why", log.display());
            }
            tokio::select! {
                () = sleep(backoff) => {}
                () = cancelled.cancelled() => return Ok(()),
            }
        }
    }

    /// Takes over an Envoy that was started as we would start it; stops one that was not.
    async fn adopt(&self) -> anyhow::Result<Option<Process>> {
        let left = Process::left_behind(&self.options.folder)
            .map(|(process, launch)| (process, Some(launch)))
            .or_else(|| Process::unnoted(&self.config_path).map(|process| (process, None)));
        let Some((mut process, launch)) = left else {
            put_aside(&log_path(&self.options.folder));
            return Ok(None);
        };
        if launch.as_ref() == Some(&self.launch) {
            tracing::info!(pid = process.id(), "adopted the envoy that was left running");
            return Ok(Some(process));
        }
        tracing::info!(pid = process.id(), "replacing an envoy that was started differently");
        process.stop(STOP_PATIENCE).await.context("the envoy left running could not be stopped")?;
        Ok(None)
    }
}
