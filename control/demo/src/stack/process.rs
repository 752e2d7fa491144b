//! The processes of a stack: starting, tying, finding and stopping them.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

use super::args::TetheredArgs;

#[cfg(test)]
mod tests;

/// The environment variable that marks every process of a stack with its data folder. Envoy
/// inherits it from the control server.
const MARK: &str = "KEYWARD_DEMO_STACK";
const POLL: Duration = Duration::from_millis(20);
/// A killed process ends as soon as the kernel gets to it.
const KILL_PATIENCE: Duration = Duration::from_secs(5);

/// A process, told from a later one with the same number by its start time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(super) struct ProcessId {
    pub(super) pid: i32,
    /// In clock ticks since boot.
    started: u64,
}

/// What a process of a stack does, in the order of stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// The control server. It stops its Envoy before itself.
    Serve,
    /// Envoy, or anything else that we did not start ourselves.
    Other,
    /// The echo upstream: last, so that no request finds it gone.
    Upstream,
}

/// A process of a stack that was found running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) id: ProcessId,
    pub(super) role: Role,
    pub(super) name: String,
}

/// Runs this program with other arguments, for the stack of `data`.
///
/// It gets its own process group, so that a Ctrl-C in the terminal reaches `up` alone, which then
/// stops everything in order. When `tethered`, the kernel ends it if this process dies.
pub(super) fn spawn(
    data: &Path,
    tethered: bool,
    arguments: &[OsString],
    log: File,
) -> anyhow::Result<(Child, ProcessId)> {
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let mut command = Command::new(&program);
    if tethered {
        command.args(["demo", "tethered", "--parent"]).arg(std::process::id().to_string()).arg("--");
    }
    let child = command
        .args(arguments)
        .env(MARK, data)
        .stdin(Stdio::null())
        .stdout(log.try_clone().context("cannot share a log file")?)
        .stderr(log)
        .process_group(0)
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok()).context("a process ended at once")?;
    let id = ProcessId::of(pid).context("a process ended at once")?;
    Ok((child, id))
}

/// Ties this process to its parent and becomes the command. The tie outlives the `exec`.
pub(super) fn become_tethered(args: &TetheredArgs) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::TERM)).context("cannot tie to the parent process")?;
    // The parent may have died before the tie was made.
    let parent = getppid().map(|pid| pid.as_raw_nonzero().get());
    if parent != i32::try_from(args.parent).ok() {
        bail!("the parent process {} is gone", args.parent);
    }
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let error = std::process::Command::new(&program).args(&args.command).exec();
    Err(error).with_context(|| format!("cannot start {}", program.display()))
}

/// Every live process that is marked as one of the stack of `data`, in the order of stopping.
pub(super) fn find(data: &Path) -> Vec<Found> {
    let mut mark = format!("{MARK}=").into_bytes();
    mark.extend_from_slice(data.as_os_str().as_bytes());
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let mut found: Vec<Found> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid: i32| {
            let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let marked = environment.split(|byte| *byte == 0).any(|entry| entry == mark);
            let id = ProcessId::of(pid).filter(|_| marked)?;
            let (role, name) = role(&fs::read(format!("/proc/{pid}/cmdline")).ok()?);
            Some(Found { id, role, name })
        })
        .collect();
    found.sort_by_key(|process| (process.role, process.id.pid));
    found
}

/// Stops processes that may be each other's equals: asks all, waits, kills those that stay.
///
/// # Errors
///
/// When one of them is still there after it was killed.
pub(super) async fn stop(processes: &[Found], patience: Duration) -> anyhow::Result<()> {
    let mut left: Vec<&Found> = processes.iter().collect();
    for (signal, patience) in [(Signal::TERM, patience), (Signal::KILL, KILL_PATIENCE)] {
        for process in &left {
            if signal == Signal::KILL {
                super::terminal::say(&format!("{} does not stop; killing it", process.describe()));
            }
            process.id.signal(signal);
        }
        let deadline = Instant::now() + patience;
        loop {
            left.retain(|process| process.id.is_alive());
            if left.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                break;
            }
            sleep(POLL).await;
        }
    }
    let names: Vec<String> = left.iter().map(|process| process.describe()).collect();
    bail!("still running although killed: {}", names.join(", "))
}

/// The role and the name of a process by its command line.
fn role(command_line: &[u8]) -> (Role, String) {
    let words: Vec<&[u8]> = command_line.split(|byte| *byte == 0).collect();
    let program = words.first().copied().unwrap_or_default();
    let name = Path::new(OsStr::from_bytes(program)).file_name().unwrap_or_default().to_string_lossy();
    // One that is not tethered yet has its command behind `--`.
    let arguments = match words.iter().position(|word| *word == b"--") {
        Some(dashes) => words.get(dashes + 1..),
        None => words.get(1..),
    };
    match arguments.and_then(<[_]>::first).copied() {
        Some(b"serve") => (Role::Serve, "keyward serve".to_owned()),
        Some(b"demo-upstream") => (Role::Upstream, "keyward demo-upstream".to_owned()),
        _ => (Role::Other, name.into_owned()),
    }
}

// === impl ProcessId ===

impl ProcessId {
    /// A live process by its number.
    pub(super) fn of(pid: i32) -> Option<Self> {
        start_time(pid).map(|started| Self { pid, started })
    }

    /// This process itself.
    pub(super) fn current() -> Option<Self> {
        i32::try_from(std::process::id()).ok().and_then(Self::of)
    }

    pub(super) fn is_alive(self) -> bool {
        start_time(self.pid) == Some(self.started)
    }

    /// Does it run the very program that this process runs? One that was built since is another,
    /// although it stands at the same path.
    pub(super) fn runs_this_program(self) -> bool {
        let program = |pid: &str| {
            let metadata = fs::metadata(format!("/proc/{pid}/exe")).ok()?;
            Some((metadata.dev(), metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))
        };
        program(&self.pid.to_string()).is_some_and(|its| Some(its) == program("self"))
    }

    fn signal(self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.pid).filter(|_| self.is_alive()) {
            // It may end between the look and the signal, which is what was wanted.
            let _ = kill_process(pid, signal);
        }
    }
}

/// The start time of a process, or none when it is gone or only waits to be collected.
fn start_time(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in parentheses and may hold anything; fields are counted from the last one.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    match fields.next()? {
        "Z" | "X" => None,
        _ => fields.nth(18)?.parse().ok(),
    }
}

// === impl Found ===

impl Found {
    pub(super) fn describe(&self) -> String {
        format!("{} (process {})", self.name, self.id.pid)
    }
}
