//! One segment of a table: some hundred entries in sorted order.

use std::mem::size_of;

use crate::record::Record;
use crate::wire::{Digest, entry_hash};

/// Entries by which a full segment grows. Doubling would leave half of a table empty.
const GROW_ENTRIES: usize = 16;
/// Bytes by which the records of a full segment grow.
const GROW_BYTES: usize = 256;

/// There is no memory left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoMemory;

/// Sorted digests, and where in `records` each one's record stands.
#[derive(Debug, Default)]
pub(super) struct Segment {
    digests: Vec<Digest>,
    spans: Vec<Span>,
    records: Vec<u8>,
    /// Bytes of `records` that no span covers any more.
    garbage: usize,
}

/// Start (24 bits) and length (8 bits) of a record. A length of [`LONG`] says that the true one, of 16
/// bits, stands before it.
///
/// A segment never holds more than 512 records of 8 KiB and as much garbage again: 8 MiB, so 24 bits
/// are enough.
#[derive(Debug, Clone, Copy)]
struct Span(u32);

/// See [`Span`].
const LONG: u8 = u8::MAX;
/// Bytes of the length that stands before a long record.
const PREFIX: usize = size_of::<u16>();

// === impl Span ===

impl Span {
    fn new(start: usize, len: u8) -> Option<Self> {
        let start = u32::try_from(start).ok().filter(|start| start.leading_zeros() >= 8)?;
        Some(Self(start << 8 | u32::from(len)))
    }

    fn len(self) -> u8 {
        let [.., len] = self.0.to_be_bytes();
        len
    }

    fn start(self) -> usize {
        usize::try_from(self.0 >> 8).unwrap_or(usize::MAX)
    }
}

// === impl Segment ===

impl Segment {
    pub(super) fn with_room(entries: usize, bytes: usize) -> Result<Self, NoMemory> {
        let mut segment = Self::default();
        segment.reserve(entries, bytes)?;
        Ok(segment)
    }

    pub(super) fn len(&self) -> usize {
        self.digests.len()
    }

    pub(super) fn first(&self) -> Option<Digest> {
        self.digests.first().copied()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let entries = self.digests.capacity().saturating_mul(size_of::<Digest>());
        let spans = self.spans.capacity().saturating_mul(size_of::<Span>());
        entries.saturating_add(spans).saturating_add(self.records.capacity())
    }

    pub(super) fn get(&self, digest: &Digest) -> Option<Record<'_>> {
        // None is empty: the wire refuses it. One that is would be nobody's.
        let record = self.bytes(*self.spans.get(self.position(digest).ok()?)?);
        (!record.is_empty()).then(|| Record::known(record))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Digest, Record<'_>)> {
        let records = self.spans.iter().map(|span| Record::known(self.bytes(*span)));
        self.digests.iter().zip(records)
    }

    /// Adds an entry, or replaces one and gives the hash of what it replaced. Without memory nothing
    /// changes.
    pub(super) fn insert(&mut self, digest: &Digest, record: Record<'_>) -> Result<Option<u64>, NoMemory> {
        match self.position(digest) {
            Ok(at) => {
                let span = self.store(record.as_bytes())?;
                let Some(place) = self.spans.get_mut(at) else { return Ok(None) };
                let old = std::mem::replace(place, span);
                let hash = entry_hash(digest, self.bytes(old));
                self.discard(old);
                Ok(Some(hash))
            }
            Err(at) => {
                grow(&mut self.digests)?;
                grow(&mut self.spans)?;
                let span = self.store(record.as_bytes())?;
                // The position is at most the length, so these cannot panic.
                self.digests.insert(at, *digest);
                self.spans.insert(at, span);
                Ok(None)
            }
        }
    }

    /// Adds an entry behind all others. Without memory nothing changes.
    pub(super) fn push(&mut self, digest: &Digest, record: Record<'_>) -> Result<(), NoMemory> {
        grow(&mut self.digests)?;
        grow(&mut self.spans)?;
        let span = self.store(record.as_bytes())?;
        self.digests.push(*digest);
        self.spans.push(span);
        Ok(())
    }

    /// Removes an entry and gives its hash.
    pub(super) fn remove(&mut self, digest: &Digest) -> Option<u64> {
        let at = self.position(digest).ok()?;
        let span = *self.spans.get(at)?;
        let hash = entry_hash(digest, self.bytes(span));
        // Both have an entry at the position, so these cannot panic.
        self.digests.remove(at);
        self.spans.remove(at);
        self.discard(span);
        Some(hash)
    }

    /// The same again, with nothing to spare.
    pub(super) fn copy(&self) -> Result<Self, NoMemory> {
        let bytes = self.records.len().saturating_sub(self.garbage);
        let mut copy = Self::with_room(self.len(), bytes)?;
        self.iter().try_for_each(|(digest, record)| copy.push(digest, record))?;
        Ok(copy)
    }

    /// The lower half of it, and the upper.
    pub(super) fn halves(&self) -> Result<(Self, Self), NoMemory> {
        let half = self.len() / 2;
        let mut lower = Self::with_room(half, 0)?;
        let mut upper = Self::with_room(self.len().saturating_sub(half), 0)?;
        for (at, (digest, record)) in self.iter().enumerate() {
            let side = if at < half { &mut lower } else { &mut upper };
            side.push(digest, record)?;
        }
        Ok((lower, upper))
    }

    /// Adds all entries of the segment that follows. Without memory nothing changes.
    pub(super) fn append(&mut self, following: &Self) -> Result<(), NoMemory> {
        self.reserve(following.len(), following.records.len())?;
        for (digest, record) in following.iter() {
            self.push(digest, record)?;
        }
        Ok(())
    }

    /// Gives spare room back.
    pub(super) fn shrink(&mut self) {
        self.digests.shrink_to_fit();
        self.spans.shrink_to_fit();
        self.records.shrink_to_fit();
    }

    fn position(&self, digest: &Digest) -> Result<usize, usize> {
        let wanted = u128::from_be_bytes(*digest);
        self.digests.binary_search_by(|other| u128::from_be_bytes(*other).cmp(&wanted))
    }

    /// The bytes of a record.
    fn bytes(&self, span: Span) -> &[u8] {
        let Some(rest) = self.records.get(span.start()..) else { return &[] };
        let record = match span.len() {
            LONG => rest
                .split_first_chunk()
                .and_then(|(len, rest)| rest.get(..usize::from(u16::from_le_bytes(*len)))),
            len => rest.get(..usize::from(len)),
        };
        record.unwrap_or_default()
    }

    fn reserve(&mut self, entries: usize, bytes: usize) -> Result<(), NoMemory> {
        self.digests.try_reserve_exact(entries).map_err(|_| NoMemory)?;
        self.spans.try_reserve_exact(entries).map_err(|_| NoMemory)?;
        self.records.try_reserve_exact(bytes).map_err(|_| NoMemory)
    }

    fn store(&mut self, record: &[u8]) -> Result<Span, NoMemory> {
        let start = self.records.len();
        let short = u8::try_from(record.len()).ok().filter(|len| *len != LONG);
        let Some(span) = Span::new(start, short.unwrap_or(LONG)) else { return Ok(Span(0)) };
        let needed = record.len().saturating_add(PREFIX);
        if self.records.capacity().saturating_sub(start) < needed {
            self.records.try_reserve_exact(needed.saturating_add(GROW_BYTES)).map_err(|_| NoMemory)?;
        }
        if short.is_none() {
            // No record is longer than 8 KiB: the wire refuses it.
            self.records.extend_from_slice(&u16::try_from(record.len()).unwrap_or(0).to_le_bytes());
        }
        self.records.extend_from_slice(record);
        Ok(span)
    }

    /// Notes that a record is no longer used, and clears up when most are not.
    fn discard(&mut self, span: Span) {
        let prefix = if span.len() == LONG { PREFIX } else { 0 };
        self.garbage = self.garbage.saturating_add(self.bytes(span).len()).saturating_add(prefix);
        if self.garbage > self.records.len() / 2 {
            self.compact();
        }
    }

    /// Without memory it stays as large as it is.
    fn compact(&mut self) {
        if let Ok(compact) = self.copy() {
            *self = compact;
        }
    }
}

fn grow<T>(list: &mut Vec<T>) -> Result<(), NoMemory> {
    if list.len() == list.capacity() {
        list.try_reserve_exact(GROW_ENTRIES).map_err(|_| NoMemory)?;
    }
    Ok(())
}
