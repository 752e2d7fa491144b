//! The key table: who a digest belongs to, a million times over, inside a proxy worker.
//!
//! Two levels: a short sorted list of separators, and below each a segment of at most
//! [`SEGMENT_MAX`] entries in sorted order. A lookup is two binary searches. A change touches one
//! segment, so it costs the same at a thousand keys and at a million, and no allocation is ever
//! larger than a segment or the list of segments: the memory of a wasm module never shrinks, so a
//! table that doubles to grow would cost twice its size for good.
//!
//! Copies of a table have their segments in common, until one of them changes there.

use std::mem::size_of;
use std::sync::Arc;

use crate::record::Record;
use crate::wire::{Digest, Entries, Malformed, entry_hash, removals};

mod segment;
#[cfg(test)]
mod tests;

use segment::{NoMemory, Segment};

/// The most entries of a segment. Bounds the cost of one change: about 10 KiB to move.
const SEGMENT_MAX: usize = 512;
/// Entries of a segment that a snapshot fills: three quarters, so that changes rarely split.
const SEGMENT_FILL: usize = 384;
/// Below this a segment is merged with a neighbour, if both fit into [`SEGMENT_FILL`].
const SEGMENT_MIN: usize = 128;
/// The least bytes of a packed entry: digest, length, and a record of one byte.
const ENTRY_MIN: usize = 16 + 2 + 1;
/// What a segment grows beyond its entries when it is changed.
const SEGMENT_SPARE: usize = 512;
/// What stands around a segment: what it is made of, and how many tables have it.
const SEGMENT_HEADER: usize = size_of::<Segment>() + 2 * size_of::<usize>();

/// Digests and the records that they stand for.
#[derive(Debug, Clone, Default)]
pub struct Table {
    /// Ascending; the one at `i` stands between the segments `i` and `i + 1`: every digest of the
    /// first is less and every digest of the second is not.
    separators: Vec<Digest>,
    segments: Vec<Arc<Segment>>,
    len: usize,
    checksum: u64,
    /// There is a key among them that need not look like one, or there was since the last snapshot: once
    /// it is gone there is no need to look for others, only a little more to do.
    any_shape: bool,
}

/// Builds a table from the chunks of a snapshot, while the old one keeps serving.
#[derive(Debug)]
pub struct Builder {
    table: Table,
    last: Option<Digest>,
    announced: u64,
}

/// Why a snapshot or a change is refused. The table that was there before is unchanged, unless memory
/// ended inside of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The packed bytes are not well formed.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// Digests are not strictly ascending.
    #[error("digests are not strictly ascending")]
    Order,
    /// A digest is both added and removed.
    #[error("a digest is both added and removed")]
    Contradiction,
    /// The number of entries is not the announced one.
    #[error("{announced} entries were announced and {received} arrived")]
    Count {
        /// What the start of the snapshot said.
        announced: u64,
        /// What came; one more than announced stands for any larger number.
        received: u64,
    },
    /// The entries do not add up to the promised version.
    #[error("the checksum would be {actual:016x} instead of {expected:016x}")]
    Checksum {
        /// The promised one.
        expected: u64,
        /// The one of the entries.
        actual: u64,
    },
    /// The allocator has nothing to give.
    #[error("there is no memory left")]
    NoMemory,
}

/// A segment to change: where other tables have it too, one of its own.
fn own(segment: &mut Arc<Segment>) -> Result<&mut Segment, NoMemory> {
    if Arc::get_mut(segment).is_none() {
        *segment = Arc::new(segment.copy()?);
    }
    Arc::get_mut(segment).ok_or(NoMemory)
}

// === impl Table ===

impl Table {
    /// An empty table: it knows nobody.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many keys it knows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it knows nobody.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Wrapping sum of [`entry_hash`] over all entries.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        self.checksum
    }

    /// Whether a key that looks damaged may be one of these all the same.
    #[must_use]
    pub fn may_hold_damaged(&self) -> bool {
        self.any_shape
    }

    /// A copy, which has everything in common with this one.
    ///
    /// # Errors
    ///
    /// Without memory for the list of what they have in common.
    pub fn copy(&self) -> Result<Self, Refused> {
        let (mut separators, mut segments) = (Vec::new(), Vec::new());
        separators.try_reserve_exact(self.separators.len()).map_err(|_| Refused::NoMemory)?;
        segments.try_reserve_exact(self.segments.len()).map_err(|_| Refused::NoMemory)?;
        separators.extend_from_slice(&self.separators);
        segments.extend(self.segments.iter().map(Arc::clone));
        Ok(Self { separators, segments, ..*self })
    }

    /// Bytes of heap that it occupies, spare room included, and of what it has in common with others its part.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        let index = self
            .separators
            .capacity()
            .saturating_mul(size_of::<Digest>())
            .saturating_add(self.segments.capacity().saturating_mul(size_of::<Arc<Segment>>()));
        let part = |segment: &Arc<Segment>| {
            segment.heap_bytes().saturating_add(SEGMENT_HEADER).div_ceil(Arc::strong_count(segment).max(1))
        };
        self.segments.iter().map(part).fold(index, usize::saturating_add)
    }

    /// What a digest stands for.
    #[must_use]
    pub fn get(&self, digest: &Digest) -> Option<Record<'_>> {
        self.segments.get(self.segment_of(digest))?.get(digest)
    }

    /// All entries, ascending by digest.
    pub fn iter(&self) -> impl Iterator<Item = (&Digest, Record<'_>)> {
        self.segments.iter().flat_map(|segment| segment.iter())
    }

    /// How many bytes a change needs, at most about: its entries, and what it touches of what this table has in
    /// common with others.
    #[must_use]
    pub fn room_for(&self, packed: &[u8], removed: &[u8]) -> usize {
        let touched = packed.len().div_ceil(ENTRY_MIN).min(self.segments.len().saturating_add(1));
        let added = Entries::new(packed).flatten().map(|(digest, _)| digest);
        // Each ascends. What both touch is counted twice.
        let copied = self.common_bytes(added);
        let copied =
            copied.saturating_add(self.common_bytes(removals(removed).unwrap_or_default().iter().copied()));
        packed.len().saturating_add(touched.saturating_mul(SEGMENT_SPARE)).saturating_add(copied)
    }

    /// Bytes of the segments where these ascending digests stand, of those that other tables have too.
    fn common_bytes(&self, digests: impl Iterator<Item = Digest>) -> usize {
        let mut last = None;
        let mut bytes = 0_usize;
        for digest in digests {
            let at = self.segment_of(&digest);
            if last.replace(at) != Some(at)
                && let Some(segment) = self.segments.get(at)
                && Arc::strong_count(segment) > 1
            {
                bytes = bytes.saturating_add(segment.heap_bytes()).saturating_add(SEGMENT_HEADER);
            }
        }
        bytes
    }

    /// Adds an entry, or replaces its record. Without memory nothing changes.
    pub(crate) fn put(&mut self, digest: &Digest, record: Record<'_>) -> Result<(), Refused> {
        Ok(self.insert(digest, record)?)
    }

    /// Adds an entry, or replaces its record.
    fn insert(&mut self, digest: &Digest, record: Record<'_>) -> Result<(), NoMemory> {
        let mut at = self.segment_of(digest);
        if self.segments.get(at).is_some_and(|segment| segment.len() >= SEGMENT_MAX) {
            self.split(at)?;
            at = self.segment_of(digest);
        }
        match self.segments.get_mut(at) {
            Some(segment) => match own(segment)?.insert(digest, record)? {
                Some(replaced) => self.checksum = self.checksum.wrapping_sub(replaced),
                None => self.len = self.len.saturating_add(1),
            },
            None => {
                let mut first = Segment::default();
                first.push(digest, record)?;
                self.segments.try_reserve(1).map_err(|_| NoMemory)?;
                self.segments.push(Arc::new(first));
                self.len = 1;
            }
        }
        self.checksum = self.checksum.wrapping_add(entry_hash(digest, record));
        self.any_shape |= record.is_of_any_shape();
        Ok(())
    }

    /// Removes an entry, if it is there. That needs memory only where other tables have it too.
    pub(crate) fn remove(&mut self, digest: &Digest) -> Result<(), Refused> {
        let at = self.segment_of(digest);
        let Some(segment) = self.segments.get_mut(at).filter(|segment| segment.get(digest).is_some()) else {
            return Ok(());
        };
        let segment = own(segment)?;
        let Some(removed) = segment.remove(digest) else { return Ok(()) };
        let small = segment.len() < SEGMENT_MIN;
        self.checksum = self.checksum.wrapping_sub(removed);
        self.len = self.len.saturating_sub(1);
        if small {
            self.merge(at);
        }
        Ok(())
    }

    /// Applies a change whole, or refuses it and stays as it is. Only when memory ends in the middle is
    /// it made in part, removals first; the checksum tells.
    ///
    /// # Errors
    ///
    /// When the bytes are not well formed, digests are not strictly ascending or contradict each
    /// other, the result would not have the promised checksum, or there is no memory.
    pub fn apply(&mut self, upserts: &[u8], removed: &[u8], checksum: u64) -> Result<(), Refused> {
        let removed = removals(removed)?;
        let actual = self.checksum_after(upserts, removed)?;
        if actual != checksum {
            return Err(Refused::Checksum { expected: checksum, actual });
        }
        for digest in removed {
            self.remove(digest)?;
        }
        for entry in Entries::new(upserts) {
            let (digest, record) = entry?;
            self.insert(&digest, record)?;
        }
        Ok(())
    }

    /// Checks a change from end to end without making it.
    fn checksum_after(&self, upserts: &[u8], removed: &[Digest]) -> Result<u64, Refused> {
        let hash_of = |digest: &Digest| self.get(digest).map_or(0, |record| entry_hash(digest, record));
        if !removed.is_sorted_by(|one, next| one < next) {
            return Err(Refused::Order);
        }
        let mut sum = removed.iter().fold(self.checksum, |sum, digest| sum.wrapping_sub(hash_of(digest)));
        let mut last = None;
        for entry in Entries::new(upserts) {
            let (digest, record) = entry?;
            if last.is_some_and(|last| last >= digest) {
                return Err(Refused::Order);
            }
            if removed.binary_search(&digest).is_ok() {
                return Err(Refused::Contradiction);
            }
            sum = sum.wrapping_sub(hash_of(&digest)).wrapping_add(entry_hash(&digest, record));
            last = Some(digest);
        }
        Ok(sum)
    }

    /// Where a digest stands or would stand; out of range only in an empty table.
    fn segment_of(&self, digest: &Digest) -> usize {
        let wanted = u128::from_be_bytes(*digest);
        self.separators.partition_point(|separator| u128::from_be_bytes(*separator) <= wanted)
    }

    fn split(&mut self, at: usize) -> Result<(), NoMemory> {
        self.separators.try_reserve(1).map_err(|_| NoMemory)?;
        self.segments.try_reserve(1).map_err(|_| NoMemory)?;
        let Some(segment) = self.segments.get_mut(at) else { return Ok(()) };
        let (lower, upper) = segment.halves()?;
        if let Some(separator) = upper.first() {
            *segment = Arc::new(lower);
            // There is a segment at this position, so these cannot panic.
            self.separators.insert(at, separator);
            self.segments.insert(at.saturating_add(1), Arc::new(upper));
        }
        Ok(())
    }

    /// Drops an empty segment, and joins a small one with the neighbour that has room for it.
    fn merge(&mut self, at: usize) {
        let len_at = |at: usize| self.segments.get(at).map(|segment| segment.len());
        let Some(len) = len_at(at) else { return };
        let fits =
            |other: Option<usize>| other.is_some_and(|other| other.saturating_add(len) <= SEGMENT_FILL);
        let next = at.saturating_add(1);
        if len == 0 {
            self.take_segment(at);
        } else if fits(len_at(next)) {
            self.append_next(at);
        } else if let Some(previous) = at.checked_sub(1)
            && fits(len_at(previous))
        {
            self.append_next(previous);
        }
    }

    /// Joins a segment and the one behind it. Without memory they stay apart.
    fn append_next(&mut self, at: usize) {
        let next = at.saturating_add(1);
        let Some((before, behind)) = self.segments.split_at_mut_checked(next) else { return };
        if let (Some(segment), Some(following)) = (before.last_mut(), behind.first())
            && own(segment).is_ok_and(|segment| segment.append(following).is_ok())
        {
            self.take_segment(next);
        }
    }

    /// Takes a segment out, and with it the separator before it; of the first, the one behind it.
    fn take_segment(&mut self, at: usize) {
        if at >= self.segments.len() {
            return;
        }
        let separator = at.saturating_sub(1);
        if separator < self.separators.len() {
            self.separators.remove(separator);
        }
        self.segments.remove(at);
    }
}

// === impl Builder ===

impl Builder {
    /// Starts a snapshot of so many entries.
    #[must_use]
    pub fn new(announced: u64) -> Self {
        Self { table: Table::new(), last: None, announced }
    }

    /// Bytes of heap that it occupies.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    /// How many bytes this chunk needs, at most about.
    #[must_use]
    pub fn room_for(&self, packed: &[u8]) -> usize {
        let segments = packed.len().div_ceil(ENTRY_MIN).div_ceil(SEGMENT_FILL);
        // The last segment is as large as if it were full.
        packed
            .len()
            .saturating_add(SEGMENT_FILL.saturating_mul(ENTRY_MIN))
            .saturating_add(segments.saturating_mul(SEGMENT_SPARE))
    }

    /// Takes a chunk.
    ///
    /// # Errors
    ///
    /// When it is not well formed, its digests do not ascend strictly from the last chunk on, it has
    /// more entries than announced, or there is no memory. The snapshot is worthless then.
    pub fn append(&mut self, packed: &[u8]) -> Result<(), Refused> {
        for entry in Entries::new(packed) {
            let (digest, record) = entry?;
            if self.last.is_some_and(|last| last >= digest) {
                return Err(Refused::Order);
            }
            let received = self.received().saturating_add(1);
            if received > self.announced {
                return Err(Refused::Count { announced: self.announced, received });
            }
            self.push(&digest, record)?;
            self.last = Some(digest);
        }
        Ok(())
    }

    /// Ends the snapshot.
    ///
    /// # Errors
    ///
    /// When entries are missing or do not add up to the checksum.
    pub fn finish(mut self, checksum: u64) -> Result<Table, Refused> {
        let received = self.received();
        if received != self.announced {
            return Err(Refused::Count { announced: self.announced, received });
        }
        let actual = self.table.checksum;
        if actual != checksum {
            return Err(Refused::Checksum { expected: checksum, actual });
        }
        if let Some(last) = self.table.segments.last_mut() {
            own(last)?.shrink();
        }
        self.table.separators.shrink_to_fit();
        self.table.segments.shrink_to_fit();
        Ok(self.table)
    }

    fn received(&self) -> u64 {
        u64::try_from(self.table.len).unwrap_or(u64::MAX)
    }

    fn push(&mut self, digest: &Digest, record: Record<'_>) -> Result<(), NoMemory> {
        let table = &mut self.table;
        match table.segments.last_mut() {
            Some(open) if open.len() < SEGMENT_FILL => own(open)?.push(digest, record)?,
            full => {
                let mut open = Segment::with_room(SEGMENT_FILL, 0)?;
                open.push(digest, record)?;
                if let Some(full) = full {
                    own(full)?.shrink();
                    table.separators.try_reserve(1).map_err(|_| NoMemory)?;
                    table.separators.push(*digest);
                }
                table.segments.try_reserve(1).map_err(|_| NoMemory)?;
                table.segments.push(Arc::new(open));
            }
        }
        table.len = table.len.saturating_add(1);
        table.checksum = table.checksum.wrapping_add(entry_hash(digest, record));
        table.any_shape |= record.is_of_any_shape();
        Ok(())
    }
}

// === impl Refused ===

impl From<NoMemory> for Refused {
    fn from(NoMemory: NoMemory) -> Self {
        Self::NoMemory
    }
}
