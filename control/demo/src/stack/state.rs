//! What is written down about a running stack, in the data folder.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::args::Ports;
use super::process::ProcessId;

#[cfg(test)]
mod tests;

/// A running stack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// Where it listens.
    pub(super) ports: Ports,
    /// The Envoy that was asked for by name.
    #[serde(default)]
    pub(super) envoy: Option<PathBuf>,
    /// The control server, which supervises Envoy.
    pub(super) serve: ProcessId,
    /// The echo upstream.
    pub(super) upstream: ProcessId,
    /// The `keyward demo up` that watches over it, unless it is detached.
    pub(super) foreground: Option<ProcessId>,
}

/// Held while a stack is started or stopped, so that two commands do not mix. It belongs to the
/// open file: a killed command leaves none behind.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

fn state_path(data: &Path) -> PathBuf {
    data.join("demo.json")
}

/// Reads a JSON file; none when there is no such file or it is not what it should be.
pub(super) fn read_json<T: DeserializeOwned>(path: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

/// Writes a JSON file whole or not at all.
pub(super) fn write_json<T: Serialize>(path: &Path, value: &T) -> anyhow::Result<()> {
    let new = path.with_extension("json.new");
    fs::write(&new, serde_json::to_vec_pretty(value)?)
        .and_then(|()| fs::rename(&new, path))
        .with_context(|| format!("cannot write {}", path.display()))
}

// === impl State ===

impl State {
    /// The state that the last `up` wrote, whether it still runs or not.
    pub(super) fn read(data: &Path) -> Option<Self> {
        read_json(&state_path(data))
    }

    pub(super) fn write(&self, data: &Path) -> anyhow::Result<()> {
        write_json(&state_path(data), self)
    }

    /// The live `up` that watches over it.
    pub(super) fn watcher(&self) -> Option<ProcessId> {
        self.foreground.filter(|id| id.is_alive())
    }

    pub(super) fn remove(data: &Path) {
        // It may be gone already, and a stale one is recognised by its start times.
        let _ = fs::remove_file(state_path(data));
    }
}

// === impl Lock ===

impl Lock {
    /// Takes the lock of a data folder.
    pub(super) fn take(data: &Path) -> anyhow::Result<Self> {
        let path = data.join("demo.lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "another command is starting or stopping this stack\nhint: wait for it, or look for a hanging `keyward demo`"
                )
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }
}
