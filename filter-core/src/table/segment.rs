//! One segment of a table: some hundred entries in sorted order.

use std::mem::size_of;

use crate::wire::{Digest, entry_hash};

/// Entries by which a full segment grows. Doubling would leave half of a table empty.
const GROW_ENTRIES: usize = 16;
/// Bytes by which the identities of a full segment grow.
const GROW_BYTES: usize = 256;

/// Sorted digests, and where in `identities` each one's identity stands.
#[derive(Debug, Clone, Default)]
pub(super) struct Segment {
    digests: Vec<Digest>,
    spans: Vec<Span>,
    identities: String,
    /// Bytes of `identities` that no span covers any more.
    garbage: usize,
}

/// Start (24 bits) and length (8 bits) of an identity.
///
/// A segment never holds more than 512 identities of 253 bytes and as much garbage again: 253 KiB,
/// so 24 bits are plenty.
#[derive(Debug, Clone, Copy)]
struct Span(u32);

// === impl Span ===

impl Span {
    fn new(start: usize, len: usize) -> Option<Self> {
        let start = u32::try_from(start).ok().filter(|start| start.leading_zeros() >= 8)?;
        let len = u8::try_from(len).ok()?;
        Some(Self(start << 8 | u32::from(len)))
    }

    fn len(self) -> usize {
        let [.., len] = self.0.to_be_bytes();
        usize::from(len)
    }

    fn range(self) -> std::ops::Range<usize> {
        let start = usize::try_from(self.0 >> 8).unwrap_or(usize::MAX);
        start..start.saturating_add(self.len())
    }
}

// === impl Segment ===

impl Segment {
    pub(super) fn with_room(entries: usize) -> Self {
        Self { digests: Vec::with_capacity(entries), spans: Vec::with_capacity(entries), ..Self::default() }
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
        entries.saturating_add(spans).saturating_add(self.identities.capacity())
    }

    pub(super) fn get(&self, digest: &Digest) -> Option<&str> {
        self.identity(*self.spans.get(self.position(digest).ok()?)?)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Digest, &str)> {
        let identities = self.spans.iter().map(|span| self.identity(*span).unwrap_or_default());
        self.digests.iter().zip(identities)
    }

    /// Adds an entry, or replaces one and gives the hash of what it replaced.
    pub(super) fn insert(&mut self, digest: &Digest, identity: &str) -> Option<u64> {
        match self.position(digest) {
            Ok(at) => {
                let span = self.store(identity);
                let old = std::mem::replace(self.spans.get_mut(at)?, span);
                let hash = entry_hash(digest, self.identity(old).unwrap_or_default());
                self.discard(old);
                Some(hash)
            }
            Err(at) => {
                let span = self.store(identity);
                reserve(&mut self.digests);
                reserve(&mut self.spans);
                // The position is at most the length, so these cannot panic.
                self.digests.insert(at, *digest);
                self.spans.insert(at, span);
                None
            }
        }
    }

    /// Adds an entry behind all others.
    pub(super) fn push(&mut self, digest: &Digest, identity: &str) {
        let span = self.store(identity);
        reserve(&mut self.digests);
        reserve(&mut self.spans);
        self.digests.push(*digest);
        self.spans.push(span);
    }

    /// Removes an entry and gives its hash.
    pub(super) fn remove(&mut self, digest: &Digest) -> Option<u64> {
        let at = self.position(digest).ok()?;
        let span = *self.spans.get(at)?;
        let hash = entry_hash(digest, self.identity(span)?);
        // Both have an entry at the position, so these cannot panic.
        self.digests.remove(at);
        self.spans.remove(at);
        self.discard(span);
        Some(hash)
    }

    /// Keeps the lower half and gives the upper.
    pub(super) fn split_half(&mut self) -> Self {
        let half = self.len() / 2;
        let mut lower = Self::with_room(half);
        let mut upper = Self::with_room(self.len().saturating_sub(half));
        for (at, (digest, identity)) in self.iter().enumerate() {
            let side = if at < half { &mut lower } else { &mut upper };
            side.push(digest, identity);
        }
        *self = lower;
        upper
    }

    /// Adds all entries of the segment that follows.
    pub(super) fn append(&mut self, following: &Self) {
        for (digest, identity) in following.iter() {
            self.push(digest, identity);
        }
    }

    /// Gives spare room back.
    pub(super) fn shrink(&mut self) {
        self.digests.shrink_to_fit();
        self.spans.shrink_to_fit();
        self.identities.shrink_to_fit();
    }

    fn position(&self, digest: &Digest) -> Result<usize, usize> {
        let wanted = u128::from_be_bytes(*digest);
        self.digests.binary_search_by(|other| u128::from_be_bytes(*other).cmp(&wanted))
    }

    fn identity(&self, span: Span) -> Option<&str> {
        self.identities.get(span.range())
    }

    fn store(&mut self, identity: &str) -> Span {
        let start = self.identities.len();
        // No identity is longer than 253 bytes: the wire refuses it. An empty one would deny.
        let Some(span) = Span::new(start, identity.len()) else { return Span(0) };
        if self.identities.capacity().saturating_sub(start) < identity.len() {
            self.identities.reserve_exact(identity.len().saturating_add(GROW_BYTES));
        }
        self.identities.push_str(identity);
        span
    }

    /// Notes that an identity is no longer used, and clears up when most are not.
    fn discard(&mut self, span: Span) {
        self.garbage = self.garbage.saturating_add(span.len());
        if self.garbage > self.identities.len() / 2 {
            self.compact();
        }
    }

    fn compact(&mut self) {
        let mut compact = Self::with_room(self.len());
        compact.identities.reserve_exact(self.identities.len().saturating_sub(self.garbage));
        compact.append(self);
        *self = compact;
    }
}

fn reserve<T>(list: &mut Vec<T>) {
    if list.len() == list.capacity() {
        list.reserve_exact(GROW_ENTRIES);
    }
}
