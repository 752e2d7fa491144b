//! Which keys are used: what workers report, summed up for each Secret and kept over restarts.
//!
//! ```text
//!  key streams ─reports▶ Ledger ─batch, once a second▶ UsageFile ─▶ GET /keyward/v1/usage
//!                          ▲                               │
//!                          └──── stored: workers are told ─┘
//! ```
//!
//! A report is acknowledged once it is on the disk, together with its number: a server that dies has
//! either counted it or is sent it again. Uses are no revisions of the store and wake no watch. In memory
//! there is no more than what came since the last batch.

mod ledger;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use keyward_keys::{KeyIndex, TableUses};
use keyward_resource::ObjectRef;
use keyward_store::{SecretUses, StoreError, UsageFile, WorkerName};
use tokio::sync::{Notify, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::published::Published;
use ledger::{Ledger, Use};

/// What comes within this time is saved together.
const TOGETHER: Duration = Duration::from_secs(1);
/// A file that cannot be written is tried again after this.
const RETRY: Duration = Duration::from_secs(5);
/// How often the uses of Secrets that are gone are forgotten.
const SWEEP: Duration = Duration::from_secs(5 * 60);
/// So many rows are looked at in one step of that.
const SWEEP_STEP: usize = 1_000;
/// For so many seconds the number of the last report of a worker is kept that says nothing any more.
const FORGET_AFTER: u64 = 24 * 60 * 60;

/// The uses of all keys.
#[derive(Debug, Clone)]
pub(crate) struct Usage {
    ledger: Arc<Mutex<Ledger>>,
    file: Arc<UsageFile>,
    taken: Arc<Notify>,
    stored: watch::Sender<()>,
    now: fn() -> u64,
}

/// Uses of Secrets by namespace and name, and behind which one the next page begins.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) rows: Vec<SecretUses>,
    pub(crate) next: Option<ObjectRef>,
}

fn seconds() -> u64 {
    u64::try_from(Timestamp::now().as_second()).unwrap_or_default()
}

fn exists(index: &KeyIndex, row: &SecretUses) -> bool {
    index.created(&ObjectRef::new(&row.namespace, &row.name)) == Some(row.created)
}

async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    spawn_blocking(act).await.unwrap_or(Err(StoreError::Closed))
}

// === impl Usage ===

impl Usage {
    /// Goes on where the file ends.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub(crate) fn new(file: UsageFile) -> Result<Self, StoreError> {
        let ledger = Ledger::new(file.workers()?);
        Ok(Self {
            ledger: Arc::new(Mutex::new(ledger)),
            file: Arc::new(file),
            taken: Arc::new(Notify::new()),
            stored: watch::Sender::new(()),
            now: seconds,
        })
    }

    /// Takes a report of a worker, unless it was taken before. Uses of keys that are nobody's any more
    /// count for nobody.
    pub(crate) fn take(&self, worker: &WorkerName, seq: u64, tables: &[TableUses], index: &KeyIndex) {
        let now = (self.now)();
        let mut uses = Vec::new();
        for table in tables {
            let users = index.users(&table.table, table.revision);
            uses.extend(table.uses.iter().filter_map(|(digest, uses, last_used)| {
                let (id, created) = users.of(digest)?;
                // A proxy's clock may be ahead, but nothing is used in the future.
                let last_used = u64::from(*last_used).min(now);
                Some(Use { id: id.clone(), created, uses: u64::from(*uses), last_used })
            }));
        }
        if self.ledger().take(worker, seq, uses, now) {
            self.taken.notify_one();
        }
    }

    /// The last report of a worker that is stored; 0 if none is.
    pub(crate) fn stored(&self, worker: &WorkerName) -> u64 {
        self.ledger().stored(worker)
    }

    /// Tells when more reports are stored.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.stored.subscribe()
    }

    /// Saves what was reported, until cancelled, and what there is then.
    pub(crate) async fn run(
        self,
        published: watch::Receiver<Arc<Published>>,
        cancelled: CancellationToken,
    ) -> anyhow::Result<()> {
        let mut sweep_at = Instant::now() + TOGETHER;
        loop {
            tokio::select! {
                () = cancelled.cancelled() => {
                    self.save().await;
                    return Ok(());
                }
                () = self.taken.notified() => {}
                () = sleep_until(sweep_at) => {
                    if let Err(error) = self.sweep(&published).await {
                        tracing::warn!("uses of Secrets that are gone are kept: {:#}", anyhow::Error::new(error));
                    }
                    sweep_at = Instant::now() + SWEEP;
                    continue;
                }
            }
            tokio::select! {
                () = cancelled.cancelled() => {}
                () = sleep(TOGETHER) => {}
            }
            while !self.save().await && !cancelled.is_cancelled() {
                tokio::select! {
                    () = cancelled.cancelled() => {}
                    () = sleep(RETRY) => {}
                }
            }
        }
    }

    /// The uses of Secrets that exist, at most so many.
    pub(crate) async fn list(
        &self,
        published: &watch::Receiver<Arc<Published>>,
        namespace: Option<String>,
        mut after: Option<ObjectRef>,
        limit: usize,
    ) -> Result<Page, StoreError> {
        let mut rows = Vec::new();
        loop {
            let missing = limit.saturating_sub(rows.len());
            let page = self.page(namespace.clone(), after.clone(), missing).await?;
            let is_last = page.len() < missing;
            after = page.last().map(|row| ObjectRef::new(&row.namespace, &row.name)).or(after);
            // Of Secrets that are gone there may be rows yet.
            rows.extend(of_index(published, |index| {
                page.into_iter().filter(|row| exists(index, row)).collect::<Vec<_>>()
            }));
            if is_last || rows.len() >= limit {
                return Ok(Page { rows, next: after.filter(|_| !is_last) });
            }
        }
    }

    /// The Secrets that are used most, at most so many, the one that is used most first.
    pub(crate) async fn top(
        &self,
        published: &watch::Receiver<Arc<Published>>,
        count: usize,
    ) -> Result<Vec<SecretUses>, StoreError> {
        let file = Arc::clone(&self.file);
        let mut rows = blocking(move || file.top(count)).await?;
        of_index(published, |index| rows.retain(|row| exists(index, row)));
        Ok(rows)
    }

    /// Saves what was reported since the last time. Whether that went well.
    async fn save(&self) -> bool {
        let Some(batch) = self.ledger().batch() else { return true };
        let (file, forget_before) = (Arc::clone(&self.file), (self.now)().saturating_sub(FORGET_AFTER));
        let saved = blocking(move || {
            let outcome = file.add(&batch.uses, &batch.workers, forget_before);
            Ok((batch, outcome))
        });
        let (batch, outcome) = match saved.await {
            Ok(saved) => saved,
            // The process ends.
            Err(_) => return false,
        };
        match outcome {
            Ok(()) => {
                self.ledger().saved(batch, forget_before);
                self.stored.send_replace(());
                true
            }
            Err(error) => {
                tracing::error!("uses of keys could not be saved: {:#}", anyhow::Error::new(error));
                self.ledger().not_saved(batch);
                false
            }
        }
    }

    /// Forgets the uses of Secrets that are gone.
    async fn sweep(&self, published: &watch::Receiver<Arc<Published>>) -> Result<(), StoreError> {
        // Before the first translation no Secret is known.
        if published.borrow().revision.is_none() {
            return Ok(());
        }
        let mut after = None;
        loop {
            let page = self.page(None, after, SWEEP_STEP).await?;
            let Some(last) = page.last().filter(|_| page.len() == SWEEP_STEP) else {
                return self.forget_gone(published, page).await;
            };
            after = Some(ObjectRef::new(&last.namespace, &last.name));
            self.forget_gone(published, page).await?;
        }
    }

    async fn forget_gone(
        &self,
        published: &watch::Receiver<Arc<Published>>,
        mut page: Vec<SecretUses>,
    ) -> Result<(), StoreError> {
        of_index(published, |index| page.retain(|row| !exists(index, row)));
        if page.is_empty() {
            return Ok(());
        }
        let file = Arc::clone(&self.file);
        blocking(move || file.forget(&page)).await
    }

    async fn page(
        &self,
        namespace: Option<String>,
        after: Option<ObjectRef>,
        limit: usize,
    ) -> Result<Vec<SecretUses>, StoreError> {
        let file = Arc::clone(&self.file);
        blocking(move || {
            let after = after.as_ref().map(|after| (after.namespace.as_str(), after.name.as_str()));
            file.list(namespace.as_deref(), after, limit)
        })
        .await
    }

    /// Never held across an await.
    fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at the index.
fn of_index<T>(published: &watch::Receiver<Arc<Published>>, look: impl FnOnce(&KeyIndex) -> T) -> T {
    let published = published.borrow().clone();
    let index = published.index.read().unwrap_or_else(PoisonError::into_inner);
    look(&index)
}
