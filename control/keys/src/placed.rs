//! A table in its place: under the name of one of those who have it.

use std::sync::Arc;

use keyward_filter_core::wire::Version;

use crate::table::{Difference, Table};

/// The table that a name stands for. Names whose tables are the same have one.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub(crate) table: Arc<Table>,
    /// The revision from which on it is this one. What the table was before nobody held by this name.
    pub(crate) since: u64,
    /// The revision up to which it has everything, where it is kept only because requests may still ask for it:
    /// no change reaches it any more.
    pub(crate) retired: Option<u64>,
}

// === impl Placed ===

impl Placed {
    /// The state that it is in.
    pub(crate) fn version(&self) -> Version {
        self.table.version()
    }

    /// Tells tables apart.
    pub(crate) fn id(&self) -> *const Table {
        Arc::as_ptr(&self.table)
    }

    /// The same, kept as it was at a revision.
    pub(crate) fn retired_at(&self, revision: u64) -> Self {
        Self { retired: self.retired.or(Some(revision)), ..self.clone() }
    }

    /// The revision up to which a state that is held by this name has everything, as far as it is known.
    pub(crate) fn reach(&self, held: Version) -> Option<u64> {
        self.table.reach(held).filter(|reach| *reach >= self.since)
    }

    /// Whether changes lead to the present from what is held by this name.
    pub(crate) fn leads_from(&self, held: Version) -> bool {
        self.table.leads_from(held, self.since)
    }

    /// The way to the present from what is held by this name, or a part of it; where it is urgent also when a
    /// snapshot is shorter.
    pub(crate) fn difference(&self, held: Version, max_bytes: usize, urgent: bool) -> Option<Difference> {
        self.table.since(held, self.since, max_bytes, urgent)
    }

    /// What the way to the present takes away from what is held by this name.
    pub(crate) fn taken_away(&self, held: Version, max_bytes: usize) -> Option<Difference> {
        self.table.taken_away(held, self.since, max_bytes)
    }
}
