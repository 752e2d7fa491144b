//! A process of a test: in a group of its own, its output in files, gone when it is dropped.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, anyhow, ensure};
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};

use super::wait;

/// How long a process may take to end.
const PATIENCE: Duration = Duration::from_secs(15);

/// A running process.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

/// Whether a process runs: there is one, and it is no zombie.
#[must_use]
pub(super) fn is_running(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    state.is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Kills a process that is not our child, and waits until it is gone.
///
/// # Errors
///
/// When it does not end.
pub(super) fn kill_and_wait(pid: i32) -> anyhow::Result<()> {
    let process = Pid::from_raw(pid).context("not a process id")?;
    if test_kill_process(process).is_ok() {
        // It may end between the look and the signal.
        let _ = kill_process(process, Signal::KILL);
    }
    wait::until(PATIENCE, "a killed process to be gone", || {
        ensure!(!is_running(pid), "process {pid} runs");
        Ok(())
    })
}

// === impl Process ===

impl Process {
    /// Starts a process. What it says is appended to a file.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let open = || std::fs::File::options().create(true).append(true).open(log);
        let child = command
            .stdin(Stdio::null())
            .stdout(open()?)
            .stderr(open()?)
            .process_group(0)
            .spawn()
            .with_context(|| format!("{command:?} could not be started"))?;
        Ok(Self { child, log: log.to_path_buf() })
    }

    /// Its process id.
    ///
    /// # Errors
    ///
    /// Never on Linux, where ids are small.
    pub fn pid(&self) -> anyhow::Result<i32> {
        Ok(i32::try_from(self.child.id())?)
    }

    /// What it has said so far.
    #[must_use]
    pub fn output(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// Kills it at once, as `kill -9` does.
    ///
    /// # Errors
    ///
    /// When it cannot be waited for.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Asks it to end (SIGTERM) and waits; the status has to be success.
    ///
    /// # Errors
    ///
    /// When it does not end in time, or not well.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let status = wait::until(PATIENCE, "a process to end after SIGTERM", || {
            self.child.try_wait()?.ok_or_else(|| anyhow!("it runs"))
        })?;
        ensure!(status.success(), "it ended with {status}: {}", self.output());
        Ok(())
    }

    /// Whether it has ended, and how.
    ///
    /// # Errors
    ///
    /// When that cannot be found out.
    pub fn ended(&mut self) -> anyhow::Result<Option<std::process::ExitStatus>> {
        Ok(self.child.try_wait()?)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Its children as well, unless they have left the group.
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
