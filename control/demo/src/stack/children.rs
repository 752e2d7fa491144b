//! The processes that `up` starts, and how they fail.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use tokio::process::Child;

use super::args::{UpArgs, loopback};
use super::logs;
use super::process::{self, ProcessId};
use super::state::State;
use super::terminal::say;

#[cfg(test)]
mod tests;

/// How much of each log an error shows.
const TAIL_LINES: usize = 20;

/// The processes that we started.
pub(super) struct Children {
    serve: Child,
    upstream: Child,
    pub(super) logs: [(&'static str, PathBuf); 2],
    envoy_log: EnvoyLog,
}

/// The log of the Envoy that the control server supervises.
struct EnvoyLog {
    path: PathBuf,
    /// What is before is of an earlier run.
    from: u64,
}

fn append_tail(text: &mut String, name: &str, path: &Path, from: u64) {
    let lines = logs::tail(path, from, TAIL_LINES);
    if lines.is_empty() {
        return;
    }
    // Writing to a string does not fail.
    let _ = write!(text, "\n\nthe end of {}:", path.display());
    for line in lines {
        let _ = write!(text, "\n  {name:<8} | {line}");
    }
}

// === impl Children ===

impl Children {
    /// Starts the processes and writes them down.
    pub(super) fn spawn(args: &UpArgs, data: &Path) -> anyhow::Result<Self> {
        let ports = &args.ports;
        let (upstream_log, upstream_path) = logs::create(data, "upstream")?;
        let (serve_log, serve_path) = logs::create(data, "serve")?;
        let path = data.join("envoy/envoy.log");
        let envoy_log = EnvoyLog { from: logs::length(&path), path };

        let listen = loopback(ports.upstream);
        let mut command: Vec<OsString> = vec!["demo-upstream".into(), "--listen".into()];
        command.push(listen.to_string().into());
        let (upstream, upstream_id) = process::spawn(data, !args.detach, &command, upstream_log)?;
        say(&format!("started the echo upstream on {listen} (process {})", upstream_id.pid));

        let mut command: Vec<OsString> = vec!["serve".into(), "--data".into(), data.into()];
        for (flag, port) in [
            ("--rest", ports.rest),
            ("--xds", ports.xds),
            ("--gateway", ports.gateway),
            ("--admin", ports.admin),
            ("--snapshots", ports.snapshots),
        ] {
            command.extend([flag.into(), loopback(port).to_string().into()]);
        }
        if let Some(envoy) = &args.envoy {
            command.extend(["--envoy".into(), envoy.into()]);
        }
        let (serve, serve_id) = process::spawn(data, !args.detach, &command, serve_log)?;
        say(&format!("started the control server on {} (process {})", ports.rest_url(), serve_id.pid));

        let foreground = if args.detach { None } else { ProcessId::current() };
        State {
            ports: *ports,
            envoy: args.envoy.clone(),
            serve: serve_id,
            upstream: upstream_id,
            foreground,
        }
        .write(data)?;
        let logs = [("serve", serve_path), ("upstream", upstream_path)];
        Ok(Self { serve, upstream, logs, envoy_log })
    }

    /// Waits until one of them ends, and says how, as an error.
    pub(super) async fn one_ended(&mut self) -> anyhow::Error {
        let (what, status) = tokio::select! {
            status = self.serve.wait() => ("the control server", status),
            status = self.upstream.wait() => ("the echo upstream", status),
        };
        match status {
            Ok(status) => anyhow!("{what} ended by itself ({status})"),
            Err(error) => anyhow!(error).context(format!("cannot watch over {what}")),
        }
    }

    /// The error with the ends of the logs below it: of all that the person has not read yet.
    pub(super) fn with_logs(&self, error: &anyhow::Error, shown: bool) -> anyhow::Error {
        let mut text = format!("{error:#}");
        if !shown {
            for (name, path) in &self.logs {
                append_tail(&mut text, name, path, 0);
            }
        }
        append_tail(&mut text, "envoy", &self.envoy_log.path, self.envoy_log.from);
        anyhow!(text)
    }
}
