//! Opening the file: modes, the lock against a second process, the schema.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::reader::STATEMENTS;
use super::schema;
use crate::record::Revision;

/// How long to wait for a foreign process that has the file locked, such as a backup.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// The write-ahead log is cut back to this many bytes when a checkpoint has emptied it.
const JOURNAL_SIZE_LIMIT: i64 = 64 << 20;

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be made.
    #[error("cannot make the folder {} for the store", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The failure.
        #[source]
        source: io::Error,
    },
    /// The file, or the lock file beside it, cannot be made or opened.
    #[error("cannot open the file {} of the store", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The failure.
        #[source]
        source: io::Error,
    },
    /// Another process has the store open.
    #[error("the store {} is in use by another process{}", path.display(), holder.as_ref().map(|pid| format!(" ({pid})")).unwrap_or_default())]
    InUse {
        /// The file.
        path: PathBuf,
        /// The id of that process, as it wrote it down.
        holder: Option<String>,
    },
    /// The file is there, but it is something else.
    #[error("{} is not a store of Keyward", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file was written by a newer version of Keyward.
    #[error("the store {} has schema {found}, this version of keyward knows up to {known}", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema found.
        found: i32,
        /// The newest schema known.
        known: i32,
    },
    /// SQLite cannot work with the file.
    #[error("cannot open the store {}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// The failure.
        #[source]
        source: rusqlite::Error,
    },
    /// The writer's thread cannot be started.
    #[error("cannot start the writer of the store {}", path.display())]
    Thread {
        /// The file.
        path: PathBuf,
        /// The failure.
        #[source]
        source: io::Error,
    },
}

/// An open store, locked for as long as this lives.
#[derive(Debug)]
pub(super) struct Opened {
    // Fields drop in order: the lock is given up after the connection has written its last.
    pub(super) connection: Connection,
    pub(super) revision: Revision,
    _lock: Lock,
}

/// The lock beside the file.
#[derive(Debug)]
struct Lock(File);

/// Opens or makes the store.
pub(super) fn open(path: &Path) -> Result<Opened, OpenError> {
    let folder = folder_of(path)?;
    let lock = lock(path)?;
    let file = |source| OpenError::File { path: path.to_path_buf(), source };
    let sqlite = |source| OpenError::sqlite(path, source);
    make(path).map_err(file)?;
    let mut connection = Connection::open(path).map_err(sqlite)?;
    // Nothing is changed in a file before it is known to be ours.
    prepare(path, &mut connection)?;
    make_private(path).map_err(file)?;
    set_up(&connection).map_err(sqlite)?;
    let state = schema::state(&connection).map_err(sqlite)?;
    // A new file is durable only when its name is.
    File::open(folder)
        .and_then(|folder| folder.sync_all())
        .map_err(|source| OpenError::Folder { path: folder.to_path_buf(), source })?;
    Ok(Opened { connection, revision: state.revision, _lock: lock })
}

/// The folder of a file, made if it is not there.
pub(super) fn folder_of(path: &Path) -> Result<&Path, OpenError> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|source| OpenError::Folder { path: folder.to_path_buf(), source })?;
    Ok(folder)
}

fn set_up(connection: &Connection) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // FULL: a commit returns after the write-ahead log has reached the disk.
    connection.pragma_update(None, "synchronous", "FULL")?;
    // What is deleted is overwritten: bodies hold API keys.
    connection.pragma_update(None, "secure_delete", "ON")?;
    connection.pragma_update(None, "journal_size_limit", JOURNAL_SIZE_LIMIT)
}

/// Checks that the file is ours and of a version that we know; makes the tables in a new file.
fn prepare(path: &Path, connection: &mut Connection) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::sqlite(path, source);
    connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
    let pragma = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let application = pragma("application_id").map_err(sqlite)?;
    let found = pragma("user_version").map_err(sqlite)?;
    let tables: i64 =
        transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(sqlite)?;
    match (application, found) {
        (0, 0) if tables == 0 => {
            transaction.execute_batch(schema::CREATE).map_err(sqlite)?;
            transaction.pragma_update(None, "application_id", schema::APPLICATION_ID).map_err(sqlite)?;
            transaction.pragma_update(None, "user_version", schema::VERSION).map_err(sqlite)?;
        }
        (schema::APPLICATION_ID, schema::VERSION) => {}
        (schema::APPLICATION_ID, _) => {
            return Err(OpenError::Newer { path: path.to_path_buf(), found, known: schema::VERSION });
        }
        _ => return Err(OpenError::Foreign { path: path.to_path_buf() }),
    }
    transaction.commit().map_err(sqlite)
}

/// Takes the lock beside the file. It goes with the process, however that ends.
fn lock(path: &Path) -> Result<Lock, OpenError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let failed = |source| OpenError::File { path: lock_path.clone(), source };
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(&lock_path)
        .map_err(failed)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let read = file.read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
            let holder = read.then(|| holder.trim().to_owned());
            return Err(OpenError::InUse { path: path.to_path_buf(), holder });
        }
        Err(TryLockError::Error(source)) => return Err(failed(source)),
    }
    // For people who wonder who has it; nothing relies on it.
    file.set_len(0).and_then(|()| file.rewind()).map_err(failed)?;
    writeln!(file, "{}", std::process::id()).map_err(failed)?;
    Ok(Lock(file))
}

/// Makes the file, if it is not there. SQLite gives the same mode to the files that it puts beside
/// it.
pub(super) fn make(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path).map(drop)
}

/// Takes away what others may do with the file.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    let mode = fs::metadata(path)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        tracing::warn!(file = %path.display(), "the store holds keys and was open to others: mode set to 0600");
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
    }
    Ok(())
}

// === impl Lock ===

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would not do while a process that is just being started still has a copy.
        if let Err(error) = self.0.unlock() {
            tracing::warn!("the lock of the store is given up only with the process: {error}");
        }
    }
}

// === impl OpenError ===

impl OpenError {
    /// What to do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Folder { .. } | Self::File { .. } => {
                "check that the folder may be written by this user, or choose another"
            }
            Self::InUse { .. } => "stop the other process, or choose another folder",
            Self::Foreign { .. } => "choose another file, or move this one away",
            Self::Newer { .. } => "use the version of keyward that wrote it, or a later one",
            Self::Sqlite { .. } => {
                "check the free space of the disk; if the file is damaged, restore a backup"
            }
            Self::Thread { .. } => "check the limits on threads and memory of this process",
        }
    }

    pub(super) fn sqlite(path: &Path, source: rusqlite::Error) -> Self {
        match source.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::Foreign { path: path.to_path_buf() },
            _ => Self::Sqlite { path: path.to_path_buf(), source },
        }
    }
}
