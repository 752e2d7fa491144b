//! The levels of the supervised Envoy's log while it is followed: raised while anybody follows it at a level, and
//! put back when the last one ends, however that happens.
//!
//! What is put back is only what is still as it was raised: whoever sets a level meanwhile has the last word. What
//! was raised is noted beside the Envoy, so that a server that is killed leaves nothing behind for longer than
//! until the next one adopts that Envoy.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use keyward_admin::Who;
use keyward_admin::proxy::{LEVELS, Levels, Loggers, more_verbose};
use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use tokio::time::{sleep, timeout};

use super::process::running;

#[cfg(test)]
mod tests;

/// The note.
const NOTE: &str = "levels.json";
/// An adopted Envoy that does not answer for so long is asked no more.
const PATIENCE: Duration = Duration::from_secs(60);
const RETRY: Duration = Duration::from_millis(500);

/// Raises levels. Clones are the same.
#[derive(Clone)]
pub(crate) struct LogLevels(Arc<Inner>);

struct Inner {
    loggers: Loggers,
    /// Of the Envoy.
    folder: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The level that each follower wants.
    wanted: BTreeMap<u64, String>,
    next: u64,
    change: Option<Change>,
}

/// What was changed of an Envoy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Change {
    /// Which Envoy it was, as its own note says: one that was started anew knows nothing of it.
    of: String,
    before: Levels,
    raised: Levels,
}

/// Levels are raised as long as this is there.
pub(crate) struct Raised {
    levels: LogLevels,
    follower: u64,
}

/// Those of the levels that were to be so before, are so, and are to be otherwise now.
fn due(known: &Levels, now: &Levels, wanted: &Levels) -> Levels {
    let is_due = |(name, level): &(&String, &String)| {
        now.get(*name) != Some(*level) && now.get(*name).is_some() && now.get(*name) == known.get(*name)
    };
    wanted.iter().filter(is_due).map(|(name, level)| (name.clone(), level.clone())).collect()
}

fn keep(folder: &Path, change: Option<&Change>) -> std::io::Result<()> {
    let path = folder.join(NOTE);
    let Some(change) = change else {
        return match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    };
    let fresh = path.with_extension("json.new");
    std::fs::write(&fresh, serde_json::to_vec(change)?)?;
    std::fs::rename(fresh, path)
}

// === impl LogLevels ===

impl LogLevels {
    /// For the Envoy in a folder.
    pub(crate) fn new(loggers: Loggers, folder: &Path) -> Self {
        Self(Arc::new(Inner { loggers, folder: folder.to_owned(), state: Mutex::default() }))
    }

    /// Sees to it that nothing is less verbose than this, for as long as what is returned is there.
    ///
    /// # Errors
    ///
    /// When that cannot be; for people. Nothing is changed then.
    pub(crate) async fn raise(&self, level: &str, who: Who) -> Result<Raised, String> {
        if self.0.loggers.is_read_only() {
            return Err("the admin of the proxy is read-only (--proxy-admin-read-only)".to_owned());
        }
        let mut state = self.0.state.lock().await;
        let follower = state.next;
        state.next += 1;
        state.wanted.insert(follower, level.to_owned());
        if let Err(why) = self.settle(&mut state, who).await {
            state.wanted.remove(&follower);
            return Err(why);
        }
        Ok(Raised { levels: self.clone(), follower })
    }

    /// Puts back what a server raised that was killed, if its Envoy is still there.
    pub(crate) async fn recover(&self) {
        let mut state = self.0.state.lock().await;
        let noted = std::fs::read(self.0.folder.join(NOTE)).ok();
        let Some(change) = noted.and_then(|noted| serde_json::from_slice::<Change>(&noted).ok()) else {
            return;
        };
        if running(&self.0.folder).as_deref() == Some(change.of.as_str()) {
            state.change = Some(change);
        } else {
            self.note(None);
            return;
        }
        let tries = async {
            while self.settle(&mut state, Who("keyward".to_owned())).await.is_err() {
                sleep(RETRY).await;
            }
        };
        match timeout(PATIENCE, tries).await {
            Ok(()) => tracing::info!("the log levels of the proxy are as they were before they were raised"),
            Err(_) => tracing::warn!("the log levels of the proxy could not be put back: it does not answer"),
        }
    }

    async fn end(&self, follower: u64) {
        let mut state = self.0.state.lock().await;
        state.wanted.remove(&follower);
        if let Err(why) = self.settle(&mut state, Who("keyward".to_owned())).await {
            tracing::warn!("the log levels of the proxy could not be put back: {why}");
        }
    }

    /// Makes the levels what those who follow want.
    async fn settle(&self, state: &mut State, who: Who) -> Result<(), String> {
        let Inner { loggers, folder, .. } = &*self.0;
        let of = running(folder).unwrap_or_default();
        // Of an Envoy that is gone there is nothing to put back.
        let change = state.change.take_if(|change| change.of == of);
        let now = loggers.now().await;
        let (now, change) = match (now, change) {
            (Ok(now), Some(change)) => (now, change),
            (Ok(now), None) => {
                let change = Change { of, before: now.clone(), raised: now.clone() };
                (now, change)
            }
            (Err(why), change) => {
                state.change = change;
                return Err(why);
            }
        };
        let level = state.wanted.values().fold(LEVELS[LEVELS.len() - 1], |all, one| more_verbose(all, one));
        let raised = loggers.raised(&change.before, level);
        let is_over = state.wanted.is_empty();
        let next = Change { raised, ..change.clone() };
        // Noted before it is done: whoever is killed in between leaves nothing behind.
        self.note(Some(&next));
        if let Err(why) = loggers.set(&due(&change.raised, &now, &next.raised), who).await {
            self.note(Some(&change).filter(|change| change.before != change.raised));
            state.change = Some(change);
            return Err(why);
        }
        if is_over {
            self.note(None);
        }
        state.change = (!is_over).then_some(next);
        Ok(())
    }

    fn note(&self, change: Option<&Change>) {
        if let Err(error) = keep(&self.0.folder, change) {
            tracing::warn!("what is raised of the proxy's log levels could not be noted: {error}");
        }
    }
}

// === impl Raised ===

impl Drop for Raised {
    fn drop(&mut self) {
        let (levels, follower) = (self.levels.clone(), self.follower);
        // Without a runtime the server is ending, and its Envoy with it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { levels.end(follower).await });
        }
    }
}
