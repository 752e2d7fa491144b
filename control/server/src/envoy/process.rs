//! An Envoy process: our child, or one that an earlier control server left behind.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// How often an adopted process is looked at.
const POLL: Duration = Duration::from_millis(100);

/// A running Envoy.
#[derive(Debug)]
pub(super) struct Process {
    pid: Pid,
    child: Option<Child>,
    started: u64,
}

/// How an Envoy ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// For people.
    pub(super) how: String,
    /// It ended by itself, and not by a signal.
    pub(super) exited: bool,
}

/// Everything that an Envoy is started with. Two that are equal run alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Launch {
    /// The program and its arguments.
    pub(super) command: Vec<String>,
    /// The text of its bootstrap configuration, which the command names by path only.
    pub(super) bootstrap: String,
}

/// What is written down about a running Envoy, so that the next control server can adopt it.
#[derive(Debug, Serialize, Deserialize)]
struct Note {
    pid: i32,
    /// Start time in clock ticks since boot: tells the process from a later one with its pid.
    started: u64,
    launch: Launch,
}

fn note_path(folder: &Path) -> PathBuf {
    folder.join("envoy.json")
}

/// The Envoy that runs, as its note says: another one is called otherwise. None where none runs.
pub(super) fn running(folder: &Path) -> Option<String> {
    let note: Note = serde_json::from_slice(&std::fs::read(note_path(folder)).ok()?).ok()?;
    (start_time(note.pid)? == note.started).then(|| format!("{} since {}", note.pid, note.started))
}

/// Notes this process as the Envoy of a folder.
#[cfg(test)]
pub(super) fn note_of_this_process(folder: &Path) {
    let pid = i32::try_from(std::process::id()).expect("a pid");
    let launch = Launch { command: Vec::new(), bootstrap: String::new() };
    let note = Note { pid, started: start_time(pid).expect("it runs"), launch };
    std::fs::write(note_path(folder), serde_json::to_vec(&note).expect("JSON")).expect("a folder");
}

/// Where Envoy writes.
pub(super) fn log_path(folder: &Path) -> PathBuf {
    folder.join("envoy.log")
}

/// Opens a log for its owner alone.
fn open_log(path: &Path) -> anyhow::Result<File> {
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).open(path);
    opened.with_context(|| format!("{} could not be opened", path.display()))
}

fn write_note(folder: &Path, child: &Child, launch: &Launch) -> anyhow::Result<(Pid, u64)> {
    let raw = i32::try_from(child.id().context("envoy ended at once")?).context("the pid is out of range")?;
    let pid = Pid::from_raw(raw).context("the pid is zero")?;
    let started = start_time(raw).unwrap_or_default();
    let note = serde_json::to_vec(&Note { pid: raw, started, launch: launch.clone() })?;
    let path = note_path(folder);
    let fresh = path.with_extension("json.new");
    std::fs::write(&fresh, note)
        .and_then(|()| std::fs::rename(&fresh, &path))
        .with_context(|| format!("{} could not be written", path.display()))?;
    Ok((pid, started))
}

/// The start time of a process from `/proc/<pid>/stat`, or none when it is gone or a zombie.
fn start_time(pid: i32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The command name is in parentheses and may hold anything; the fields follow the last one.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let state = fields.first()?;
    if *state == "Z" || *state == "X" {
        return None;
    }
    fields.get(19)?.parse().ok()
}

// === impl Process ===

impl Process {
    /// Starts an Envoy and writes down that it runs.
    pub(super) fn spawn(folder: &Path, launch: &Launch) -> anyhow::Result<Self> {
        let (program, arguments) = launch.command.split_first().context("the command is empty")?;
        let log = open_log(&log_path(folder))?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            // What it says before it has a log, or instead of one.
            .stdout(log.try_clone()?)
            .stderr(log)
            // Its own group: a Ctrl-C in the terminal reaches the control server alone, which
            // then stops Envoy in order.
            .process_group(0)
            .spawn()
            .with_context(|| format!("{program} could not be started"))?;
        match write_note(folder, &child, launch) {
            Ok((pid, started)) => Ok(Self { pid, child: Some(child), started }),
            Err(error) => {
                // An Envoy of which nothing is written down could be neither adopted nor stopped.
                let _ = child.start_kill();
                Err(error)
            }
        }
    }

    /// The Envoy that an earlier control server left running, with what it was started with.
    pub(super) fn left_behind(folder: &Path) -> Option<(Self, Launch)> {
        let note: Note = serde_json::from_slice(&std::fs::read(note_path(folder)).ok()?).ok()?;
        let pid = Pid::from_raw(note.pid)?;
        (start_time(note.pid)? == note.started)
            .then_some((Self { pid, child: None, started: note.started }, note.launch))
    }

    /// An Envoy that runs with this configuration file and of which no note tells: the control
    /// server was killed between the start and the note.
    pub(super) fn unnoted(config_path: &str) -> Option<Self> {
        std::fs::read_dir("/proc").ok()?.flatten().find_map(|entry| {
            let pid: i32 = entry.file_name().to_str()?.parse().ok()?;
            let command = std::fs::read(entry.path().join("cmdline")).ok()?;
            let mut words = command.split(|byte| *byte == 0);
            words.find(|word| *word == b"--config-path")?;
            (words.next()? == config_path.as_bytes()).then_some(())?;
            Some(Self { pid: Pid::from_raw(pid)?, child: None, started: start_time(pid)? })
        })
    }

    /// The process id.
    pub(super) fn id(&self) -> i32 {
        self.pid.as_raw_nonzero().get()
    }

    /// Waits until it has ended.
    pub(super) async fn ended(&mut self) -> Ended {
        match &mut self.child {
            Some(child) => match child.wait().await {
                Ok(status) => Ended { how: status.to_string(), exited: status.code().is_some() },
                Err(error) => Ended { how: error.to_string(), exited: false },
            },
            None => {
                while self.is_alive() {
                    sleep(POLL).await;
                }
                Ended { how: "an adopted process: its status is not known".to_owned(), exited: false }
            }
        }
    }

    /// Asks it to end, waits, and kills it when it does not end in time.
    pub(super) async fn stop(&mut self, patience: Duration) -> anyhow::Result<()> {
        for signal in [Signal::TERM, Signal::KILL] {
            if !self.is_alive() {
                return Ok(());
            }
            // It may end between the look and the signal.
            let _ = kill_process(self.pid, signal);
            let deadline = Instant::now() + patience;
            tokio::select! {
                _ = self.ended() => return Ok(()),
                () = tokio::time::sleep_until(deadline) => {}
            }
        }
        bail!("process {} does not end", self.id())
    }

    fn is_alive(&self) -> bool {
        test_kill_process(self.pid).is_ok() && start_time(self.id()) == Some(self.started)
    }
}
