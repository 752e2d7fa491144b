//! How often each key was used and when last, in a SQLite file beside the store.
//!
//! It is no part of the store: uses are no revisions, nobody watches them, and losing this file loses
//! no object. What is saved together is on the disk together: the uses of a report, and that it was
//! counted.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior, params};

use super::open::{BUSY_TIMEOUT, OpenError, folder_of, make, make_private};
use crate::error::StoreError;

/// Tells that the file is ours: "KwUs".
const APPLICATION_ID: i32 = 0x4b77_5573;
/// The version of the tables.
const VERSION: i32 = 1;

const CREATE: &str = "
CREATE TABLE uses (
    namespace TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The revision that created the Secret: one of the same name that comes later begins anew.
    created INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    -- Seconds since 1970.
    last_used INTEGER NOT NULL,
    PRIMARY KEY (namespace, name)
) STRICT, WITHOUT ROWID;
CREATE TABLE workers (
    node TEXT NOT NULL,
    role TEXT NOT NULL,
    worker TEXT NOT NULL,
    -- The last report that was counted.
    seq INTEGER NOT NULL,
    -- When, in seconds since 1970.
    seen INTEGER NOT NULL,
    PRIMARY KEY (node, role, worker)
) STRICT, WITHOUT ROWID;
";

/// Whoever is in the file must be the same Secret for uses to add up.
const ADD: &str = "
INSERT INTO uses (namespace, name, created, uses, last_used) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (namespace, name) DO UPDATE SET
    uses = excluded.uses + CASE created WHEN excluded.created THEN uses ELSE 0 END,
    last_used = max(excluded.last_used, CASE created WHEN excluded.created THEN last_used ELSE 0 END),
    created = excluded.created";

const SEEN: &str = "
INSERT INTO workers (node, role, worker, seq, seen) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (node, role, worker) DO UPDATE SET seq = excluded.seq, seen = excluded.seen";

/// Uses of the keys of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretUses {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The revision that created it.
    pub created: u64,
    /// How often one of its keys let a request pass.
    pub uses: u64,
    /// When last, in seconds since 1970.
    pub last_used: u64,
}

/// Who reports.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerName {
    /// The Envoy node id.
    pub node: String,
    /// The node role.
    pub role: String,
    /// Names the VM instance.
    pub worker: String,
}

/// How far the reports of a worker are counted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Who reports.
    pub worker: WorkerName,
    /// The last report.
    pub seq: u64,
    /// When it came, in seconds since 1970.
    pub seen: u64,
}

/// The file.
#[derive(Debug)]
pub struct UsageFile {
    connection: Mutex<Connection>,
}

/// Numbers in SQLite have a sign. Nobody gets so far.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<SecretUses> {
    Ok(SecretUses {
        namespace: row.get(0)?,
        name: row.get(1)?,
        created: unsigned(row.get(2)?),
        uses: unsigned(row.get(3)?),
        last_used: unsigned(row.get(4)?),
    })
}

fn failed(action: &'static str) -> impl FnOnce(rusqlite::Error) -> StoreError {
    move |source| StoreError::Backend { action, source: Box::new(source) }
}

// === impl UsageFile ===

impl UsageFile {
    /// Opens the file at `path`, or makes one. To be called by whoever has the store open that lies
    /// beside it.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub fn open(path: &Path) -> Result<Self, OpenError> {
        let file = |source| OpenError::File { path: path.to_path_buf(), source };
        let sqlite = |source| OpenError::sqlite(path, source);
        folder_of(path)?;
        make(path).map_err(file)?;
        let mut connection = Connection::open(path).map_err(sqlite)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(sqlite)?;
        prepare(path, &mut connection)?;
        make_private(path).map_err(file)?;
        connection.pragma_update(None, "journal_mode", "WAL").map_err(sqlite)?;
        // Workers are told that a report is stored when it is.
        connection.pragma_update(None, "synchronous", "FULL").map_err(sqlite)?;
        Ok(Self { connection: Mutex::new(connection) })
    }

    /// How far the reports of each worker are counted.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn workers(&self) -> Result<Vec<Counted>, StoreError> {
        let read = |connection: &Connection| {
            let mut statement = connection.prepare("SELECT node, role, worker, seq, seen FROM workers")?;
            let rows = statement.query_map([], |row| {
                let worker = WorkerName { node: row.get(0)?, role: row.get(1)?, worker: row.get(2)? };
                Ok(Counted { worker, seq: unsigned(row.get(3)?), seen: unsigned(row.get(4)?) })
            })?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read(&self.connection()).map_err(failed("read who reported uses"))
    }

    /// Adds uses, and notes which reports they are from; forgets workers that have not reported since
    /// `forget_before`. All of it or nothing.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn add(
        &self,
        uses: &[SecretUses],
        workers: &[Counted],
        forget_before: u64,
    ) -> Result<(), StoreError> {
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut add = transaction.prepare_cached(ADD)?;
            for SecretUses { namespace, name, created, uses, last_used } in uses {
                let numbers = [created, uses, last_used].map(|number| signed(*number));
                add.execute(params![namespace, name, numbers[0], numbers[1], numbers[2]])?;
            }
            drop(add);
            let mut seen_now = transaction.prepare_cached(SEEN)?;
            for Counted { worker, seq, seen } in workers {
                let WorkerName { node, role, worker } = worker;
                seen_now.execute(params![node, role, worker, signed(*seq), signed(*seen)])?;
            }
            drop(seen_now);
            transaction.execute("DELETE FROM workers WHERE seen < ?1", [signed(forget_before)])?;
            transaction.commit()
        };
        write(&mut self.connection()).map_err(failed("save uses of keys"))
    }

    /// The uses of Secrets by namespace and name, at most so many, of those behind `after`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn list(
        &self,
        namespace: Option<&str>,
        after: Option<(&str, &str)>,
        limit: usize,
    ) -> Result<Vec<SecretUses>, StoreError> {
        let read = |connection: &Connection| {
            let mut statement = connection.prepare_cached(
                "SELECT namespace, name, created, uses, last_used FROM uses
                 WHERE (namespace, name) > (?1, ?2) AND (?3 IS NULL OR namespace = ?3)
                 ORDER BY namespace, name LIMIT ?4",
            )?;
            // The names of one namespace stand together: there is no need to pass over those before it.
            let (from, name) = after.unwrap_or((namespace.unwrap_or_default(), ""));
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = statement.query_map(params![from, name, namespace, limit], row)?;
            rows.collect::<rusqlite::Result<Vec<_>>>()
        };
        read(&self.connection()).map_err(failed("read uses of keys"))
    }

    /// The Secrets that are used most, at most so many, the one that is used most first. Goes through all.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn top(&self, count: usize) -> Result<Vec<SecretUses>, StoreError> {
        let read = |connection: &Connection| {
            let mut statement = connection.prepare_cached(
                "SELECT namespace, name, created, uses, last_used FROM uses
                 ORDER BY uses DESC, namespace, name LIMIT ?1",
            )?;
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            statement.query_map([count], row)?.collect::<rusqlite::Result<Vec<_>>>()
        };
        read(&self.connection()).map_err(failed("read which keys are used most"))
    }

    /// Forgets the uses of Secrets that are gone, unless they have been created anew since.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn forget(&self, gone: &[SecretUses]) -> Result<(), StoreError> {
        let write = |connection: &mut Connection| {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut delete = transaction
                .prepare_cached("DELETE FROM uses WHERE namespace = ?1 AND name = ?2 AND created = ?3")?;
            for SecretUses { namespace, name, created, .. } in gone {
                delete.execute(params![namespace, name, signed(*created)])?;
            }
            drop(delete);
            transaction.commit()
        };
        write(&mut self.connection()).map_err(failed("forget uses of keys"))
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Checks that the file is ours; makes the tables in a new one.
fn prepare(path: &Path, connection: &mut Connection) -> Result<(), OpenError> {
    let sqlite = |source| OpenError::sqlite(path, source);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
    let pragma = |name: &str| transaction.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, found) =
        (pragma("application_id").map_err(sqlite)?, pragma("user_version").map_err(sqlite)?);
    let any = transaction.query_row("SELECT 1 FROM sqlite_schema LIMIT 1", [], |_| Ok(()));
    let is_new = any.optional().map_err(sqlite)?.is_none();
    match (application, found) {
        (0, 0) if is_new => {
            transaction.execute_batch(CREATE).map_err(sqlite)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(sqlite)?;
            transaction.pragma_update(None, "user_version", VERSION).map_err(sqlite)?;
        }
        (APPLICATION_ID, VERSION) => {}
        (APPLICATION_ID, _) => {
            return Err(OpenError::Newer { path: path.to_path_buf(), found, known: VERSION });
        }
        _ => return Err(OpenError::Foreign { path: path.to_path_buf() }),
    }
    transaction.commit().map_err(sqlite)
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn file() -> (UsageFile, TempDir) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        (UsageFile::open(&folder.path().join("usage.db")).expect("a new file"), folder)
    }

    fn uses(namespace: &str, name: &str, created: u64, uses: u64, last_used: u64) -> SecretUses {
        SecretUses { namespace: namespace.to_owned(), name: name.to_owned(), created, uses, last_used }
    }

    fn counted(worker: &str, seq: u64, seen: u64) -> Counted {
        let worker = WorkerName { node: "n".into(), role: "r".into(), worker: worker.into() };
        Counted { worker, seq, seen }
    }

    fn all(file: &UsageFile) -> Vec<SecretUses> {
        file.list(None, None, 100).expect("a list")
    }

    #[test]
    fn uses_add_up_and_outlive_the_process() {
        let (file, folder) = file();
        file.add(&[uses("a", "ann", 1, 3, 50), uses("a", "bob", 2, 1, 40)], &[counted("w", 1, 50)], 0)
            .expect("saved");
        file.add(&[uses("a", "ann", 1, 2, 45)], &[counted("w", 2, 60), counted("x", 1, 60)], 0)
            .expect("saved");
        drop(file);
        let file = UsageFile::open(&folder.path().join("usage.db")).expect("the same file");
        assert_eq!(all(&file), [uses("a", "ann", 1, 5, 50), uses("a", "bob", 2, 1, 40)]);
        let mut workers = file.workers().expect("the workers");
        workers.sort();
        assert_eq!(workers, [counted("w", 2, 60), counted("x", 1, 60)]);
    }

    #[test]
    fn a_secret_that_is_created_again_begins_anew() {
        let (file, _folder) = file();
        file.add(&[uses("a", "ann", 1, 3, 50)], &[], 0).expect("saved");
        file.add(&[uses("a", "ann", 7, 2, 45)], &[], 0).expect("saved");
        assert_eq!(all(&file), [uses("a", "ann", 7, 2, 45)]);
        file.forget(&[uses("a", "ann", 1, 0, 0)]).expect("forgotten");
        assert_eq!(all(&file).len(), 1, "that one is gone already");
        file.forget(&[uses("a", "ann", 7, 0, 0)]).expect("forgotten");
        assert_eq!(all(&file), []);
    }

    #[test]
    fn lists_are_sorted_and_come_in_pages() {
        let (file, _folder) = file();
        let rows = [("a", "b"), ("a", "c"), ("a-b", "a"), ("b", "a"), ("b", "b")];
        let saved: Vec<_> =
            rows.iter().rev().map(|(namespace, name)| uses(namespace, name, 1, 1, 1)).collect();
        file.add(&saved, &[], 0).expect("saved");
        let names = |page: Vec<SecretUses>| -> Vec<(String, String)> {
            page.into_iter().map(|row| (row.namespace, row.name)).collect()
        };
        let owned = |rows: &[(&str, &str)]| -> Vec<(String, String)> {
            rows.iter().map(|(namespace, name)| ((*namespace).into(), (*name).into())).collect()
        };
        let page = |namespace, after, limit| names(file.list(namespace, after, limit).expect("a page"));
        assert_eq!(page(None, None, 100), owned(&rows));
        assert_eq!(page(None, None, 2), owned(&rows[..2]));
        assert_eq!(page(None, Some(("a", "c")), 2), owned(&rows[2..4]));
        assert_eq!(page(Some("b"), None, 100), owned(&rows[3..]));
        assert_eq!(page(Some("b"), Some(("b", "a")), 100), owned(&rows[4..]));
        assert_eq!(page(Some("c"), None, 100), owned(&[]));
    }

    #[test]
    fn those_that_are_used_most_come_first() {
        let (file, _folder) = file();
        file.add(
            &[uses("a", "ann", 1, 3, 50), uses("a", "bob", 2, 9, 40), uses("b", "cat", 3, 3, 10)],
            &[],
            0,
        )
        .expect("saved");
        let names = |count| {
            let top = file.top(count).expect("a list");
            top.into_iter().map(|row| (row.name, row.uses)).collect::<Vec<_>>()
        };
        assert_eq!(names(9), [("bob".to_owned(), 9), ("ann".to_owned(), 3), ("cat".to_owned(), 3)]);
        assert_eq!(names(1), [("bob".to_owned(), 9)]);
    }

    #[test]
    fn workers_that_are_gone_for_long_are_forgotten() {
        let (file, _folder) = file();
        file.add(&[], &[counted("old", 9, 10), counted("new", 3, 20)], 0).expect("saved");
        file.add(&[], &[], 15).expect("saved");
        assert_eq!(file.workers().expect("the workers"), [counted("new", 3, 20)]);
    }

    #[test]
    fn a_file_of_somebody_else_is_left_alone() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("usage.db");
        let other = Connection::open(&path).expect("a file");
        other.execute_batch("CREATE TABLE mine (it INTEGER)").expect("a table");
        drop(other);
        assert!(matches!(UsageFile::open(&path), Err(OpenError::Foreign { .. })));
        std::fs::write(&path, "something else altogether, and no database").expect("written");
        assert!(matches!(UsageFile::open(&path), Err(OpenError::Foreign { .. })));
        drop(std::fs::remove_file(&path));
        drop(UsageFile::open(&path).expect("a new one"));
        let newer = Connection::open(&path).expect("the file");
        newer.pragma_update(None, "user_version", VERSION + 1).expect("a later version");
        drop(newer);
        assert!(matches!(UsageFile::open(&path), Err(OpenError::Newer { .. })));
    }
}
