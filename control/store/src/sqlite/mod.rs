//! The store in one SQLite file.
//!
//! ```text
//!  writes ─▶ bounded queue ─▶ one writer thread ─▶ one transaction and one fsync for all that waits
//!  reads  ─▶ a few read-only connections, each read one consistent transaction
//!  watch  ─▶ reads the log after its revision whenever the head has moved
//! ```

mod open;
mod reader;
mod schema;
#[cfg(test)]
mod tests;
mod usage;
mod writer;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

use async_trait::async_trait;
use tokio::sync::{mpsc, oneshot, watch};

pub use self::open::OpenError;
use self::reader::Readers;
pub use self::usage::{Counted, SecretUses, UsageFile, WorkerName};
use self::writer::{Operation, Request};
use crate::error::StoreError;
use crate::record::{Body, Key, Record, Revision, Selector};
use crate::store::{Page, Store};
use crate::watch::{Watch, follow};

/// How many revisions one compaction step looks at, so that writes pass in between.
const COMPACTION_STEP: u64 = 4096;

/// A [`Store`] in a SQLite file.
///
/// Dropping it waits for the writes under way and gives the file free.
#[derive(Debug)]
pub struct SqliteStore {
    /// `None` only while dropping: the writer ends when its queue does.
    requests: Option<mpsc::Sender<Request>>,
    writer: Option<JoinHandle<()>>,
    readers: Arc<Readers>,
    head: watch::Receiver<Revision>,
}

// === impl SqliteStore ===

impl SqliteStore {
    /// Opens the store in the file at `path`, or makes one. Missing folders are made with mode
    /// 0700 and the file with mode 0600, because Secrets are inside.
    ///
    /// Takes some milliseconds, longer after a crash.
    ///
    /// # Errors
    ///
    /// [`OpenError`], also when another process has the file open.
    pub async fn open(path: impl Into<PathBuf>) -> Result<Self, OpenError> {
        let path = path.into();
        let opening = path.clone();
        match tokio::task::spawn_blocking(move || Self::open_now(&opening)).await {
            Ok(opened) => opened,
            Err(panicked) => Err(OpenError::Thread { path, source: io::Error::other(panicked) }),
        }
    }

    fn open_now(path: &Path) -> Result<Self, OpenError> {
        let opened = open::open(path)?;
        let readers = Arc::new(Readers::new(path));
        let (requests, queue) = mpsc::channel(writer::QUEUE);
        let (publish, head) = watch::channel(opened.revision);
        let writer = writer::start(opened, queue, publish)
            .map_err(|source| OpenError::Thread { path: path.to_path_buf(), source })?;
        Ok(Self { requests: Some(requests), writer: Some(writer), readers, head })
    }

    async fn write(&self, operation: Operation) -> Result<writer::Written, StoreError> {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Write { operation, answer }).await?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    async fn compact_step(&self, keep_from: Revision) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        self.ask(Request::Compact { keep_from, answer }).await?;
        answered.await.map_err(|_| StoreError::Closed)?
    }

    async fn ask(&self, request: Request) -> Result<(), StoreError> {
        let requests = self.requests.as_ref().ok_or(StoreError::Closed)?;
        requests.send(request).await.map_err(|_| StoreError::Closed)
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn create(&self, key: Key, body: Body) -> Result<Record, StoreError> {
        Ok(self.write(Operation::Create { key, body }).await?.record)
    }

    async fn update(&self, key: Key, expected: Option<Revision>, body: Body) -> Result<Record, StoreError> {
        Ok(self.write(Operation::Update { key, expected, body }).await?.record)
    }

    async fn delete(&self, key: Key, expected: Option<Revision>) -> Result<(Revision, Record), StoreError> {
        let written = self.write(Operation::Delete { key, expected }).await?;
        Ok((written.revision, written.record))
    }

    async fn get(&self, key: Key) -> Result<Option<Record>, StoreError> {
        self.readers.read("read an object", move |connection| schema::get(connection, &key)).await
    }

    async fn list(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
    ) -> Result<Page, StoreError> {
        self.readers
            .read("list objects", move |connection| {
                schema::list(connection, &selector, after.as_ref(), limit)
            })
            .await
    }

    async fn list_at(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
        at: Revision,
    ) -> Result<Page, StoreError> {
        let read = self.readers.read("list objects of the past", move |connection| {
            let state = schema::state(connection)?;
            match state.check_start(at) {
                Ok(()) => schema::list_at(connection, &selector, after.as_ref(), limit, at).map(Ok),
                Err(refused) => Ok(Err(refused)),
            }
        });
        read.await?
    }

    async fn watch(&self, from: Revision) -> Result<Watch, StoreError> {
        let start = self.readers.read("start a watch", schema::state).await?;
        start.check_start(from)?;
        let readers = Arc::clone(&self.readers);
        Ok(follow(from, self.head.clone(), move |at| {
            let readers = Arc::clone(&readers);
            async move {
                let read = readers.read("read its log", move |connection| schema::log(connection, at));
                let (state, events) = read.await?;
                state.check_start(at)?;
                Ok(events)
            }
        }))
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        Ok(*self.head.borrow())
    }

    async fn compact(&self, keep_from: Revision) -> Result<(), StoreError> {
        let state = self.readers.read("start a compaction", schema::state).await?;
        let end = keep_from.min(state.revision);
        let mut at = state.compacted;
        while at < end {
            at = Revision(at.0.saturating_add(COMPACTION_STEP)).min(end);
            self.compact_step(at).await?;
        }
        // Connections that stand idle would keep the log from being emptied.
        self.readers.close();
        let (answer, answered) = oneshot::channel();
        self.ask(Request::EmptyLog { answer }).await?;
        answered.await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // Before the writer: the last connection to the file is the one that can empty its log.
        self.readers.close();
        drop(self.requests.take());
        if let Some(writer) = self.writer.take()
            && writer.join().is_err()
        {
            tracing::error!("the writer of the store has panicked");
        }
    }
}
