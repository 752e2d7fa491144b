//! Keeps one Envoy running.
//!
//! Envoy outlives the control server when that is killed, and goes on serving with what it holds.
//! The next control server on the same data folder adopts it when it was started in the same way,
//! and replaces it otherwise.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::bootstrap::{BootstrapOptions, bootstrap};
use super::log_tail;
use super::process::{Launch, Process};

/// How long Envoy may take to end after it was asked to.
const STOP_PATIENCE: Duration = Duration::from_secs(5);
const MIN_BACKOFF: Duration = Duration::from_millis(100);
const MAX_BACKOFF: Duration = Duration::from_secs(5);
/// An Envoy that ran this long was all right; its end is not the end of a series of failures.
const HEALTHY_AFTER: Duration = Duration::from_secs(10);

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
    /// Its bootstrap configuration.
    pub(crate) bootstrap: BootstrapOptions,
}

/// Keeps one Envoy running until it is cancelled; then stops it.
#[derive(Debug)]
pub(crate) struct Supervisor {
    options: SupervisorOptions,
    launch: Launch,
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
        std::fs::create_dir_all(folder).with_context(|| format!("{} could not be made", folder.display()))?;
        let config = serde_json::to_string_pretty(&bootstrap(&options.bootstrap))?;
        let config_path = folder.join("bootstrap.json");
        std::fs::write(&config_path, &config)
            .with_context(|| format!("{} could not be written", config_path.display()))?;
        let command = vec![
            options.envoy.display().to_string(),
            "--config-path".to_owned(),
            config_path.display().to_string(),
            "--concurrency".to_owned(),
            options.concurrency.to_string(),
            "--log-path".to_owned(),
            folder.join("envoy.log").display().to_string(),
            "--log-level".to_owned(),
            options.log_level.clone(),
            "--log-format".to_owned(),
            "%l [%n] %v".to_owned(),
            // Hot restart shares memory by number between all Envoys of a machine.
            "--disable-hot-restart".to_owned(),
        ];
        Ok(Self { options, launch: Launch { command, bootstrap: config } })
    }

    /// Runs until cancelled, then stops Envoy and returns when it is gone.
    ///
    /// # Errors
    ///
    /// When Envoy does not end although it was killed.
    pub(crate) async fn run(self, cancelled: CancellationToken) -> anyhow::Result<()> {
        let tail = tokio::spawn(log_tail::follow(self.options.folder.join("envoy.log")));
        let outcome = self.keep_running(&cancelled).await;
        tail.abort();
        outcome
    }

    async fn keep_running(&self, cancelled: &CancellationToken) -> anyhow::Result<()> {
        let mut backoff = MIN_BACKOFF;
        let mut process = self.adopt().await?;
        loop {
            let since = Instant::now();
            if process.is_none() {
                process = match Process::spawn(&self.options.folder, &self.launch) {
                    Ok(process) => {
                        tracing::info!(pid = process.id(), "envoy started");
                        Some(process)
                    }
                    Err(error) => {
                        tracing::error!("envoy could not be started: {error:#}");
                        None
                    }
                };
            }
            if let Some(running) = &mut process {
                tokio::select! {
                    how = running.ended() => tracing::error!(pid = running.id(), "envoy ended ({how}): see {}",
                        self.options.folder.join("envoy.log").display()),
                    () = cancelled.cancelled() => {
                        running.stop(STOP_PATIENCE).await.context("envoy could not be stopped")?;
                        tracing::info!("envoy stopped");
                        return Ok(());
                    }
                }
            }
            process = None;
            backoff =
                if since.elapsed() > HEALTHY_AFTER { MIN_BACKOFF } else { (backoff * 2).min(MAX_BACKOFF) };
            tokio::select! {
                () = sleep(backoff) => {}
                () = cancelled.cancelled() => return Ok(()),
            }
        }
    }

    /// Takes over an Envoy that was started as we would start it; stops one that was not.
    async fn adopt(&self) -> anyhow::Result<Option<Process>> {
        let Some((mut process, launch)) = Process::left_behind(&self.options.folder) else { return Ok(None) };
        if launch == self.launch {
            tracing::info!(pid = process.id(), "adopted the envoy that was left running");
            return Ok(Some(process));
        }
        tracing::info!(pid = process.id(), "replacing an envoy that was started differently");
        process.stop(STOP_PATIENCE).await.context("the envoy left running could not be stopped")?;
        Ok(None)
    }
}
