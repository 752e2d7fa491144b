//! One key table: its entries, its version and how it came about.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use imbl::{OrdMap, Vector};
use keyward_filter_core::wire::{DIGEST_LEN, Digest, Version, entry_hash, pack_entry};

#[cfg(test)]
mod tests;

/// Bytes of changes in one step of the log, about: a step is the smallest delta, so this bounds how
/// long the application of one delta holds a worker.
const STEP_BYTES: usize = 16 * 1024;
/// A delta up to this size is sent even when a snapshot would be smaller: it is one message and
/// needs no swap.
const SMALL_DELTA_BYTES: u64 = 4 * 1024;
/// What a key stands for, packed as [`keyward_filter_core::record`] says. Where there are no metadata it
/// is the identity, which all tables share.
pub(crate) type Record = Arc<[u8]>;

/// Bytes of a packed entry beside its record.
const ENTRY_OVERHEAD: usize = DIGEST_LEN + 2;

/// The keys that one `AuthConfig` accepts. Cloning is cheap: clones share what they have in common.
#[derive(Debug, Clone)]
pub struct Table {
    content: Content,
    log: Log,
}

/// The entries at a version.
#[derive(Debug, Clone)]
pub(crate) struct Content {
    entries: OrdMap<Digest, Record>,
    version: Version,
    /// What all entries take when packed.
    bytes: u64,
}

/// The last changes, oldest first. Each step leads to where the next one starts, the last one to
/// the version of the table.
#[derive(Debug, Clone)]
struct Log {
    steps: Vector<Arc<Step>>,
    /// How many changes are in all steps, and how many may be.
    changes: usize,
    limit: usize,
    /// Bytes of all steps there ever were.
    bytes: u64,
    /// Memory of all steps, about.
    held: u64,
}

#[derive(Debug)]
struct Step {
    from: Version,
    changes: Box<[EntryChange]>,
    /// Bytes of all steps before this one.
    begins_at: u64,
    bytes: u64,
    held: u64,
}

#[derive(Debug, Clone)]
struct EntryChange {
    digest: Digest,
    before: Option<Record>,
    after: Option<Record>,
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
        let log = Log { steps: Vector::new(), changes: 0, limit, bytes: 0, held: 0 };
        Self { content, log }
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
        let steps = &self.log.steps;
        steps.front()?;
        Some(steps.get(1).map_or(self.content.version, |next| next.from).revision)
    }

    /// Forgets the oldest change in its log, with what is told together with it: the memory that it
    /// took, about.
    pub(crate) fn forget_oldest_change(&mut self) -> u64 {
        self.log.forget_oldest()
    }

    /// Sets or removes entries; those that are so already do not count. Whether anything changed.
    pub(crate) fn update(
        &mut self,
        revision: u64,
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
        // What is added comes before what is removed: when a worker gets this in several deltas, a
        // key that was replaced is at no time without its successor.
        changes.sort_unstable_by_key(|change| (change.after.is_none(), change.digest));
        let revision = revision.max(self.content.version.revision);
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
            self.log.push(from, changes, bytes);
        }
        if !by_steps {
            self.log.forget();
        }
        true
    }

    /// The revision of the first change that a state lacks; `None` when the log does not know the
    /// state, or when it lacks nothing.
    pub(crate) fn first_missed(&self, held: Version) -> Option<u64> {
        let steps = &self.log.steps;
        let start = steps.iter().rposition(|step| step.from.checksum == held.checksum)?;
        let next = steps.get(start + 1).map_or(self.content.version, |step| step.from);
        Some(next.revision)
    }

    /// The way to the present from `from`, or a part of it, of about `max_bytes` at most; `None`
    /// when the log does not reach back so far or a snapshot is the shorter way.
    pub(crate) fn since(&self, from: Version, max_bytes: usize) -> Option<Difference> {
        let now = self.content.version;
        if from.checksum == now.checksum {
            return Some(Difference { to: now, upserts: Vec::new(), removals: Vec::new() });
        }
        // The content counts, not the revision: a worker that comes from before a restart knows
        // its content by another revision. Most ask from near the end.
        let start = self.log.steps.iter().rposition(|step| step.from.checksum == from.checksum)?;
        let way = self.log.bytes - self.log.steps.get(start)?.begins_at;
        if way > self.content.bytes.max(SMALL_DELTA_BYTES) {
            return None;
        }
        let mut merged: BTreeMap<Digest, EntryChange> = BTreeMap::new();
        let mut bytes = 0;
        let mut to = now;
        for step in &self.log.steps.skip(start) {
            bytes += step.bytes;
            if bytes > max_bytes as u64 && !merged.is_empty() {
                to = step.from;
                break;
            }
            for change in &step.changes {
                merged
                    .entry(change.digest)
                    .and_modify(|merged| merged.after.clone_from(&change.after))
                    .or_insert_with(|| change.clone());
            }
        }
        let mut difference = Difference { to, upserts: Vec::new(), removals: Vec::new() };
        for change in merged.values().filter(|change| change.before != change.after) {
            match &change.after {
                Some(record) => pack_entry(&mut difference.upserts, &change.digest, record),
                None => difference.removals.extend_from_slice(&change.digest),
            }
        }
        Some(difference)
    }
}

/// Groups changes into steps of about [`STEP_BYTES`].
fn split(changes: Vec<EntryChange>) -> VecDeque<(Box<[EntryChange]>, usize)> {
    let mut steps = VecDeque::new();
    let mut step = Vec::new();
    let mut bytes = 0;
    for change in changes {
        bytes += change.bytes();
        step.push(change);
        if bytes >= STEP_BYTES {
            steps.push_back((std::mem::take(&mut step).into_boxed_slice(), std::mem::take(&mut bytes)));
        }
    }
    if !step.is_empty() {
        steps.push_back((step.into_boxed_slice(), bytes));
    }
    steps
}

fn hash(digest: &Digest, record: Option<&Record>) -> u64 {
    record.map_or(0, |record| entry_hash(digest, record))
}

// === impl Content ===

impl Content {
    pub(crate) fn version(&self) -> Version {
        self.version
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
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
        for EntryChange { digest, before, after } in changes {
            match after {
                Some(record) => self.entries.insert(*digest, Arc::clone(record)),
                None => self.entries.remove(digest),
            };
            let checksum = &mut self.version.checksum;
            *checksum = checksum.wrapping_sub(hash(digest, before.as_ref()));
            *checksum = checksum.wrapping_add(hash(digest, after.as_ref()));
            self.bytes -= packed_len(before.as_ref());
            self.bytes += packed_len(after.as_ref());
        }
    }
}

fn packed_len(record: Option<&Record>) -> u64 {
    record.map_or(0, |record| (ENTRY_OVERHEAD + record.len()) as u64)
}

// === impl Log ===

impl Log {
    fn push(&mut self, from: Version, changes: Box<[EntryChange]>, bytes: usize) {
        let bytes = bytes as u64;
        let held = changes.iter().map(EntryChange::held).sum();
        self.changes += changes.len();
        self.held += held;
        self.steps.push_back(Arc::new(Step { from, changes, begins_at: self.bytes, bytes, held }));
        self.bytes += bytes;
        while self.changes > self.limit && self.forget_oldest() > 0 {}
    }

    /// Forgets the oldest step: the memory that it took, about.
    fn forget_oldest(&mut self) -> u64 {
        let Some(oldest) = self.steps.pop_front() else { return 0 };
        self.changes -= oldest.changes.len();
        self.held -= oldest.held;
        oldest.held
    }

    fn forget(&mut self) {
        self.steps.clear();
        self.changes = 0;
        self.held = 0;
    }
}

// === impl EntryChange ===

impl EntryChange {
    /// What it takes in memory, as if nobody else held its records.
    fn held(&self) -> u64 {
        let records = [&self.before, &self.after].into_iter().flatten().map(|record| record.len());
        (size_of::<Self>() + records.sum::<usize>()) as u64
    }

    /// What it takes in a delta.
    fn bytes(&self) -> usize {
        match &self.after {
            Some(record) => ENTRY_OVERHEAD + record.len(),
            None => DIGEST_LEN,
        }
    }
}
