//! Notices that something has changed in a folder.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep};

/// Quiet for so long means that whoever writes is done.
const QUIET: Duration = Duration::from_millis(100);
/// Somebody who never stops writing is not waited for longer.
const PATIENCE: Duration = Duration::from_secs(1);

/// Watches a folder, and the one around it: the folder itself may be renamed, and its path may be a
/// link that leads elsewhere from one moment to the next.
pub(crate) struct Watcher {
    root: PathBuf,
    changes: mpsc::Receiver<()>,
    watcher: Option<RecommendedWatcher>,
    /// The folder that is watched: its device and its number there.
    watched: Option<(u64, u64)>,
}

fn identity(root: &Path) -> Option<(u64, u64)> {
    let metadata = fs::metadata(root).ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Reading is no change, and it is what a look at the folder does itself.
fn is_change(kind: EventKind) -> bool {
    !matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}

fn watcher(root: &Path, changed: mpsc::Sender<()>) -> notify::Result<RecommendedWatcher> {
    let inside = root.to_path_buf();
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        let matters = event.map_or(true, |event| {
            let is_inside =
                event.paths.is_empty() || event.paths.iter().any(|path| path.starts_with(&inside));
            is_change(event.kind) && (is_inside || event.need_rescan())
        });
        if matters {
            // There is one place: if it is taken, somebody will look anyway.
            let _ = changed.try_send(());
        }
    })?;
    if let Some(parent) = root.parent() {
        watcher.watch(parent, RecursiveMode::NonRecursive)?;
    }
    Ok(watcher)
}

// === impl Watcher ===

impl Watcher {
    /// Watches a folder by its absolute path. Where that is not possible it says so in the log, and
    /// no change is ever noticed.
    pub(crate) fn new(root: &Path) -> Self {
        let (sender, changes) = mpsc::channel(1);
        let watcher = watcher(root, sender)
            .inspect_err(|error| {
                tracing::warn!(
                    "the folder of resources cannot be watched, only looked at again and again: {error}"
                );
            })
            .ok();
        let mut watcher = Self { root: root.to_path_buf(), changes, watcher, watched: None };
        watcher.follow();
        watcher
    }

    /// Watches what the path leads to now. To be called before the folder is read, so that no change
    /// falls in between.
    pub(crate) fn follow(&mut self) {
        let now = identity(&self.root);
        let Some(watcher) = self.watcher.as_mut().filter(|_| now != self.watched) else { return };
        if self.watched.take().is_some() {
            // What was there may be gone already, and its watch with it.
            let _ = watcher.unwatch(&self.root);
        }
        if now.is_some()
            && let Err(error) = watcher.watch(&self.root, RecursiveMode::Recursive)
        {
            tracing::warn!("not all of the folder of resources can be watched, only looked at: {error}");
        }
        self.watched = now;
    }

    /// Waits until something has changed and nothing changes any more, but not for good.
    pub(crate) async fn changed(&mut self) {
        if self.changes.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
        let patience = Instant::now() + PATIENCE;
        loop {
            sleep(QUIET).await;
            let more = self.changes.try_recv().is_ok();
            if !more || Instant::now() >= patience {
                return;
            }
        }
    }
}
