//! The worker's end of the key stream: what it holds, and its answer to each message.
//!
//! No message leaves a table between two versions: a change is checked from end to end before it is
//! made, and a snapshot is built beside the table that it replaces. What cannot be applied is
//! answered with a Nack, on which the server sends a snapshot. Where a change finds no room, what it takes
//! away is carried out all the same ([`change`]): then there is less in a table than its version says, and
//! all that is said of it to the server says so.
//!
//! Tables that are the same are one: an alias makes them so, a change that names all of them leaves
//! them so, and one that names only some takes those apart, with a copy of what it touches.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use prost::Message as _;

use crate::config::DEFAULT_MAX_TABLE_BYTES;
use crate::decide::Tables;
use crate::table::{Builder, Refused, Table};
use crate::usage::Reporter;
use crate::wire::{
    Ack, Alias, Digest, Nack, ServerMessage, SnapshotBegin, SnapshotChunk, SnapshotEnd, Subscribe,
    TableVersion, Version, server_message,
};

mod change;
#[cfg(test)]
mod tests;
mod watched;

use self::watched::Watched;

/// What must be left of the memory of the VM, whatever the limit of tables is: for messages in flight,
/// requests and configurations. None of those can be refused, so without memory for them the VM dies.
const HEADROOM: usize = 1024 * 1024;
/// The least bytes of a key in a table: digest, span, and a record of one byte.
const KEY_MIN: usize = 16 + 4 + 1;

/// The key tables of one worker.
#[derive(Debug)]
pub struct Replica {
    tables: BTreeMap<String, Held>,
    loading: BTreeMap<String, Loading>,
    watched: Watched,
    /// Keys are used while the tables are lent out, so it is changed through a shared reference.
    usage: RefCell<Reporter>,
    /// All that the tables may occupy, those being loaded included.
    limit: usize,
    /// They occupy no more than this. To add it up takes a while where there are many keys.
    at_most: usize,
}

/// Who subscribes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscriber {
    /// The Envoy node id.
    pub node_id: String,
    /// The node role, `<namespace>~<proxy>`.
    pub role: String,
    /// Names the VM instance.
    pub worker: String,
    /// Version of the filter.
    pub filter_build: String,
    /// Version of the plugin configuration in force.
    pub config_version: u64,
}

/// What a message brought about.
#[derive(Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that anybody needs to know: a snapshot is on its way, or the message is of a kind
    /// that this filter does not know yet.
    None,
    /// A table is now at another version.
    Changed {
        /// Says so to the server.
        ack: Ack,
        /// The table was not there before: whoever waits for it may try again.
        arrived: bool,
    },
    /// The message was refused. What was held is held still, but for what a change takes away for which
    /// there is no room.
    Refused {
        /// Says so to the server.
        nack: Nack,
        /// It would have been taken with more memory.
        no_room: bool,
    },
    /// A table is gone.
    Dropped,
    /// The server has stored reports of use, up to this one, and takes more.
    Reported {
        /// Its number.
        seq: u64,
    },
}

/// The bytes are no message of this protocol, so there is no telling which table missed a change:
/// the stream must be closed and opened anew.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a message of the key stream")]
pub struct NotAMessage(#[from] prost::DecodeError);

#[derive(Debug)]
struct Held {
    table: Arc<Table>,
    version: Version,
}

/// A snapshot between its begin and its end.
#[derive(Debug)]
enum Loading {
    Building(Builder),
    /// Refused: what still comes of it is passed over, so that one snapshot gets one Nack.
    Spoiled,
}

#[derive(Debug, thiserror::Error)]
enum Reason {
    #[error(transparent)]
    Refused(#[from] Refused),
    #[error("the snapshot has no beginning")]
    NoBeginning,
    #[error("the message has no version")]
    NoVersion,
    #[error("the change starts from another version than the one held")]
    Gap,
    #[error("the table has less in it than its version, as there was no room for an earlier change")]
    Less,
    #[error("the table that it should be the same as is not held at that version")]
    NotHeld,
    #[error("the tables would need more than {0} bytes, which is the limit of a worker")]
    Limit(usize),
    #[error("the worker has no memory left")]
    NoMemory,
}

// === impl Replica ===

impl Replica {
    /// Holds nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            tables: BTreeMap::new(),
            loading: BTreeMap::new(),
            watched: Watched::default(),
            usage: RefCell::default(),
            limit: bytes(DEFAULT_MAX_TABLE_BYTES),
            at_most: 0,
        }
    }

    /// Sets what the tables may occupy. What is held stays, however much it is.
    pub fn set_limit(&mut self, max_table_bytes: u32) {
        self.limit = bytes(max_table_bytes);
    }

    /// The first message of a stream.
    #[must_use]
    pub fn subscribe(&self, who: Subscriber) -> Subscribe {
        let held = |(name, held): (&String, &Held)| held.told(name.clone());
        Subscribe {
            node_id: who.node_id,
            role: who.role,
            worker: who.worker,
            filter_build: who.filter_build,
            config_version: who.config_version,
            held: self.tables.iter().map(held).collect(),
            shares: true,
            takes_away: true,
        }
    }

    /// Takes a message of the server.
    ///
    /// # Errors
    ///
    /// When the bytes cannot be decoded.
    pub fn on_message(&mut self, message: &[u8]) -> Result<Effect, NotAMessage> {
        use server_message::Kind;
        let message = ServerMessage::decode(message)?;
        Ok(match message.kind {
            Some(Kind::Begin(begin)) => self.begin(begin),
            Some(Kind::Chunk(chunk)) => self.chunk(&chunk),
            Some(Kind::End(end)) => self.end(end),
            Some(Kind::Delta(delta)) => self.delta(delta),
            Some(Kind::Drop(drop)) => {
                self.loading.remove(&drop.table);
                let Some(held) = self.tables.remove(&drop.table) else { return Ok(Effect::None) };
                self.usage.get_mut().seal_all(&drop.table, held.version.revision);
                Effect::Dropped
            }
            Some(Kind::UsageAck(ack)) => Effect::Reported { seq: ack.seq },
            Some(Kind::Alias(alias)) => self.alias(alias),
            None => Effect::None,
        })
    }

    /// The stream is closed: half a snapshot is worth nothing, what is held stays.
    pub fn on_close(&mut self) {
        self.loading.clear();
    }

    /// How many keys all tables hold.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.tables.values().map(|held| held.table.len()).fold(0, usize::saturating_add)
    }

    /// The newest revision that any table is at.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.tables.values().map(|held| held.version.revision).max().unwrap_or(0)
    }

    /// The version that a table is held at.
    #[must_use]
    pub fn version(&self, table: &str) -> Option<Version> {
        self.tables.get(table).map(|held| held.version)
    }

    /// How often keys were used.
    pub fn usage(&mut self) -> &mut Reporter {
        self.usage.get_mut()
    }

    /// Makes a report of the keys that were used, if it is time.
    pub fn close_usage(&mut self, now: u64, interval_ms: u32) {
        let tables = &self.tables;
        let revision = |table: &str| tables.get(table).map_or(0, |held| held.version.revision);
        self.usage.get_mut().close(now, interval_ms, revision);
    }

    /// Bytes of heap that all tables occupy, those being loaded included.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let part = |table: &Arc<Table>| table.memory_bytes().div_ceil(Arc::strong_count(table).max(1));
        let tables = self.tables.values().map(|held| part(&held.table));
        let loading = self.loading.values().map(|loading| match loading {
            Loading::Building(builder) => builder.memory_bytes(),
            Loading::Spoiled => 0,
        });
        tables.chain(loading).fold(0, usize::saturating_add)
    }

    fn begin(&mut self, begin: SnapshotBegin) -> Effect {
        self.loading.remove(&begin.table);
        // What can never fit is not worth the sending.
        let least = usize::try_from(begin.entries).unwrap_or(usize::MAX).saturating_mul(KEY_MIN);
        if self.memory_bytes().saturating_add(least) > self.limit {
            self.loading.insert(begin.table.clone(), Loading::Spoiled);
            return self.refused(begin.table, &Reason::Limit(self.limit));
        }
        self.loading.insert(begin.table, Loading::Building(Builder::new(begin.entries)));
        Effect::None
    }

    fn chunk(&mut self, chunk: &SnapshotChunk) -> Effect {
        let room = match self.loading.get(&chunk.table) {
            Some(Loading::Spoiled) => return Effect::None,
            Some(Loading::Building(builder)) => Ok(builder.room_for(&chunk.entries)),
            None => Err(Reason::NoBeginning),
        };
        let room = room.and_then(|room| self.check_room(room));
        let outcome = room.and_then(|()| match self.loading.get_mut(&chunk.table) {
            Some(Loading::Building(builder)) => builder.append(&chunk.entries).map_err(Reason::from),
            Some(Loading::Spoiled) | None => Err(Reason::NoBeginning),
        });
        match outcome {
            Ok(()) => Effect::None,
            Err(reason) => {
                self.loading.insert(chunk.table.clone(), Loading::Spoiled);
                self.refused(chunk.table.clone(), &reason)
            }
        }
    }

    fn end(&mut self, end: SnapshotEnd) -> Effect {
        let finished = match (self.loading.remove(&end.table), end.version) {
            (Some(Loading::Spoiled), _) => return Effect::None,
            (None, _) => Err(Reason::NoBeginning),
            (Some(Loading::Building(_)), None) => Err(Reason::NoVersion),
            (Some(Loading::Building(builder)), Some(version)) => {
                let table = builder.finish(version.checksum).map(Arc::new);
                table.map(|table| Held { table, version }).map_err(Reason::from)
            }
        };
        match finished {
            Ok(held) => {
                self.watched.arrives(&end.table);
                let before = self.tables.insert(end.table.clone(), held);
                if let Some(before) = &before {
                    self.usage.get_mut().seal_all(&end.table, before.version.revision);
                }
                self.changed(end.table, Vec::new(), before.is_none())
            }
            Err(reason) => self.refused(end.table, &reason),
        }
    }

    fn alias(&mut self, alias: Alias) -> Effect {
        let Alias { table: name, of, version } = alias;
        let other = self.tables.get(&of).filter(|held| Some(held.version) == version);
        let Some(Held { table, version }) = other else { return self.refused(name, &Reason::NotHeld) };
        let (table, version) = (Arc::clone(table), *version);
        self.loading.remove(&name);
        self.watched.arrives(&name);
        let before = self.tables.insert(name.clone(), Held { table, version });
        if let Some(before) = &before {
            self.usage.get_mut().seal_all(&name, before.version.revision);
        }
        self.changed(name, Vec::new(), before.is_none())
    }

    /// A table is at another version, and others with it.
    fn changed(&self, table: String, also: Vec<String>, arrived: bool) -> Effect {
        let held = self.tables.get(&table).map(|held| held.told(table));
        Effect::Changed { ack: Ack { held, also }, arrived }
    }

    fn refused(&self, table: String, reason: &Reason) -> Effect {
        self.refused_all(table, Vec::new(), reason)
    }

    /// A message was refused: why, and what there is of its tables.
    fn refused_all(&self, table: String, also: Vec<String>, reason: &Reason) -> Effect {
        let no_room =
            matches!(reason, Reason::Limit(_) | Reason::NoMemory | Reason::Refused(Refused::NoMemory));
        let told = |name: &String| match self.tables.get(name) {
            Some(held) => held.told(name.clone()),
            None => TableVersion { table: name.clone(), version: None, content: None },
        };
        let held = also.iter().chain([&table]).map(told).collect();
        Effect::Refused { nack: Nack { table, reason: reason.to_string(), no_room, also, held }, no_room }
    }

    /// Whether there is room for so many bytes more, by the limit and in fact.
    fn check_room(&mut self, more: usize) -> Result<(), Reason> {
        if self.at_most.saturating_add(more) > self.limit {
            self.at_most = self.memory_bytes();
            if self.at_most.saturating_add(more) > self.limit {
                return Err(Reason::Limit(self.limit));
            }
        }
        self.at_most = self.at_most.saturating_add(more);
        let mut probe: Vec<u8> = Vec::new();
        let given = probe.try_reserve_exact(more.saturating_add(HEADROOM));
        // Or the compiler would see that nobody needs it, and not ask.
        std::hint::black_box(&probe);
        given.map_err(|_| Reason::NoMemory)
    }
}

impl Tables for Replica {
    fn table(&self, name: &str) -> Option<&Table> {
        self.tables.get(name).map(|held| held.table.as_ref())
    }

    fn used(&self, table: &str, digest: &Digest) {
        if let Ok(mut usage) = self.usage.try_borrow_mut() {
            usage.count(table, digest);
        }
    }
}

fn bytes(limit: u32) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}

// === impl Held ===

impl Held {
    /// As the server is told of it.
    fn told(&self, table: String) -> TableVersion {
        let content = self.is_less().then(|| self.table.checksum());
        TableVersion { table, version: Some(self.version), content }
    }

    /// There is less in it than the version says.
    fn is_less(&self) -> bool {
        self.table.checksum() != self.version.checksum
    }
}

impl Default for Replica {
    fn default() -> Self {
        Self::new()
    }
}
