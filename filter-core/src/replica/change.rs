//! Changes of tables, and what is left of a change for which there is no room.
//!
//! Such a change is refused, but what it takes away is carried out: a key that is revoked ends, and one that
//! gets a narrower record gets it or ends. It ends if the record gives anything that the held one does not, such
//! as a later end or another owner. Everything else stays as it was. The version stays too, since any change
//! from there names every key that is not as it was in that version: so the server goes on from it. What is in
//! the table is then less than the version, key by key as it was there or within that, and the two checksums
//! tell.

use std::sync::Arc;

use super::{Effect, Held, Reason, Replica};
use crate::record::Record;
use crate::table::{Refused, Table};
use crate::wire::{Delta, Digest, Entries, Version, removals};

/// The tables that a change is of.
fn names(delta: &Delta) -> impl Iterator<Item = &str> {
    delta.also.iter().chain([&delta.table]).map(String::as_str)
}

/// A record of a change that gives less than the one that is held.
struct Narrowed<'d> {
    digest: Digest,
    record: Record<'d>,
    /// It gives nothing beyond that either.
    is_within: bool,
}

fn narrowed<'d>(table: &Table, delta: &'d Delta) -> Vec<Narrowed<'d>> {
    let narrower = |(digest, record): (Digest, Record<'d>)| {
        let held = table.get(&digest).filter(|held| record.narrows(*held))?;
        Some(Narrowed { digest, record, is_within: record.is_within(held) })
    };
    Entries::new(&delta.upserts).flatten().filter_map(narrower).collect()
}

// === impl Replica ===

impl Replica {
    pub(super) fn delta(&mut self, delta: Delta) -> Effect {
        let outcome = if delta.takes_away { self.take_away(&delta) } else { self.apply(&delta) };
        match outcome {
            Ok(()) => self.changed(delta.table, delta.also, false),
            Err(reason) => self.refused_all(delta.table, delta.also, &reason),
        }
    }

    /// The table that a change is of, if all that it names are at the version from which it starts, and the
    /// same.
    fn start(&self, delta: &Delta) -> Result<&Held, Reason> {
        let from = delta.from.ok_or(Reason::NoVersion)?;
        let held = |name: &str| self.tables.get(name).filter(|held| held.version == from).ok_or(Reason::Gap);
        let first = held(&delta.table)?;
        for name in &delta.also {
            if held(name)?.table.checksum() != first.table.checksum() {
                return Err(Reason::Gap);
            }
        }
        Ok(first)
    }

    fn apply(&mut self, delta: &Delta) -> Result<(), Reason> {
        let (Some(from), Some(to)) = (delta.from, delta.to) else { return Err(Reason::NoVersion) };
        let start = self.start(delta)?;
        let (room, is_less) = (start.table.room_for(&delta.upserts, &delta.removals), start.is_less());
        if !delta.upserts.is_empty()
            && let Err(full) = self.check_room(room)
        {
            self.take(delta, from.revision);
            return Err(full);
        }
        let outcome = self.change(
            delta,
            &mut |table| table.apply(&delta.upserts, &delta.removals, to.checksum),
            Some(to),
        );
        match outcome {
            Ok(()) => {}
            // A key that was taken away was given back since, as it was.
            Err(Refused::Checksum { .. }) if is_less => {
                self.take(delta, from.revision);
                return Err(Reason::Less);
            }
            Err(reason @ Refused::NoMemory) => {
                self.undo(delta);
                self.take(delta, from.revision);
                return Err(reason.into());
            }
            Err(reason) => return Err(reason.into()),
        }
        // It was applied, so it can be read.
        self.seal(delta, from, removals(&delta.removals).unwrap_or_default().iter().copied());
        self.seal(delta, from, Entries::new(&delta.upserts).flatten().map(|(digest, _)| digest));
        Ok(())
    }

    /// Does only what a change takes away, as the server wants it.
    fn take_away(&mut self, delta: &Delta) -> Result<(), Reason> {
        let from = delta.from.ok_or(Reason::NoVersion)?;
        self.start(delta)?;
        removals(&delta.removals).map_err(Refused::from)?;
        Entries::new(&delta.upserts).try_for_each(|entry| entry.map(drop)).map_err(Refused::from)?;
        self.take(delta, from.revision);
        // One that could not even forget is there no more.
        if self.tables.contains_key(&delta.table) { Ok(()) } else { Err(Reason::NoMemory) }
    }

    /// Changes the tables of a delta as one, apart from others that are the same until now. What is changed only
    /// in part stays at its version.
    pub(super) fn change(
        &mut self,
        delta: &Delta,
        change: &mut dyn FnMut(&mut Table) -> Result<(), Refused>,
        to: Option<Version>,
    ) -> Result<(), Refused> {
        let Some(held) = self.tables.get(&delta.table) else { return Ok(()) };
        let mut table = Arc::clone(&held.table);
        let empty: Arc<Table> = Arc::default();
        for name in names(delta) {
            if let Some(held) = self.tables.get_mut(name) {
                held.table = Arc::clone(&empty);
            }
        }
        let outcome = match Arc::get_mut(&mut table) {
            Some(own) => change(own),
            None => table.copy().and_then(|mut own| {
                let outcome = change(&mut own);
                table = Arc::new(own);
                outcome
            }),
        };
        for name in names(delta) {
            if let Some(held) = self.tables.get_mut(name) {
                if let (Ok(()), Some(to)) = (outcome, to) {
                    held.version = to;
                }
                held.table = Arc::clone(&table);
            }
        }
        outcome
    }

    /// Takes out again what a change has put in before memory ended: of what was there before nobody knows any
    /// more how it was, so that goes too.
    pub(super) fn undo(&mut self, delta: &Delta) {
        let put = |table: &Table| -> Vec<Digest> {
            let is_put = |(digest, record): &(Digest, Record<'_>)| {
                table.get(digest).is_some_and(|held| held == *record)
            };
            Entries::new(&delta.upserts).flatten().filter(is_put).map(|(digest, _)| digest).collect()
        };
        self.change_or_drop(delta, &mut |table| {
            put(table).iter().try_for_each(|digest| table.remove(digest))
        });
    }

    /// Carries out what a change takes away.
    pub(super) fn take(&mut self, delta: &Delta, revision: u64) {
        let Ok(removed) = removals(&delta.removals) else { return };
        let Some(held) = self.tables.get(&delta.table) else { return };
        let narrowed = narrowed(&held.table, delta);
        let gone = removed.iter().chain(narrowed.iter().map(|narrowed| &narrowed.digest));
        for digest in gone {
            names(delta).for_each(|name| self.usage.get_mut().seal(name, digest, revision));
        }
        self.change_or_drop(delta, &mut |table| {
            removed.iter().try_for_each(|digest| table.remove(digest))?;
            narrowed.iter().try_for_each(|narrowed| table.remove(&narrowed.digest))
        });
        // What was taken out has left some room, and there may have been some.
        for Narrowed { digest, record, .. } in narrowed.into_iter().filter(|narrowed| narrowed.is_within) {
            let mut packed = Vec::new();
            crate::wire::pack_entry(&mut packed, &digest, record);
            let room = self.tables.get(&delta.table).map_or(0, |held| held.table.room_for(&packed, &[]));
            if self.check_room(room).is_ok() {
                let _ = self.change(delta, &mut |table| table.put(&digest, record), None);
            }
        }
    }

    /// A table that cannot even forget lets nobody in any more.
    fn change_or_drop(&mut self, delta: &Delta, change: &mut dyn FnMut(&mut Table) -> Result<(), Refused>) {
        if self.change(delta, change, None).is_err() {
            names(delta).for_each(|name| drop(self.tables.remove(name)));
        }
    }

    fn seal(&mut self, delta: &Delta, from: Version, digests: impl Iterator<Item = Digest>) {
        for digest in digests {
            for name in names(delta) {
                self.usage.get_mut().seal(name, &digest, from.revision);
            }
        }
    }
}
