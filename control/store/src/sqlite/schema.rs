//! The tables, and every statement on them.
//!
//! `log` holds the changes and with them all bodies; `object` says which change made each object
//! what it is. A body is thus stored once, and a watch is a scan of `log`.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, params};

use crate::error::StoreError;
use crate::record::{Body, Event, Key, Record, Revision, Selector};
use crate::store::Page;

/// Marks the file as ours: "KeyW".
pub(super) const APPLICATION_ID: i32 = 0x4b65_7957;
/// The schema below. A change of it raises the number and brings a migration.
pub(super) const VERSION: i32 = 1;

/// Makes the tables of an empty file.
pub(super) const CREATE: &str = "
CREATE TABLE state (
    id        INTEGER PRIMARY KEY CHECK (id = 0),
    revision  INTEGER NOT NULL, -- of the last change
    compacted INTEGER NOT NULL  -- a watch can start from here on
) STRICT;
INSERT INTO state VALUES (0, 0, 0);

CREATE TABLE log (
    revision  INTEGER PRIMARY KEY,
    created   INTEGER NOT NULL, -- the revision that created the object
    prev      INTEGER,          -- the revision that this one replaces; NULL for a creation
    kind      TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    body      BLOB              -- NULL for a deletion
) STRICT;

CREATE TABLE object (
    kind      TEXT NOT NULL,
    namespace TEXT NOT NULL,
    name      TEXT NOT NULL,
    revision  INTEGER NOT NULL,
    PRIMARY KEY (kind, namespace, name)
) STRICT, WITHOUT ROWID;
";

/// The most events in one batch of a watch, and the bytes after which a batch is closed.
const BATCH_EVENTS: i64 = 512;
const BATCH_BYTES: usize = 4 << 20;

const LIST_COLUMNS: &str = "SELECT l.revision, l.created, l.kind, l.namespace, l.name, l.body
     FROM object AS o JOIN log AS l ON l.revision = o.revision";

/// Where the log begins and ends.
#[derive(Debug, Clone, Copy)]
pub(super) struct State {
    pub(super) revision: Revision,
    pub(super) compacted: Revision,
}

/// What a write needs to know of the object that it changes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    pub(super) revision: Revision,
    pub(super) created: Revision,
}

pub(super) fn state(connection: &Connection) -> rusqlite::Result<State> {
    connection
        .prepare_cached("SELECT revision, compacted FROM state")?
        .query_row([], |row| Ok(State { revision: row.get(0)?, compacted: row.get(1)? }))
}

pub(super) fn get(connection: &Connection, key: &Key) -> rusqlite::Result<Option<Record>> {
    connection
        .prepare_cached(&format!("{LIST_COLUMNS} WHERE o.kind = ?1 AND o.namespace = ?2 AND o.name = ?3"))?
        .query_row(params![key.kind, key.namespace, key.name], record)
        .optional()
}

pub(super) fn list(
    connection: &Connection,
    selector: &Selector,
    after: Option<&Key>,
    limit: Option<usize>,
) -> rusqlite::Result<Page> {
    let revision = state(connection)?.revision;
    // Keys are ordered by kind first: after another kind's key lies all or nothing.
    let (namespace, name) = match after {
        Some(after) if after.kind > selector.kind => {
            return Ok(Page { records: Vec::new(), revision, more: false });
        }
        Some(after) if after.kind == selector.kind => (after.namespace.as_str(), Some(after.name.as_str())),
        _ => ("", None),
    };
    // One more than asked for tells whether more follow. SQLite takes -1 as no limit.
    let rows = limit.map_or(-1, |limit| i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX));
    let mut records = match &selector.namespace {
        None => connection
            .prepare_cached(&format!(
                "{LIST_COLUMNS} WHERE o.kind = ?1 AND (o.namespace, o.name) > (?2, ?3)
                 ORDER BY o.namespace, o.name LIMIT ?4"
            ))?
            .query_map(params![selector.kind, namespace, name.unwrap_or(""), rows], record)?
            .collect::<rusqlite::Result<Vec<_>>>()?,
        Some(wanted) if wanted.as_str() < namespace => Vec::new(),
        Some(wanted) => {
            let after = if wanted == namespace { name } else { None };
            connection
                .prepare_cached(&format!(
                    "{LIST_COLUMNS} WHERE o.kind = ?1 AND o.namespace = ?2 AND o.name > ?3
                     ORDER BY o.name LIMIT ?4"
                ))?
                .query_map(params![selector.kind, wanted, after.unwrap_or(""), rows], record)?
                .collect::<rusqlite::Result<Vec<_>>>()?
        }
    };
    let more = limit.is_some_and(|limit| records.len() > limit);
    records.truncate(limit.unwrap_or(usize::MAX));
    Ok(Page { records, revision, more })
}

/// The objects as they stood at a revision that the log still covers: those that have not changed
/// since, and what later changes have replaced.
pub(super) fn list_at(
    connection: &Connection,
    selector: &Selector,
    after: Option<&Key>,
    limit: Option<usize>,
    at: Revision,
) -> rusqlite::Result<Page> {
    let first = Key::new(selector.kind.as_str(), selector.namespace.as_deref().unwrap_or(""), "");
    let start = after.filter(|after| **after > first).unwrap_or(&first);
    if start.kind > selector.kind {
        return Ok(Page { records: Vec::new(), revision: at, more: false });
    }
    // No namespace sorts behind this one.
    let end = selector.namespace.as_deref().unwrap_or("\u{10ffff}");
    let rows = limit.map_or(-1, |limit| i64::try_from(limit.saturating_add(1)).unwrap_or(i64::MAX));
    let arguments = params![selector.kind, start.namespace, start.name, end, at, rows];
    let mut records = connection
        .prepare_cached(&format!(
            "{LIST_COLUMNS} WHERE o.kind = ?1 AND (o.namespace, o.name) > (?2, ?3) AND o.namespace <= ?4
             AND o.revision <= ?5 ORDER BY o.namespace, o.name LIMIT ?6"
        ))?
        .query_map(arguments, record)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    let replaced = connection
        .prepare_cached(
            "SELECT l.revision, l.created, l.kind, l.namespace, l.name, l.body
             FROM log AS e JOIN log AS l ON l.revision = e.prev
             WHERE e.revision > ?5 AND e.prev <= ?5 AND e.kind = ?1
             AND (e.namespace, e.name) > (?2, ?3) AND e.namespace <= ?4
             ORDER BY e.namespace, e.name LIMIT ?6",
        )?
        .query_map(arguments, record)?
        .collect::<rusqlite::Result<Vec<_>>>()?;
    records.extend(replaced);
    records.sort_unstable_by(|one, other| one.key.cmp(&other.key));
    let more = limit.is_some_and(|limit| records.len() > limit);
    records.truncate(limit.unwrap_or(usize::MAX));
    Ok(Page { records, revision: at, more })
}

/// The changes after `at`, as many as make a batch, and where the log stood when they were read.
pub(super) fn log(connection: &Connection, at: Revision) -> rusqlite::Result<(State, Vec<Event>)> {
    let state = state(connection)?;
    if at < state.compacted {
        return Ok((state, Vec::new()));
    }
    let mut statement = connection.prepare_cached(
        "SELECT revision, created, kind, namespace, name, body, prev FROM log
         WHERE revision > ?1 ORDER BY revision LIMIT ?2",
    )?;
    let mut rows = statement.query(params![at, BATCH_EVENTS])?;
    let mut events = Vec::new();
    let mut bytes = 0_usize;
    while bytes < BATCH_BYTES
        && let Some(row) = rows.next()?
    {
        let event = event(connection, row)?;
        let (now, before) = match &event {
            Event::Put { record, before } => (Some(record), before.as_ref()),
            Event::Delete { last, .. } => (None, Some(last)),
        };
        for record in now.into_iter().chain(before) {
            bytes = bytes.saturating_add(record.body.len());
        }
        events.push(event);
    }
    Ok((state, events))
}

pub(super) fn standing(connection: &Connection, key: &Key) -> rusqlite::Result<Option<Standing>> {
    connection
        .prepare_cached(
            "SELECT l.revision, l.created FROM object AS o JOIN log AS l ON l.revision = o.revision
             WHERE o.kind = ?1 AND o.namespace = ?2 AND o.name = ?3",
        )?
        .query_row(params![key.kind, key.namespace, key.name], |row| {
            Ok(Standing { revision: row.get(0)?, created: row.get(1)? })
        })
        .optional()
}

/// Writes an object: a log entry, and that it is the one that counts.
pub(super) fn put(connection: &Connection, record: &Record, prev: Option<Revision>) -> rusqlite::Result<()> {
    append(connection, &record.key, record.revision, record.created, prev, Some(&record.body))?;
    connection
        .prepare_cached(
            "INSERT INTO object (kind, namespace, name, revision) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT DO UPDATE SET revision = excluded.revision",
        )?
        .execute(params![record.key.kind, record.key.namespace, record.key.name, record.revision])?;
    Ok(())
}

/// Deletes an object: a log entry without a body, and no object.
pub(super) fn delete(connection: &Connection, last: &Record, at: Revision) -> rusqlite::Result<()> {
    append(connection, &last.key, at, last.created, Some(last.revision), None)?;
    connection
        .prepare_cached("DELETE FROM object WHERE kind = ?1 AND namespace = ?2 AND name = ?3")?
        .execute(params![last.key.kind, last.key.namespace, last.key.name])?;
    Ok(())
}

pub(super) fn set_revision(connection: &Connection, revision: Revision) -> rusqlite::Result<()> {
    connection.prepare_cached("UPDATE state SET revision = ?1")?.execute([revision])?;
    Ok(())
}

/// Forgets what only a watch from before `keep_from` would need. Costs as much as there are
/// changes between the last compaction and this one, whatever the size of the store.
pub(super) fn compact(connection: &Connection, keep_from: Revision) -> rusqlite::Result<()> {
    let State { compacted, revision } = state(connection)?;
    let keep_from = keep_from.min(revision);
    if keep_from <= compacted {
        return Ok(());
    }
    let range = params![compacted, keep_from];
    connection
        .prepare_cached(
            "DELETE FROM log WHERE revision IN
             (SELECT prev FROM log WHERE revision > ?1 AND revision <= ?2 AND prev IS NOT NULL)",
        )?
        .execute(range)?;
    connection
        .prepare_cached("DELETE FROM log WHERE revision > ?1 AND revision <= ?2 AND body IS NULL")?
        .execute(range)?;
    connection.prepare_cached("UPDATE state SET compacted = ?1")?.execute([keep_from])?;
    Ok(())
}

fn append(
    connection: &Connection,
    key: &Key,
    revision: Revision,
    created: Revision,
    prev: Option<Revision>,
    body: Option<&Body>,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO log (revision, created, prev, kind, namespace, name, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?
        .execute(params![
            revision,
            created,
            prev,
            key.kind,
            key.namespace,
            key.name,
            body.map(AsRef::as_ref),
        ])?;
    Ok(())
}

fn key(row: &Row<'_>) -> rusqlite::Result<Key> {
    Ok(Key { kind: row.get(2)?, namespace: row.get(3)?, name: row.get(4)? })
}

fn record(row: &Row<'_>) -> rusqlite::Result<Record> {
    Ok(Record {
        revision: row.get(0)?,
        created: row.get(1)?,
        key: key(row)?,
        body: Body::from(row.get_ref(5)?.as_blob()?),
    })
}

fn event(connection: &Connection, row: &Row<'_>) -> rusqlite::Result<Event> {
    // The entry that a change replaces is kept for as long as the change itself can be watched.
    let before = |revision: Revision| {
        let query = "SELECT revision, created, kind, namespace, name, body FROM log WHERE revision = ?1";
        connection.prepare_cached(query)?.query_row([revision], record)
    };
    if row.get_ref(5)?.as_blob_or_null()?.is_some() {
        let before = row.get::<_, Option<Revision>>(6)?.map(before).transpose()?;
        return Ok(Event::Put { record: record(row)?, before });
    }
    Ok(Event::Delete { key: key(row)?, revision: row.get(0)?, last: before(row.get(6)?)? })
}

// === impl State ===

impl State {
    /// Whether a watch can start after a revision.
    pub(super) fn check_start(self, from: Revision) -> Result<(), StoreError> {
        if from < self.compacted {
            return Err(StoreError::Compacted { from, oldest: self.compacted });
        }
        if from > self.revision {
            return Err(StoreError::Future { from, current: self.revision });
        }
        Ok(())
    }
}

// === impl Revision ===

// SQLite's integers are signed: 2^63 changes are out of reach.
impl ToSql for Revision {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let number = i64::try_from(self.0);
        number.map(ToSqlOutput::from).map_err(|source| rusqlite::Error::ToSqlConversionFailure(source.into()))
    }
}

impl FromSql for Revision {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = value.as_i64()?;
        u64::try_from(number).map(Self).map_err(|_| FromSqlError::OutOfRange(number))
    }
}
