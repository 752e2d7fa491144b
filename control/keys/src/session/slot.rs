//! What is known of one table in the worker.

use keyward_filter_core::wire::Version;

use crate::workers::Holds;

/// Refusals in a row after which a table is offered only once a version.
pub(super) const MAX_REFUSALS: u32 = 3;

/// A table in the worker.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// What it holds.
    pub(super) held: Option<Version>,
    /// The checksum of what is there where that is less: see [`Holds::less`].
    pub(super) less: Option<u64>,
    /// What it will hold when it takes what is on its way.
    pub(super) awaited: Option<Version>,
    /// What is on its way only takes away.
    pub(super) taking_away: bool,
    /// The version that the table had when the worker was last offered a change of it.
    pub(super) offered: Option<Version>,
    /// The same of a change that was none of the whole table, or took away what such a change would have.
    pub(super) offered_change: Option<Version>,
    /// How often in a row it refused.
    pub(super) refusals: u32,
    /// The last time for want of room.
    pub(super) no_room: bool,
}

// === impl Slot ===

impl Slot {
    /// What the worker says that it holds, or has taken.
    pub(super) fn holding(Holds { version, less }: Holds) -> Self {
        Self { held: Some(version), less, ..Self::default() }
    }

    /// What the worker says that it holds, whatever was offered.
    pub(super) fn hold(&mut self, holds: Option<Holds>) {
        self.held = holds.map(|holds| holds.version);
        self.less = holds.and_then(|holds| holds.less);
    }

    /// What it holds.
    pub(super) fn holds(&self) -> Option<Holds> {
        self.held.map(|version| Holds { version, less: self.less })
    }

    /// Whether the worker should be offered something: it does not hold the table as it is, has
    /// answered, and has not refused too often.
    pub(super) fn is_due(&self, now: Version) -> bool {
        let is_new = self.offered != Some(now);
        let lacks = self.held != Some(now) || self.less.is_some();
        self.awaited.is_none() && lacks && (self.refusals < MAX_REFUSALS || is_new)
    }

    /// Whether that may be a delta. After a refusal it is a snapshot; where snapshots are refused
    /// too, perhaps for want of memory, only a delta has a chance. And what is revoked reaches a worker without
    /// room with a delta alone, so there what is new is told by one first. What was taken away and is to be there
    /// again as it was is in no delta.
    pub(super) fn takes_delta(&self, now: Version) -> bool {
        let as_it_was = self.less.is_some() && self.held.is_some_and(|held| held.checksum == now.checksum);
        self.is_due(now)
            && !as_it_was
            && (self.refusals == 0 || self.refusals >= MAX_REFUSALS || self.is_cramped(now))
    }

    /// Whether the worker had no room, and has not been told since what the present version takes away.
    pub(super) fn is_cramped(&self, now: Version) -> bool {
        (self.no_room || self.less.is_some()) && self.offered_change != Some(now)
    }

    /// The worker has refused what was on its way.
    pub(super) fn refuse(&mut self, no_room: bool) {
        self.awaited = None;
        self.taking_away = false;
        self.refusals = self.refusals.saturating_add(1);
        self.no_room = no_room;
        if self.less.is_some() && !no_room && self.refusals > MAX_REFUSALS {
            // There was room for a delta, but none leads out of where it is.
            self.refusals = MAX_REFUSALS - 1;
        }
    }
}
