//! One key table: its entries, its version and how it came about.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;
use keyward_filter_core::wire::{DIGEST_LEN, Digest, Version, pack_entry};

mod log;
#[cfg(test)]
mod tests;

use log::{EntryChange, Log, Step, Way, sort, split};

/// A delta up to this size is sent even when a snapshot would be smaller: it is one message and
/// needs no swap.
const SMALL_DELTA_BYTES: u64 = 4 * 1024;
/// What a key stands for, packed as [`keyward_filter_core::record`] says. Where there are no metadata it
/// is the identity, which all tables share.
pub(crate) type Record = Arc<[u8]>;

/// Bytes of a packed entry beside its record.
const ENTRY_OVERHEAD: usize = DIGEST_LEN + 2;

/// The keys that one choice of Secrets makes valid. Cloning is cheap: clones share what they have in common.
#[derive(Debug, Clone)]
pub struct Table {
    content: Content,
    log: Log,
}

/// When a batch of changes was made: each of them after one revision, and none after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) after: u64,
    pub(crate) to: u64,
}

/// The entries at a version.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    entries: OrdMap<Digest, Record>,
    version: Version,
    /// What all entries take when packed.
    bytes: u64,
}

/// The way from one version to a later one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) to: Version,
    /// Packed entries, ascending.
    pub(crate) upserts: Vec<u8>,
    /// Digests, ascending.
    pub(crate) removals: Vec<u8>,
}

/// A part of the entries, packed.
#[derive(Debug)]
pub(crate) struct Chunk {
    pub(crate) entries: Vec<u8>,
    /// The last digest in it.
    pub(crate) last: Digest,
}

// === impl Table ===

impl Table {
    /// An empty table that keeps at most `limit` changes in its log.
    pub(crate) fn new(revision: u64, limit: usize) -> Self {
        let version = Version { revision, checksum: 0 };
        let content = Content { entries: OrdMap::new(), version, bytes: 0 };
        Self { content, log: Log::new(limit) }
    }

    /// The state that it is in.
    #[must_use]
    pub fn version(&self) -> Version {
        self.content.version
    }

    /// How many keys it accepts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.content.entries.len()
    }

    /// Whether it accepts no key at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.content.entries.is_empty()
    }

    /// What a digest stands for.
    #[must_use]
    pub fn get(&self, digest: &Digest) -> Option<&[u8]> {
        self.content.entries.get(digest).map(AsRef::as_ref)
    }

    /// All entries, ascending by digest.
    pub fn iter(&self) -> impl Iterator<Item = (&Digest, &[u8])> {
        self.content.entries.iter().map(|(digest, record)| (digest, record.as_ref()))
    }

    pub(crate) fn content(&self) -> &Content {
        &self.content
    }

    /// What its log takes in memory, about.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log.held
    }

    /// The revision of the oldest change in its log.
    pub(crate) fn oldest_change(&self) -> Option<u64> {
        let next = || self.log.steps.get(1).map_or(self.content.version, |next| next.from);
        (!self.log.is_empty()).then(|| next().revision)
    }

    /// Forgets the oldest change in its log, with what is told together with it: the memory that it
    /// took, about.
    pub(crate) fn forget_oldest_change(&mut self) -> u64 {
        self.log.forget_oldest()
    }

    /// Sets or removes entries; those that are so already do not count. Whether anything changed.
    pub(crate) fn update(
        &mut self,
        span: Span,
        entries: impl IntoIterator<Item = (Digest, Option<Record>)>,
    ) -> bool {
        let mut changes = Vec::new();
        for (digest, after) in entries {
            let before = self.content.entries.get(&digest).cloned();
            if before != after {
                changes.push(EntryChange { digest, before, after });
            }
        }
        if changes.is_empty() {
            return false;
        }
        sort(&mut changes);
        let revision = span.to.max(self.content.version.revision);
        // Who lacks this may lack the first change of the batch.
        let complete_to = span.after.min(revision.saturating_sub(1));
        let mut steps = split(changes);
        // A state half-way bears the revision that it leaves, so that a revision is reached only
        // with all of it. Where that would be the same one, nobody must come by there.
        let by_steps = steps.len() == 1 || revision > self.content.version.revision;
        while let Some((changes, bytes)) = steps.pop_front() {
            let from = self.content.version;
            self.content.apply(&changes);
            if steps.is_empty() {
                self.content.version.revision = revision;
            }
            self.log.push(from, complete_to, changes, bytes);
        }
        if !by_steps {
            self.log.forget();
        }
        true
    }

    /// Notes how another table, in whose place this one is from now on, leads to what this one is: unless a
    /// snapshot would be the shorter way.
    pub(crate) fn enter_from(&mut self, other: &Self) {
        let mut changes = Vec::new();
        let mut bytes = 0;
        for item in other.content.entries.diff(&self.content.entries) {
            let (digest, before, after) = match item {
                DiffItem::Add(digest, after) => (digest, None, Some(after)),
                DiffItem::Update { old: (digest, before), new: (_, after) } => {
                    (digest, Some(before), Some(after))
                }
                DiffItem::Remove(digest, before) => (digest, Some(before), None),
            };
            let change = EntryChange { digest: *digest, before: before.cloned(), after: after.cloned() };
            bytes += change.bytes() as u64;
            if bytes > self.content.worth() {
                return;
            }
            changes.push(change);
        }
        sort(&mut changes);
        let mut from = other.content.version;
        let mut steps = Vec::new();
        for (changes, bytes) in split(changes) {
            let step = Step::new(from, 0, changes, 0, bytes);
            from.checksum = step.changes.iter().fold(from.checksum, |sum, change| change.applied_to(sum));
            steps.push(step);
        }
        self.log.enter(steps);
    }

    /// The revision up to which a state has everything: that before the first change that it lacks. `None`
    /// when the log does not know the state.
    pub(crate) fn reach(&self, held: Version) -> Option<u64> {
        let now = self.content.version;
        if held.checksum == now.checksum {
            return Some(u64::MAX);
        }
        let next = self.log.steps.get(self.log.position(held)?)?;
        Some(next.complete_to)
    }

    /// Whether changes lead from a state to the present, and not only a snapshot; see [`since`](Self::since).
    pub(crate) fn leads_from(&self, from: Version, entered: u64) -> bool {
        from.checksum == self.content.version.checksum || self.way(from, entered, false).is_some()
    }

    /// The way to the present from `from`, or a part of it, of about `max_bytes` at most; `None`
    /// when the log does not reach back so far, or when a snapshot is the shorter way and it is not `urgent`.
    /// States from before `entered` count as not known.
    pub(crate) fn since(
        &self,
        from: Version,
        entered: u64,
        max_bytes: usize,
        urgent: bool,
    ) -> Option<Difference> {
        let now = self.content.version;
        if from.checksum == now.checksum {
            return Some(Difference { to: now, upserts: Vec::new(), removals: Vec::new() });
        }
        let way = self.way(from, entered, urgent)?;
        let (merged, to) = self.merged(&way, max_bytes);
        let mut difference = Difference { to, upserts: Vec::new(), removals: Vec::new() };
        merged.values().filter(|change| change.before != change.after).for_each(|it| difference.add(it));
        Some(difference)
    }

    /// What the way to the present from `from` takes away: keys, and what narrower records of keys no longer give.
    /// Of that about `max_bytes` at most; it leads nowhere, so `to` is where it starts.
    pub(crate) fn taken_away(&self, from: Version, entered: u64, max_bytes: usize) -> Option<Difference> {
        let (merged, _) = self.merged(&self.way(from, entered, true)?, usize::MAX);
        let mut difference = Difference { to: from, upserts: Vec::new(), removals: Vec::new() };
        for change in merged.values().filter(|change| change.takes_away()) {
            if difference.upserts.len() + difference.removals.len() >= max_bytes {
                break;
            }
            difference.add(change);
        }
        Some(difference)
    }

    /// All changes of a way as one, or of its beginning, of about `max_bytes`, and where that leads.
    fn merged(&self, way: &Way<'_>, max_bytes: usize) -> (BTreeMap<Digest, EntryChange>, Version) {
        let mut merged: BTreeMap<Digest, EntryChange> = BTreeMap::new();
        let mut bytes = 0;
        let rest = self.log.steps.skip(way.skipped);
        for step in way.entry.iter().chain(rest.iter().map(AsRef::as_ref)) {
            bytes += step.bytes;
            if bytes > max_bytes as u64 && !merged.is_empty() {
                return (merged, step.from);
            }
            for change in &step.changes {
                merged
                    .entry(change.digest)
                    .and_modify(|merged| merged.after.clone_from(&change.after))
                    .or_insert_with(|| change.clone());
            }
        }
        (merged, self.content.version)
    }

    fn way(&self, from: Version, entered: u64, urgent: bool) -> Option<Way<'_>> {
        let way = match self.log.position(from).filter(|_| self.reach(from).is_some_and(|to| to >= entered)) {
            Some(skipped) => Way { entry: &[], skipped },
            None => self.log.way_in(from)?,
        };
        let begins_at = self.log.steps.get(way.skipped).map_or(self.log.bytes, |step| step.begins_at);
        let bytes = way.entry.iter().map(|step| step.bytes).sum::<u64>() + self.log.bytes - begins_at;
        (urgent || bytes <= self.content.worth()).then_some(way)
    }
}

fn packed_len(record: Option<&Record>) -> u64 {
    record.map_or(0, |record| (ENTRY_OVERHEAD + record.len()) as u64)
}

// === impl Difference ===

impl Difference {
    pub(crate) fn is_empty(&self) -> bool {
        self.upserts.is_empty() && self.removals.is_empty()
    }

    fn add(&mut self, change: &EntryChange) {
        match &change.after {
            Some(record) => pack_entry(&mut self.upserts, &change.digest, record),
            None => self.removals.extend_from_slice(&change.digest),
        }
    }
}

// === impl Content ===

impl Content {
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The longest way to it that is worth going: beyond that a snapshot is shorter.
    fn worth(&self) -> u64 {
        self.bytes.max(SMALL_DELTA_BYTES)
    }

    /// The entries after `after`, about `max_bytes` of them and at least one; `None` at the end.
    pub(crate) fn chunk(&self, after: Option<Digest>, max_bytes: usize) -> Option<Chunk> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut entries = Vec::new();
        let mut last = None;
        for (digest, record) in self.entries.range((start, Bound::Unbounded)) {
            if !entries.is_empty() && entries.len() + ENTRY_OVERHEAD + record.len() > max_bytes {
                break;
            }
            pack_entry(&mut entries, digest, record);
            last = Some(*digest);
        }
        last.map(|last| Chunk { entries, last })
    }

    fn apply(&mut self, changes: &[EntryChange]) {
        for change in changes {
            let EntryChange { digest, before, after } = change;
            match after {
                Some(record) => self.entries.insert(*digest, Arc::clone(record)),
                None => self.entries.remove(digest),
            };
            self.version.checksum = change.applied_to(self.version.checksum);
            self.bytes -= packed_len(before.as_ref());
            self.bytes += packed_len(after.as_ref());
        }
    }
}
