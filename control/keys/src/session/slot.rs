//! What is known of one table in the worker.

use keyward_filter_core::wire::Version;

/// Refusals in a row after which a table is offered only once a version.
pub(super) const MAX_REFUSALS: u32 = 3;

/// A table in the worker.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// What it holds.
    pub(super) held: Option<Version>,
    /// What it will hold when it takes what is on its way.
    pub(super) awaited: Option<Version>,
    /// The version that the table had when the worker was last offered a change of it.
    pub(super) offered: Option<Version>,
    /// The same of a change that was none of the whole table.
    pub(super) offered_change: Option<Version>,
    /// How often in a row it refused.
    pub(super) refusals: u32,
    /// The last time for want of room.
    pub(super) no_room: bool,
}

// === impl Slot ===

impl Slot {
    /// What the worker says that it holds, or has taken.
    pub(super) fn holding(version: Version) -> Self {
        Self { held: Some(version), ..Self::default() }
    }

    /// Whether the worker should be offered something: it does not hold the table as it is, has
    /// answered, and has not refused too often.
    pub(super) fn is_due(&self, now: Version) -> bool {
        let is_new = self.offered != Some(now);
        self.awaited.is_none() && self.held != Some(now) && (self.refusals < MAX_REFUSALS || is_new)
    }

    /// Whether that may be a delta. After a refusal it is a snapshot; where snapshots are refused
    /// too, perhaps for want of memory, only a delta has a chance. And what is revoked reaches a worker without
    /// room with a delta alone, so there what is new is told by one first.
    pub(super) fn takes_delta(&self, now: Version) -> bool {
        let revokes = self.no_room && self.offered_change != Some(now);
        self.is_due(now) && (self.refusals == 0 || self.refusals >= MAX_REFUSALS || revokes)
    }

    /// The worker has refused what was on its way.
    pub(super) fn refuse(&mut self, no_room: bool) {
        self.awaited = None;
        self.refusals = self.refusals.saturating_add(1);
        self.no_room = no_room;
    }
}
