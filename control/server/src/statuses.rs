//! Writes what there is to say of each object into its stored status.
//!
//! ```text
//! Published ─(what is said, and of which version)─▶ differs from what was said? ─▶ Writer
//! ```
//!
//! A status is written only when it says something new, so that a client that watches is not told
//! twice and nothing is written for nothing; and when somebody else has written after it, so that no
//! other word stays. Secrets have no stored status: there may be a million.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use keyward_api::{StatusWrite, Stored, Writer};
use keyward_resource::{ObjectKey, Report, Saying};
use keyward_store::{Key, Revision, Store, StoreError};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::published::{Published, Version};

/// Changes that come together are said together.
const SETTLE: Duration = Duration::from_millis(20);
/// How many statuses are written at a time: the store syncs them to disk together.
const AT_ONCE: usize = 64;
/// After a failure of the store it is tried again.
const RETRY: Duration = Duration::from_secs(1);

/// Writes statuses.
pub(crate) struct StatusWriter {
    store: Arc<dyn Store>,
    writer: Writer,
    system_namespace: Arc<str>,
    published: watch::Receiver<Arc<Published>>,
    said: HashMap<ObjectKey, Said>,
}

/// What was said of an object, or is to be.
#[derive(Debug, Clone)]
struct Said {
    version: Version,
    report: Option<Report>,
    proxies: BTreeMap<String, Report>,
}

// === impl Said ===

impl Said {
    /// Whether it is what there is to say now, and nobody has written since.
    fn stands(&self, now: &Self) -> bool {
        self.version.says_the_same(&now.version)
            && now.version.written <= self.version.written
            && (&self.report, &self.proxies) == (&now.report, &now.proxies)
    }
}

// === impl StatusWriter ===

impl StatusWriter {
    pub(crate) fn new(
        store: Arc<dyn Store>,
        writer: Writer,
        system_namespace: &str,
        published: watch::Receiver<Arc<Published>>,
    ) -> Self {
        Self { store, writer, system_namespace: system_namespace.into(), published, said: HashMap::new() }
    }

    /// Runs until cancelled.
    pub(crate) async fn run(mut self, cancelled: CancellationToken) -> anyhow::Result<()> {
        loop {
            tokio::select! {
                () = cancelled.cancelled() => return Ok(()),
                changed = self.published.changed() => if changed.is_err() { return Ok(()) },
            }
            sleep(SETTLE).await;
            while let Err(error) = self.catch_up(&cancelled).await {
                tracing::error!("statuses cannot be stored, trying again: {:#}", anyhow::Error::new(error));
                tokio::select! {
                    () = cancelled.cancelled() => return Ok(()),
                    () = sleep(RETRY) => {}
                }
            }
        }
    }

    /// Says everything that is new.
    async fn catch_up(&mut self, cancelled: &CancellationToken) -> Result<(), StoreError> {
        let published = Arc::clone(&self.published.borrow_and_update());
        self.said.retain(|object, _| published.versions.contains_key(object));
        let news: Vec<(ObjectKey, Said)> = published
            .versions
            .iter()
            .filter_map(|(object, version)| {
                let report = published.report(object, version.content);
                let proxies = published.proxies_of(object);
                let said = Said { version: *version, report, proxies };
                let stands = self.said.get(object).is_some_and(|before| before.stands(&said));
                (!stands).then(|| (object.clone(), said))
            })
            .collect();
        let this = &*self;
        let mut writes = futures::stream::iter(news)
            .map(|(object, said)| async move { (this.say(&object, &said).await, object, said) })
            .buffer_unordered(AT_ONCE);
        let mut done = Vec::new();
        let mut failure = None;
        while let Some((outcome, object, mut said)) = writes.next().await {
            match outcome {
                Ok(Some(written)) => {
                    said.version.written = written;
                    done.push((object, said));
                }
                // It has changed since: what is said of it now comes with the next publication.
                Ok(None) => {}
                Err(error) => failure = Some(error),
            }
            if cancelled.is_cancelled() {
                break;
            }
        }
        drop(writes);
        self.said.extend(done);
        failure.map_or(Ok(()), Err)
    }

    /// Stores one status: where it stands now, if it does.
    async fn say(&self, object: &ObjectKey, said: &Said) -> Result<Option<Revision>, StoreError> {
        let key = Key::new(object.kind, &object.namespace, &object.name);
        let Some(record) = self.store.get(key.clone()).await? else { return Ok(None) };
        let previous = Stored::read(&record).ok().and_then(|stored| stored.status);
        let saying = Saying {
            system_namespace: &self.system_namespace,
            generation: said.version.generation,
            report: said.report.as_ref(),
            proxies: &said.proxies,
        };
        let now = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let status = saying.status(previous.as_ref(), &now);
        Ok(match self.writer.write_status(&key, said.version.content, status).await? {
            StatusWrite::Written(record) => Some(record.revision),
            StatusWrite::Unchanged => Some(said.version.written),
            StatusWrite::Outdated => None,
        })
    }
}
