//! One key stream from the side of the control server, without the stream.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::wire::{
    Ack, Alias, ClientMessage, Delta, Digest, Drop, Nack, ServerMessage, SnapshotBegin, SnapshotChunk,
    SnapshotEnd, Subscribe, UsageAck, Version, client_message, server_message,
};

use crate::placed::Placed;
use crate::table::{Content, Table};
use crate::view::KeyView;

mod event;
mod slot;
#[cfg(test)]
mod tests;

pub use event::{ProtocolError, SessionEvent, TableUses};
use slot::Slot;

/// The default size of a chunk, 450 keys or so: a worker serves nobody while it appends them.
const CHUNK_BYTES: usize = 16 * 1024;
/// The default size of a delta, 1,000 keys or so: each is a search and a move in the worker, and together
/// they hold it for some milliseconds.
const DELTA_BYTES: usize = 32 * 1024;
/// How much larger a delta may be for a worker without room: what is revoked must not wait behind what does
/// not fit.
const MORE_WITHOUT_ROOM: usize = 32;
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

/// One worker's stream.
///
/// For each table one change at a time is on its way: the next one leaves when the worker has
/// answered, and so does a drop. So an answer is never ambiguous, changes pile up only as a merged
/// delta, and a slow worker holds nothing but its place in the table. Deltas pass a snapshot of
/// another table by.
///
/// Where several names stand for one table, a worker that knows how gets it once: one of them as said,
/// the others as aliases of it, and what changes in one delta for all of them. It need not be known for
/// that which of them the worker has as one: what it holds at the same version is the same.
#[derive(Debug, Default)]
pub struct Session {
    limits: Limits,
    role: Option<String>,
    /// The worker knows of aliases.
    shares: bool,
    /// It knows of deltas that only take away.
    takes_away: bool,
    slots: BTreeMap<Arc<str>, Slot>,
    /// The one snapshot that is being sent.
    loading: Option<Loading>,
    /// Reports are stored up to this one, which the worker was not told.
    stored: Option<u64>,
}

#[derive(Debug)]
struct Loading {
    table: Arc<str>,
    content: Content,
    last: Option<Digest>,
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
            (Kind::Ack(ack), Some(_)) => return self.ack(ack),
            (Kind::Nack(nack), Some(_)) => return Ok(self.nack(nack)),
            (Kind::ConfigApplied(applied), Some(_)) => {
                SessionEvent::ConfigApplied { version: applied.version }
            }
            (Kind::Usage(usage), Some(_)) => event::used(usage)?,
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
            .or_else(|| self.next_alias(&role, view).map(|alias| Kind::Alias(self.send_alias(alias))))
            .or_else(|| self.next_delta(&role, view).map(Kind::Delta))
            .or_else(|| self.next_chunk())
            .or_else(|| self.begin(&role, view).map(Kind::Begin))?;
        Some(ServerMessage { kind: Some(kind) })
    }

    fn subscribe(&mut self, subscribe: Subscribe) -> Result<SessionEvent, ProtocolError> {
        let mut held = Vec::with_capacity(subscribe.held.len());
        for table in subscribe.held {
            let holds = event::holds(&table).ok_or(ProtocolError::NoVersion)?;
            self.slots.insert(Arc::from(table.table.as_str()), Slot::holding(holds));
            held.push((table.table, holds));
        }
        self.role = Some(subscribe.role.clone());
        self.shares = subscribe.shares;
        self.takes_away = subscribe.takes_away;
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
    fn ack(&mut self, ack: Ack) -> Result<Vec<SessionEvent>, ProtocolError> {
        let held = ack.held.ok_or(ProtocolError::NoVersion)?;
        let holds = event::holds(&held).ok_or(ProtocolError::NoVersion)?;
        let version = holds.version;
        let mut events = Vec::new();
        for table in [held.table].into_iter().chain(ack.also) {
            if let Some(slot) = self.slots.get_mut(table.as_str())
                && slot.awaited == Some(version)
            {
                if slot.taking_away {
                    slot.taking_away = false;
                    slot.awaited = None;
                    slot.hold(Some(holds));
                    events.push(SessionEvent::TookAway { table, holds });
                } else {
                    *slot = Slot::holding(holds);
                    events.push(SessionEvent::Acked { table, version });
                }
            }
        }
        Ok(events)
    }

    fn nack(&mut self, nack: Nack) -> Vec<SessionEvent> {
        let loading = self.loading.take_if(|loading| *loading.table == *nack.table).is_some();
        let mut reason = nack.reason;
        reason.truncate(reason.floor_char_boundary(MAX_REASON_LEN));
        let mut events = Vec::new();
        for table in [nack.table].into_iter().chain(nack.also) {
            let mut holds = None;
            if let Some(slot) = self.slots.get_mut(table.as_str()) {
                if let Some(said) = nack.held.iter().find(|said| said.table == table) {
                    slot.hold(event::holds(said));
                }
                if slot.awaited.is_some() || loading {
                    slot.refuse(nack.no_room);
                }
                holds = slot.holds();
            }
            events.push(SessionEvent::Nacked { table, reason: reason.clone(), holds });
        }
        events
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

    /// A table that the worker has by another name, further than by this one.
    fn next_alias(&self, role: &str, view: &KeyView) -> Option<(Alias, Version)> {
        if !self.shares {
            return None;
        }
        let lacks = |(name, placed): &(&Arc<str>, &Placed)| {
            let fresh = Slot::default();
            let slot = self.slots.get(*name).unwrap_or(&fresh);
            slot.refusals == 0 && slot.is_due(placed.version()) && !self.is_loading(name)
        };
        let mut lacking = view.wanted_tables(role).filter(lacks).peekable();
        lacking.peek()?;
        let mut furthest: BTreeMap<*const Table, (u64, &Arc<str>, Version)> = BTreeMap::new();
        for (name, placed) in view.wanted_tables(role) {
            let settled = |slot: &&Slot| slot.awaited.is_none() && slot.refusals == 0 && slot.less.is_none();
            let held = self.slots.get(name).filter(settled).and_then(|slot| slot.held);
            if let Some((held, reach)) = held.and_then(|held| Some((held, placed.table.reach(held)?))) {
                let best = furthest.entry(placed.id()).or_insert((reach, name, held));
                if reach > best.0 {
                    *best = (reach, name, held);
                }
            }
        }
        lacking.find_map(|(name, placed)| {
            let (reach, of, version) = *furthest.get(&placed.id())?;
            let held = self.slots.get(name).filter(|slot| slot.less.is_none()).and_then(|slot| slot.held);
            let own = held.and_then(|held| placed.reach(held));
            (reach >= placed.since && own.is_none_or(|own| own < reach)).then(|| {
                (Alias { table: name.to_string(), of: of.to_string(), version: Some(version) }, version)
            })
        })
    }

    fn send_alias(&mut self, (alias, version): (Alias, Version)) -> Alias {
        let slot = self.slots.entry(Arc::from(alias.table.as_str())).or_default();
        slot.awaited = Some(version);
        alias
    }

    fn next_delta(&mut self, role: &str, view: &KeyView) -> Option<Delta> {
        let mut coming = None;
        for (name, placed) in view.wanted_tables(role) {
            let Some(slot) = self.slots.get(name).filter(|_| !self.is_loading(name)) else { continue };
            let Some(from) = slot.held.filter(|_| slot.takes_delta(placed.version())) else { continue };
            // By a way in that only this one goes it need not come where it comes by another name.
            let mut comes = || coming.get_or_insert_with(|| self.coming(role, view)).contains(&placed.id());
            if slot.refusals == 0 && placed.reach(from).is_none() && comes() {
                continue;
            }
            let is_cramped = slot.is_cramped(placed.version());
            let more = if is_cramped { MORE_WITHOUT_ROOM } else { 1 };
            let max_bytes = self.limits.delta_bytes.saturating_mul(more);
            let taken_away =
                (is_cramped && self.takes_away).then(|| placed.taken_away(from, max_bytes)).flatten();
            let taken_away = taken_away.filter(|difference| !difference.is_empty());
            let takes_away = taken_away.is_some();
            let difference = taken_away.or_else(|| placed.difference(from, max_bytes, is_cramped));
            let Some(difference) = difference else { continue };
            let also = self.alike(role, view, (name, placed), from);
            for name in also.iter().chain([name]) {
                if let Some(slot) = self.slots.get_mut(name) {
                    slot.offered_change = Some(placed.version());
                    if !takes_away {
                        slot.offered = slot.offered_change;
                    }
                    slot.taking_away = takes_away;
                    slot.awaited = Some(difference.to);
                }
            }
            return Some(Delta {
                takes_away,
                table: name.to_string(),
                from: Some(from),
                to: Some(difference.to),
                upserts: difference.upserts,
                removals: difference.removals,
                also: also.iter().map(|name| name.to_string()).collect(),
            });
        }
        None
    }

    /// The names of the same table by which the worker holds the same and may take the same change.
    fn alike(
        &self,
        role: &str,
        view: &KeyView,
        (name, placed): (&Arc<str>, &Placed),
        from: Version,
    ) -> Vec<Arc<str>> {
        if !self.shares {
            return Vec::new();
        }
        let reach = placed.table.reach(from);
        let Some(like) = self.slots.get(name) else { return Vec::new() };
        let is_like = |slot: &Slot, it: &Placed| {
            slot.held == Some(from)
                && slot.less == like.less
                && slot.is_cramped(it.version()) == like.is_cramped(placed.version())
        };
        let others = view.wanted_tables(role).filter(|(other, it)| *other != name && it.id() == placed.id());
        let alike = others.filter(|(other, it)| {
            let slot = self.slots.get(*other).filter(|_| !self.is_loading(other));
            slot.is_some_and(|slot| is_like(slot, it) && slot.takes_delta(it.version()))
                && reach.is_some_and(|reach| reach >= it.since.max(placed.since))
        });
        alike.map(|(other, _)| Arc::clone(other)).collect()
    }

    /// The tables that come to the worker by some name, or are there: by others they come as aliases.
    fn coming(&self, role: &str, view: &KeyView) -> BTreeSet<*const Table> {
        if !self.shares {
            return BTreeSet::new();
        }
        let comes = |(name, placed): &(&Arc<str>, &Placed)| {
            let Some(slot) = self.slots.get(*name).filter(|slot| slot.refusals == 0) else { return false };
            let is_known = |held: Version| placed.reach(held).is_some() && placed.leads_from(held);
            let leads = slot.less.is_none() && slot.held.is_some_and(is_known);
            slot.awaited.is_some() || self.is_loading(name) || leads
        };
        view.wanted_tables(role).filter(comes).map(|(_, placed)| placed.id()).collect()
    }

    fn is_loading(&self, name: &str) -> bool {
        self.loading.as_ref().is_some_and(|loading| *loading.table == *name)
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
        let coming = self.coming(role, view);
        let due = |(name, placed): &(&Arc<str>, &Placed)| {
            let slot = self.slots.get(*name);
            let waits = || slot.is_none_or(|slot| slot.refusals == 0) && coming.contains(&placed.id());
            slot.is_none_or(|slot| slot.is_due(placed.version())) && !waits()
        };
        let (name, placed) =
            view.wanted_tables(role).filter(due).min_by_key(|(_, placed)| placed.table.len())?;
        let content = placed.table.content().clone();
        let begin = SnapshotBegin { table: name.to_string(), entries: content.len() as u64 };
        let slot = self.slots.entry(Arc::clone(name)).or_default();
        slot.offered = Some(content.version());
        self.loading = Some(Loading { table: Arc::clone(name), content, last: None });
        Some(begin)
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { chunk_bytes: CHUNK_BYTES, delta_bytes: DELTA_BYTES }
    }
}
