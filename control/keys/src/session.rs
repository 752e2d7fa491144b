//! One key stream from the side of the control server, without the stream.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyward_filter_core::wire::{
    Ack, ClientMessage, Delta, Digest, Drop, Nack, ServerMessage, SnapshotBegin, SnapshotChunk, SnapshotEnd,
    Subscribe, Usage, UsageAck, Version, client_message, server_message, uses,
};

use crate::table::{Content, Table};
use crate::view::KeyView;

#[cfg(test)]
mod tests;

/// Refusals in a row after which a table is offered only once a version.
const MAX_REFUSALS: u32 = 3;
/// The default size of a chunk, 1,800 keys or so: a worker serves nobody while it appends them.
const CHUNK_BYTES: usize = 64 * 1024;
/// The default size of a delta, 2,000 keys or so: each is a search and a move in the worker.
const DELTA_BYTES: usize = 64 * 1024;
/// The longest reason of a refusal that is kept, in bytes.
const MAX_REASON_LEN: usize = 512;

/// How large messages may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Packed bytes in one chunk of a snapshot.
    pub chunk_bytes: usize,
    /// Packed bytes in one delta, about: it has at least one step of a table's log in it.
    pub delta_bytes: usize,
}

/// What a worker said that others want to know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionEvent {
    /// The stream has begun.
    Subscribed {
        /// The Envoy node id.
        node: String,
        /// The node role.
        role: String,
        /// Names the VM instance.
        worker: String,
        /// Version of the filter.
        build: String,
        /// Version of the plugin configuration in force.
        config_version: u64,
        /// What the worker holds from before.
        held: Vec<(String, Version)>,
    },
    /// The worker holds what it was sent last.
    Acked {
        /// The table.
        table: String,
        /// Its version.
        version: Version,
    },
    /// The worker refused what it was sent last.
    Nacked {
        /// The table.
        table: String,
        /// Why.
        reason: String,
    },
    /// A plugin configuration is in force.
    ConfigApplied {
        /// Its version.
        version: u64,
    },
    /// Keys were used.
    Used {
        /// The number of the report: of those of one worker each one counts once.
        seq: u64,
        /// By table.
        tables: Vec<TableUses>,
    },
}

/// How often keys of a table were used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableUses {
    /// The table.
    pub table: String,
    /// The revision at which it was held.
    pub revision: u64,
    /// Keys, how often each was used, and when last in seconds since 1970.
    pub uses: Vec<(Digest, u32, u32)>,
}

/// A message that does not belong where it came. The stream should be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProtocolError {
    /// The first message was another one.
    #[error("the first message of a key stream must be Subscribe")]
    NotSubscribed,
    /// It came again.
    #[error("a key stream has one Subscribe")]
    SubscribedTwice,
    /// It says nothing, or nothing that this server knows.
    #[error("the message is empty or of an unknown kind")]
    Unknown,
    /// A held table came without its version.
    #[error("the message names a table without its version")]
    NoVersion,
    /// The uses in a report are cut off.
    #[error("the uses in a report are not well formed")]
    Uses,
}

/// One worker's stream.
///
/// For each table one change at a time is on its way: the next one leaves when the worker has
/// answered, and so does a drop. So an answer is never ambiguous, changes pile up only as a merged
/// delta, and a slow worker holds nothing but its place in the table. Deltas pass a snapshot of
/// another table by.
#[derive(Debug, Default)]
pub struct Session {
    limits: Limits,
    role: Option<String>,
    slots: BTreeMap<Arc<str>, Slot>,
    /// The one snapshot that is being sent.
    loading: Option<Loading>,
    /// Reports are stored up to this one, which the worker was not told.
    stored: Option<u64>,
}

/// What is known of a table in the worker.
#[derive(Debug, Default)]
struct Slot {
    /// What it holds.
    held: Option<Version>,
    /// What it will hold when it takes what is on its way.
    awaited: Option<Version>,
    /// The version that the table had when the worker was last offered a change of it.
    offered: Option<Version>,
    /// How often in a row it refused.
    refusals: u32,
}

#[derive(Debug)]
struct Loading {
    table: Arc<str>,
    content: Content,
    last: Option<Digest>,
}

fn used(usage: Usage) -> Result<SessionEvent, ProtocolError> {
    let mut tables = Vec::with_capacity(usage.tables.len());
    for table in usage.tables {
        let uses = uses(&table.uses).map_err(|_| ProtocolError::Uses)?.collect();
        tables.push(TableUses { table: table.table, revision: table.revision, uses });
    }
    Ok(SessionEvent::Used { seq: usage.seq, tables })
}

// === impl Session ===

impl Session {
    /// A stream on which nothing has been said yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The same, with messages of another size.
    #[must_use]
    pub fn with_limits(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// The role of the worker, once it has subscribed.
    #[must_use]
    pub fn role(&self) -> Option<&str> {
        self.role.as_deref()
    }

    /// Takes a message of the worker.
    ///
    /// # Errors
    ///
    /// When the message does not belong there. The session is of no use then.
    pub fn on_message(&mut self, message: ClientMessage) -> Result<Vec<SessionEvent>, ProtocolError> {
        use client_message::Kind;
        let kind = message.kind.ok_or(ProtocolError::Unknown)?;
        let event = match (kind, &self.role) {
            (Kind::Subscribe(subscribe), None) => self.subscribe(subscribe)?,
            (Kind::Subscribe(_), Some(_)) => return Err(ProtocolError::SubscribedTwice),
            (_, None) => return Err(ProtocolError::NotSubscribed),
            (Kind::Ack(ack), Some(_)) => return Ok(Vec::from_iter(self.ack(ack)?)),
            (Kind::Nack(nack), Some(_)) => self.nack(nack),
            (Kind::ConfigApplied(applied), Some(_)) => {
                SessionEvent::ConfigApplied { version: applied.version }
            }
            (Kind::Usage(usage), Some(_)) => used(usage)?,
        };
        Ok(vec![event])
    }

    /// All reports of this worker are stored up to this one. Until this was said for the first time the worker
    /// sends none.
    pub fn on_stored(&mut self, seq: u64) {
        self.stored = Some(seq);
    }

    /// The next message to send; `None` when there is nothing to say until either the view or what
    /// the worker has answered is another one. To be called only when there is room for the message.
    pub fn next(&mut self, view: &KeyView) -> Option<ServerMessage> {
        use server_message::Kind;
        let role = self.role.clone()?;
        if let Some(seq) = self.stored.take() {
            return Some(ServerMessage { kind: Some(Kind::UsageAck(UsageAck { seq })) });
        }
        view.wanted(&role)?;
        let kind = None
            .or_else(|| self.next_drop(&role, view).map(Kind::Drop))
            .or_else(|| self.next_delta(&role, view).map(Kind::Delta))
            .or_else(|| self.next_chunk())
            .or_else(|| self.begin(&role, view).map(Kind::Begin))?;
        Some(ServerMessage { kind: Some(kind) })
    }

    fn subscribe(&mut self, subscribe: Subscribe) -> Result<SessionEvent, ProtocolError> {
        let mut held = Vec::with_capacity(subscribe.held.len());
        for table in subscribe.held {
            let version = table.version.ok_or(ProtocolError::NoVersion)?;
            let slot = Slot { held: Some(version), ..Slot::default() };
            self.slots.insert(Arc::from(table.table.as_str()), slot);
            held.push((table.table, version));
        }
        self.role = Some(subscribe.role.clone());
        Ok(SessionEvent::Subscribed {
            node: subscribe.node_id,
            role: subscribe.role,
            worker: subscribe.worker,
            build: subscribe.filter_build,
            config_version: subscribe.config_version,
            held,
        })
    }

    /// Passes over an answer to nothing that is on its way.
    fn ack(&mut self, ack: Ack) -> Result<Option<SessionEvent>, ProtocolError> {
        let held = ack.held.ok_or(ProtocolError::NoVersion)?;
        let version = held.version.ok_or(ProtocolError::NoVersion)?;
        let Some(slot) = self.slots.get_mut(held.table.as_str()) else { return Ok(None) };
        if slot.awaited != Some(version) {
            return Ok(None);
        }
        *slot = Slot { held: Some(version), ..Slot::default() };
        Ok(Some(SessionEvent::Acked { table: held.table, version }))
    }

    fn nack(&mut self, nack: Nack) -> SessionEvent {
        let loading = self.loading.take_if(|loading| *loading.table == *nack.table).is_some();
        if let Some(slot) = self.slots.get_mut(nack.table.as_str())
            && (slot.awaited.take().is_some() || loading)
        {
            slot.refusals = slot.refusals.saturating_add(1);
        }
        let mut reason = nack.reason;
        reason.truncate(reason.floor_char_boundary(MAX_REASON_LEN));
        SessionEvent::Nacked { table: nack.table, reason }
    }

    fn next_drop(&mut self, role: &str, view: &KeyView) -> Option<Drop> {
        // A table that is gone but still wanted stays: a proxy has a policy that reads it, and
        // without the table its requests would wait instead of being answered.
        let wanted = view.wanted(role)?;
        // A change that is on its way is answered first: else, were the table wanted again, that
        // answer would be taken for one to what was sent after the drop.
        let mut droppable = self.slots.iter().filter(|(_, slot)| slot.awaited.is_none());
        let table = droppable
            .find(|(table, _)| !wanted.contains(table.as_ref()))
            .map(|(table, _)| Arc::clone(table))?;
        self.slots.remove(&table);
        self.loading.take_if(|loading| loading.table == table);
        Some(Drop { table: table.to_string() })
    }

    fn next_delta(&mut self, role: &str, view: &KeyView) -> Option<Delta> {
        for (name, table) in view.wanted_tables(role) {
            let Some(slot) = self.slots.get_mut(name) else { continue };
            if self.loading.as_ref().is_some_and(|loading| loading.table == *name) {
                continue;
            }
            let Some(from) = slot.held.filter(|_| slot.takes_delta(table)) else { continue };
            let Some(difference) = table.since(from, self.limits.delta_bytes) else { continue };
            slot.offered = Some(table.version());
            slot.awaited = Some(difference.to);
            return Some(Delta {
                table: name.to_string(),
                from: Some(from),
                to: Some(difference.to),
                upserts: difference.upserts,
                removals: difference.removals,
            });
        }
        None
    }

    fn next_chunk(&mut self) -> Option<server_message::Kind> {
        let loading = self.loading.as_mut()?;
        let table = loading.table.to_string();
        if let Some(chunk) = loading.content.chunk(loading.last, self.limits.chunk_bytes) {
            loading.last = Some(chunk.last);
            return Some(server_message::Kind::Chunk(SnapshotChunk { table, entries: chunk.entries }));
        }
        let version = loading.content.version();
        if let Some(slot) = self.slots.get_mut(&loading.table) {
            slot.awaited = Some(version);
        }
        self.loading = None;
        Some(server_message::Kind::End(SnapshotEnd { table, version: Some(version) }))
    }

    /// Starts the shortest snapshot that is due.
    fn begin(&mut self, role: &str, view: &KeyView) -> Option<SnapshotBegin> {
        let due = |name: &Arc<str>, table: &Table| self.slots.get(name).is_none_or(|slot| slot.is_due(table));
        let (name, table) = view
            .wanted_tables(role)
            .filter(|(name, table)| due(name, table))
            .min_by_key(|(_, it)| it.len())?;
        let content = table.content().clone();
        let begin = SnapshotBegin { table: name.to_string(), entries: content.len() as u64 };
        let slot = self.slots.entry(Arc::clone(name)).or_default();
        slot.offered = Some(content.version());
        self.loading = Some(Loading { table: Arc::clone(name), content, last: None });
        Some(begin)
    }
}

// === impl Slot ===

impl Slot {
    /// Whether the worker should be offered something: it does not hold the table as it is, has
    /// answered, and has not refused too often.
    fn is_due(&self, table: &Table) -> bool {
        let now = Some(table.version());
        self.awaited.is_none() && self.held != now && (self.refusals < MAX_REFUSALS || self.offered != now)
    }

    /// Whether that may be a delta. After a refusal it is a snapshot; where snapshots are refused
    /// too, perhaps for want of memory, only a delta has a chance.
    fn takes_delta(&self, table: &Table) -> bool {
        self.is_due(table) && (self.refusals == 0 || self.refusals >= MAX_REFUSALS)
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { chunk_bytes: CHUNK_BYTES, delta_bytes: DELTA_BYTES }
    }
}
