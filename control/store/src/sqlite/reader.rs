//! Reading: a few connections of their own, so that a read never waits for a write.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, OpenFlags};
use tokio::sync::Semaphore;

use super::open::BUSY_TIMEOUT;
use crate::error::StoreError;

/// Reads that run at once; more wait for their turn.
const READERS: usize = 4;
/// Statements kept prepared by a connection; there are fewer.
pub(super) const STATEMENTS: usize = 32;

/// The connections for reading, opened when first needed.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    turns: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

// === impl Readers ===

impl Readers {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), turns: Arc::new(Semaphore::new(READERS)), idle: Mutex::default() }
    }

    /// Runs a read as one transaction: all its statements see the same state.
    pub(super) async fn read<T, Read>(
        self: &Arc<Self>,
        action: &'static str,
        read: Read,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        Read: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let turn = Arc::clone(&self.turns).acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let readers = Arc::clone(self);
        let reading = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            readers.read_now(read)
        });
        match reading.await {
            Ok(read) => read.map_err(|source| StoreError::Backend { action, source: source.into() }),
            Err(panicked) => Err(StoreError::Backend { action, source: panicked.into() }),
        }
    }

    /// Closes the connections that are idle.
    pub(super) fn close(&self) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn read_now<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.connect()?,
        };
        let transaction = connection.transaction()?;
        // A connection that has failed is closed instead of used again.
        let done = read(&transaction)?;
        transaction.finish()?;
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
        Ok(done)
    }

    fn connect(&self) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        Ok(connection)
    }
}
