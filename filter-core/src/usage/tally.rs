//! The tally: a hash table of the keys that were used since the last report.

use std::collections::BTreeMap;

use crate::wire::{Digest, TableUsage, USE_LEN, Usage, pack_use};

/// The most slots: 1.8 MiB, which is all that a tally ever occupies.
const MAX_SLOTS: usize = 64 * 1024;
/// Slots of the first tally.
const MIN_SLOTS: usize = 64;
/// The most keys of one tally; uses of further ones are lost until there was a report.
pub const MAX_KEYS: usize = MAX_SLOTS / 4 * 3;
/// With so many a report is made before its time: what is left is room for the keys of a tick.
const MANY_KEYS: usize = MAX_SLOTS / 2;
/// The most tables, and changes of tables that touched keys which had been used, between two reports.
const MAX_ERAS: usize = 4096;
/// About so many bytes are in one message.
const MESSAGE_BYTES: usize = 2048 * USE_LEN;

/// How often each key was used, and when last.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Open addressing: a power of two of them, or none. A digest is as good as a hash.
    slots: Vec<Slot>,
    keys: usize,
    eras: Vec<Era>,
    /// The eras that go on, by table.
    open: BTreeMap<String, u16>,
    /// Seconds since 1970.
    now: u32,
    lost: u64,
}

#[derive(Debug, Clone, Copy)]
struct Slot {
    digest: Digest,
    /// None: the slot is free.
    uses: u32,
    last: u32,
    era: u16,
}

/// A table between two changes that matter.
#[derive(Debug)]
struct Era {
    table: String,
    /// The last revision of it; none while it goes on.
    ended_at: Option<u64>,
}

fn start(digest: &Digest) -> usize {
    let [.., a, b, c, d] = *digest;
    usize::try_from(u32::from_le_bytes([a, b, c, d])).unwrap_or(0)
}

fn word(digest: &Digest) -> u128 {
    u128::from_le_bytes(*digest)
}

// === impl Slot ===

impl Slot {
    const FREE: Self = Self { digest: [0; 16], uses: 0, last: 0, era: 0 };
}

// === impl Tally ===

impl Tally {
    pub(super) fn set_time(&mut self, wall: u64) {
        self.now = u32::try_from(wall / 1_000).unwrap_or(u32::MAX);
    }

    pub(super) fn is_filling(&self) -> bool {
        self.keys >= MANY_KEYS
    }

    pub(super) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// Counts a use. Allocates only for a key that was not used since the last report, and for most of
    /// those not.
    pub(super) fn count(&mut self, table: &str, digest: &Digest) {
        let found = self.find(table, digest);
        match found.and_then(|at| self.slots.get_mut(at)) {
            Some(slot) => {
                slot.uses = slot.uses.saturating_add(1);
                slot.last = self.now;
            }
            None => self.add(table, digest),
        }
    }

    pub(super) fn seal(&mut self, table: &str, digest: &Digest, revision: u64) {
        let Some(at) = self.find(table, digest) else { return };
        let same = |era: &Era| era.ended_at == Some(revision) && era.table == table;
        if !self.eras.last().is_some_and(same) {
            if self.eras.len() >= MAX_ERAS {
                // Told with the next revision: at worst somebody else's who has the key by then.
                return;
            }
            self.eras.push(Era { table: table.to_owned(), ended_at: Some(revision) });
        }
        let era = u16::try_from(self.eras.len().saturating_sub(1)).unwrap_or(u16::MAX);
        if let Some(slot) = self.slots.get_mut(at) {
            slot.era = era;
        }
    }

    pub(super) fn seal_all(&mut self, table: &str, revision: u64) {
        if let Some(era) = self.open.remove(table)
            && let Some(era) = self.eras.get_mut(usize::from(era))
        {
            era.ended_at = Some(revision);
        }
    }

    /// Gives all that was counted, in messages without numbers, and begins anew.
    pub(super) fn take(&mut self, revision_of: impl Fn(&str) -> u64) -> Vec<Usage> {
        let mut packed: Vec<Vec<u8>> = Vec::new();
        packed.resize_with(self.eras.len(), Vec::new);
        for slot in self.slots.iter_mut().filter(|slot| slot.uses > 0) {
            if let Some(packed) = packed.get_mut(usize::from(slot.era)) {
                pack_use(packed, &slot.digest, slot.uses, slot.last);
            }
            *slot = Slot::FREE;
        }
        if self.keys < self.slots.len() / 8 {
            // After a busy hour the walk over all slots need not be as long for ever.
            self.slots = Vec::new();
        }
        self.keys = 0;
        self.open.clear();
        let mut messages = Vec::new();
        let (mut message, mut bytes) = (Usage::default(), 0_usize);
        for (Era { table, ended_at }, packed) in self.eras.drain(..).zip(packed) {
            let revision = ended_at.unwrap_or_else(|| revision_of(&table));
            for part in packed.chunks(MESSAGE_BYTES) {
                let needed = part.len().saturating_add(table.len());
                if bytes > 0 && bytes.saturating_add(needed) > MESSAGE_BYTES {
                    messages.push(std::mem::take(&mut message));
                    bytes = 0;
                }
                message.tables.push(TableUsage { table: table.clone(), revision, uses: part.to_vec() });
                bytes = bytes.saturating_add(needed);
            }
        }
        if bytes > 0 {
            messages.push(message);
        }
        messages
    }

    /// Where a key stands in the present era of its table.
    fn find(&self, table: &str, digest: &Digest) -> Option<usize> {
        let mask = self.slots.len().checked_sub(1)?;
        let (wanted, mut at) = (word(digest), start(digest) & mask);
        // There is always a free slot, so this ends.
        loop {
            let slot = self.slots.get(at)?;
            if slot.uses == 0 {
                return None;
            }
            if word(&slot.digest) == wanted
                && let Some(era) = self.eras.get(usize::from(slot.era))
                && era.ended_at.is_none()
                && era.table == table
            {
                return Some(at);
            }
            at = at.wrapping_add(1) & mask;
        }
    }

    fn add(&mut self, table: &str, digest: &Digest) {
        match self.era_of(table) {
            Some(era) if self.make_room() => {
                self.put(Slot { digest: *digest, uses: 1, last: self.now, era });
                self.keys = self.keys.saturating_add(1);
            }
            _ => self.lost = self.lost.saturating_add(1),
        }
    }

    fn era_of(&mut self, table: &str) -> Option<u16> {
        if let Some(era) = self.open.get(table) {
            return Some(*era);
        }
        let era = u16::try_from(self.eras.len()).ok().filter(|era| usize::from(*era) < MAX_ERAS)?;
        self.eras.push(Era { table: table.to_owned(), ended_at: None });
        self.open.insert(table.to_owned(), era);
        Some(era)
    }

    /// Whether there is room for one more, with a quarter of the slots free.
    fn make_room(&mut self) -> bool {
        if self.keys < (self.slots.len() / 4).saturating_mul(3) {
            return true;
        }
        let more = self.slots.len().saturating_mul(2).max(MIN_SLOTS);
        let mut slots = Vec::new();
        if more > MAX_SLOTS || slots.try_reserve_exact(more).is_err() {
            return false;
        }
        slots.resize(more, Slot::FREE);
        for slot in std::mem::replace(&mut self.slots, slots) {
            if slot.uses > 0 {
                self.put(slot);
            }
        }
        true
    }

    /// Puts what is not there yet into the first free slot for it.
    fn put(&mut self, new: Slot) {
        let Some(mask) = self.slots.len().checked_sub(1) else { return };
        let mut at = start(&new.digest) & mask;
        while let Some(slot) = self.slots.get_mut(at) {
            if slot.uses == 0 {
                *slot = new;
                return;
            }
            at = at.wrapping_add(1) & mask;
        }
    }
}
