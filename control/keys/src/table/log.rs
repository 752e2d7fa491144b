//! The last changes of a table.

use std::collections::VecDeque;
use std::sync::Arc;

use imbl::Vector;
use keyward_filter_core::record::Record as KeyRecord;
use keyward_filter_core::wire::{DIGEST_LEN, Digest, Version, entry_hash};

use super::{ENTRY_OVERHEAD, Record};

/// Bytes of changes in one step of the log, about: a step is the smallest delta, so this bounds how
/// long the application of one delta holds a worker.
pub(super) const STEP_BYTES: usize = 16 * 1024;

/// The last changes, oldest first. Each step leads to where the next one starts, the last one to
/// the version of the table.
#[derive(Debug, Clone)]
pub(super) struct Log {
    pub(super) steps: Vector<Arc<Step>>,
    /// Ways in from other tables, oldest first.
    entries: Vector<Arc<Entry>>,
    /// How many changes are in all steps, and how many may be.
    pub(super) changes: usize,
    pub(super) limit: usize,
    /// Bytes of all steps there ever were.
    pub(super) bytes: u64,
    /// Memory of all steps, about.
    pub(super) held: u64,
}

/// How another table, in whose place this one is now, leads into it.
#[derive(Debug)]
struct Entry {
    steps: Vec<Step>,
    /// Bytes of all steps of the log that went before.
    leads_to: u64,
    changes: usize,
    held: u64,
}

/// The steps from a state to the present one: of an entry, and then of the log.
pub(super) struct Way<'a> {
    pub(super) entry: &'a [Step],
    /// How many steps of the log are not on it.
    pub(super) skipped: usize,
}

#[derive(Debug)]
pub(super) struct Step {
    pub(super) from: Version,
    /// The revision up to which a state has everything that lacks it.
    pub(super) complete_to: u64,
    pub(super) changes: Box<[EntryChange]>,
    /// Bytes of all steps before this one.
    pub(super) begins_at: u64,
    pub(super) bytes: u64,
    pub(super) held: u64,
}

#[derive(Debug, Clone)]
pub(super) struct EntryChange {
    pub(super) digest: Digest,
    pub(super) before: Option<Record>,
    pub(super) after: Option<Record>,
}

/// What is added comes before what is removed: when a worker gets this in several deltas, a key that was
/// replaced is at no time without its successor.
pub(super) fn sort(changes: &mut [EntryChange]) {
    changes.sort_unstable_by_key(|change| (change.after.is_none(), change.digest));
}

/// Groups changes into steps of about [`STEP_BYTES`].
pub(super) fn split(changes: Vec<EntryChange>) -> VecDeque<(Box<[EntryChange]>, usize)> {
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

// === impl Log ===

impl Log {
    /// Nothing has changed yet; at most `limit` changes are kept.
    pub(super) fn new(limit: usize) -> Self {
        Self { steps: Vector::new(), entries: Vector::new(), changes: 0, limit, bytes: 0, held: 0 }
    }

    pub(super) fn push(
        &mut self,
        from: Version,
        complete_to: u64,
        changes: Box<[EntryChange]>,
        bytes: usize,
    ) {
        let step = Step::new(from, complete_to, changes, self.bytes, bytes);
        self.changes += step.changes.len();
        self.held += step.held;
        self.bytes += step.bytes;
        self.steps.push_back(Arc::new(step));
        self.keep_limit();
    }

    /// Whether it holds anything.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.entries.is_empty()
    }

    /// Adds a way in, to the present.
    pub(super) fn enter(&mut self, steps: Vec<Step>) {
        if steps.is_empty() {
            return;
        }
        let changes = steps.iter().map(|step| step.changes.len()).sum();
        let held = steps.iter().map(|step| step.held).sum();
        self.changes += changes;
        self.held += held;
        self.entries.push_back(Arc::new(Entry { steps, leads_to: self.bytes, changes, held }));
        self.keep_limit();
    }

    pub(super) fn keep_limit(&mut self) {
        while self.changes > self.limit && self.forget_oldest() > 0 {}
    }

    /// The step from a state on. The content counts, not the revision: a worker that comes from before a
    /// restart knows its content by another revision. Most ask from near the end.
    pub(super) fn position(&self, from: Version) -> Option<usize> {
        self.steps.iter().rposition(|step| step.from.checksum == from.checksum)
    }

    pub(super) fn way_in(&self, from: Version) -> Option<Way<'_>> {
        self.entries.iter().rev().find_map(|entry| {
            let begin = entry.steps.iter().position(|step| step.from.checksum == from.checksum)?;
            let before = |step: &Arc<Step>| step.begins_at < entry.leads_to;
            let skipped = self.steps.iter().take_while(|step| before(step)).count();
            Some(Way { entry: entry.steps.get(begin..)?, skipped })
        })
    }

    /// Forgets the oldest step, or a way in that leads no further than there: the memory that it took, about.
    pub(super) fn forget_oldest(&mut self) -> u64 {
        let begin = self.steps.front().map_or(self.bytes, |step| step.begins_at);
        let held = if self.entries.front().is_some_and(|entry| entry.leads_to <= begin) {
            let Some(oldest) = self.entries.pop_front() else { return 0 };
            self.changes -= oldest.changes;
            oldest.held
        } else {
            let Some(oldest) = self.steps.pop_front() else { return 0 };
            self.changes -= oldest.changes.len();
            oldest.held
        };
        self.held -= held;
        held
    }

    pub(super) fn forget(&mut self) {
        self.entries.clear();
        self.steps.clear();
        self.changes = 0;
        self.held = 0;
    }
}

// === impl Step ===

impl Step {
    pub(super) fn new(
        from: Version,
        complete_to: u64,
        changes: Box<[EntryChange]>,
        begins_at: u64,
        bytes: usize,
    ) -> Self {
        let held = changes.iter().map(EntryChange::held).sum();
        Self { from, complete_to, changes, begins_at, bytes: bytes as u64, held }
    }
}

// === impl EntryChange ===

impl EntryChange {
    /// What it makes of the checksum of a table.
    pub(super) fn applied_to(&self, checksum: u64) -> u64 {
        let before = hash(&self.digest, self.before.as_ref());
        checksum.wrapping_sub(before).wrapping_add(hash(&self.digest, self.after.as_ref()))
    }

    /// Whether a key is revoked by it, or gets a record that gives less. What cannot be read gives nothing.
    pub(super) fn takes_away(&self) -> bool {
        match (&self.before, &self.after) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(before), Some(after)) => match (KeyRecord::parse(before), KeyRecord::parse(after)) {
                (Ok(before), Ok(after)) => after.narrows(before),
                _ => true,
            },
        }
    }

    /// What it takes in memory, as if nobody else held its records.
    pub(super) fn held(&self) -> u64 {
        let records = [&self.before, &self.after].into_iter().flatten().map(|record| record.len());
        (size_of::<Self>() + records.sum::<usize>()) as u64
    }

    /// What it takes in a delta.
    pub(super) fn bytes(&self) -> usize {
        match &self.after {
            Some(record) => ENTRY_OVERHEAD + record.len(),
            None => DIGEST_LEN,
        }
    }
}
