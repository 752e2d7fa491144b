//! Writing: one thread, which makes one transaction of all the writes that wait.
//!
//! Many writers at once thus share one fsync, and no write is answered before it.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use rusqlite::{Connection, TransactionBehavior};
use tokio::sync::{mpsc, oneshot, watch};

use super::open::Opened;
use super::schema;
use crate::error::StoreError;
use crate::record::{Body, Key, Record, Revision};

/// Writes that may wait; more wait in their own tasks.
pub(super) const QUEUE: usize = 1024;
/// The most writes in one transaction, so that none waits long for its neighbours.
const BATCH: usize = 512;

/// A write.
#[derive(Debug)]
pub(super) enum Operation {
    Create { key: Key, body: Body },
    Update { key: Key, expected: Option<Revision>, body: Body },
    Delete { key: Key, expected: Option<Revision> },
}

/// What is asked of the writer, and who waits for it.
#[derive(Debug)]
pub(super) enum Request {
    /// A write.
    Write { operation: Operation, answer: oneshot::Sender<Answer> },
    /// The end of a compaction: what was deleted is to be gone from the write-ahead log as well.
    EmptyLog { answer: oneshot::Sender<()> },
    /// A step of a compaction, a transaction of its own.
    Compact { keep_from: Revision, answer: oneshot::Sender<Result<(), StoreError>> },
}

/// What a write has done.
#[derive(Debug)]
pub(super) struct Written {
    /// The change.
    pub(super) revision: Revision,
    /// The object as it stands now, or as it was when it was deleted.
    pub(super) record: Record,
}

type Answer = Result<Written, StoreError>;
type Waiting = (Operation, oneshot::Sender<Answer>);

/// What can stop a write: a reason of its own, or the storage, which stops the whole batch.
enum Stop {
    Refused(StoreError),
    Failed(rusqlite::Error),
}

struct Writer {
    opened: Opened,
    head: watch::Sender<Revision>,
}

/// Starts the thread. It ends when `queue` is closed and empty; only then is the file free.
pub(super) fn start(
    opened: Opened,
    mut queue: mpsc::Receiver<Request>,
    head: watch::Sender<Revision>,
) -> io::Result<JoinHandle<()>> {
    let mut writer = Writer { opened, head };
    thread::Builder::new().name("store-writer".into()).spawn(move || {
        while let Some(first) = queue.blocking_recv() {
            let mut batch = Vec::new();
            let mut next = Some(first);
            while let Some(request) = next {
                match request {
                    Request::Write { operation, answer } => batch.push((operation, answer)),
                    Request::EmptyLog { answer } => {
                        writer.empty_log();
                        let _ = answer.send(());
                    }
                    Request::Compact { keep_from, answer } => writer.compact(keep_from, answer),
                }
                next = if batch.len() < BATCH { queue.try_recv().ok() } else { None };
            }
            if !batch.is_empty() {
                writer.write(batch);
            }
        }
        // The file alone is then the whole store, for whoever copies it.
        writer.empty_log();
    })
}

// === impl Writer ===

impl Writer {
    /// Runs a batch of writes as one transaction and answers them after it is durable.
    fn write(&mut self, batch: Vec<Waiting>) {
        let (operations, waiting): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
        let answers: Vec<Answer> = match self.commit(operations) {
            Ok((revision, answers)) => {
                self.opened.revision = revision;
                self.head.send_replace(revision);
                answers
            }
            Err(failure) => {
                tracing::error!(error = %failure, writes = waiting.len(), "the store could not write");
                let failure = Arc::new(failure);
                let failed = || StoreError::Backend { action: "write", source: Arc::clone(&failure).into() };
                waiting.iter().map(|_| Err(failed())).collect()
            }
        };
        for (waiting, answer) in waiting.into_iter().zip(answers) {
            // Whoever no longer waits does not care.
            let _ = waiting.send(answer);
        }
    }

    /// Moves the write-ahead log into the file and cuts it to nothing. Readers under way keep it from
    /// that, which is no failure: the next time does it.
    fn empty_log(&self) {
        let emptied = self.opened.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        if let Err(error) = emptied {
            tracing::warn!(%error, "the write-ahead log of the store could not be emptied");
        }
    }

    fn compact(&mut self, keep_from: Revision, answer: oneshot::Sender<Result<(), StoreError>>) {
        let compacted = self.compact_now(keep_from);
        let failed =
            |source: rusqlite::Error| StoreError::Backend { action: "compact", source: source.into() };
        let _ = answer.send(compacted.map_err(failed));
    }

    fn compact_now(&mut self, keep_from: Revision) -> rusqlite::Result<()> {
        let transaction = self.opened.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        schema::compact(&transaction, keep_from)?;
        transaction.commit()
    }

    fn commit(&mut self, operations: Vec<Operation>) -> rusqlite::Result<(Revision, Vec<Answer>)> {
        let mut revision = self.opened.revision;
        let transaction = self.opened.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut answers = Vec::with_capacity(operations.len());
        for operation in operations {
            answers.push(match operation.run(&transaction, &mut revision) {
                Ok(written) => Ok(written),
                Err(Stop::Refused(reason)) => Err(reason),
                Err(Stop::Failed(failure)) => return Err(failure),
            });
        }
        if revision != self.opened.revision {
            schema::set_revision(&transaction, revision)?;
        }
        transaction.commit()?;
        Ok((revision, answers))
    }
}

// === impl Operation ===

impl Operation {
    /// Runs inside a transaction. `at` is the last revision and moves on with every change; a
    /// refused write changes nothing.
    fn run(self, connection: &Connection, at: &mut Revision) -> Result<Written, Stop> {
        let next = Revision(at.0 + 1);
        let record = match self {
            Self::Create { key, body } => {
                if let Some(there) = schema::standing(connection, &key)? {
                    return Err(StoreError::AlreadyExists { key, current: there.revision }.into());
                }
                let record = Record { key, revision: next, created: next, body };
                schema::put(connection, &record, None)?;
                record
            }
            Self::Update { key, expected, body } => {
                let there =
                    expect(schema::standing(connection, &key)?, &key, expected, |there| there.revision)?;
                let record = Record { key, revision: next, created: there.created, body };
                schema::put(connection, &record, Some(there.revision))?;
                record
            }
            Self::Delete { key, expected } => {
                let last = expect(schema::get(connection, &key)?, &key, expected, |last| last.revision)?;
                schema::delete(connection, &last, next)?;
                last
            }
        };
        *at = next;
        Ok(Written { revision: next, record })
    }
}

fn expect<T>(
    there: Option<T>,
    key: &Key,
    expected: Option<Revision>,
    revision: impl Fn(&T) -> Revision,
) -> Result<T, Stop> {
    let Some(there) = there else {
        return Err(StoreError::NotFound { key: key.clone() }.into());
    };
    let current = revision(&there);
    match expected {
        Some(expected) if expected != current => {
            Err(StoreError::Conflict { key: key.clone(), expected, current }.into())
        }
        _ => Ok(there),
    }
}

// === impl Stop ===

impl From<StoreError> for Stop {
    fn from(reason: StoreError) -> Self {
        Self::Refused(reason)
    }
}

impl From<rusqlite::Error> for Stop {
    fn from(failure: rusqlite::Error) -> Self {
        Self::Failed(failure)
    }
}
