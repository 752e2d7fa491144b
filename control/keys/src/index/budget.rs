//! How much of the past is kept for workers that come back: a part of each table, and a part of all of
//! them together.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::sync::Arc;

use super::KeyIndex;

#[cfg(test)]
mod tests;

/// How much of the last changes is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    /// Changes of each table.
    pub changes: usize,
    /// What the changes of all tables take in memory, in bytes, about.
    pub bytes: u64,
}

// === impl LogLimits ===

impl Default for LogLimits {
    fn default() -> Self {
        // A million changes or so: as many tables as there may be cost no more than that.
        Self { changes: 65_536, bytes: 128 << 20 }
    }
}

// === impl KeyIndex ===

impl KeyIndex {
    /// Forgets the oldest changes, of whichever table, until the rest is within the limit. A worker that
    /// lacks one of them is sent a snapshot.
    pub(super) fn forget_beyond_limit(&mut self) {
        let tables = || {
            self.groups.iter().flat_map(|(selection, group)| {
                let listed = group.tables.listed.iter().map(|(list, table)| (Some(list.clone()), table));
                let all = listed.chain([(None, &group.tables.all)]);
                all.map(|(list, table)| ((Arc::clone(selection), list), table))
            })
        };
        let mut held: u64 = tables().map(|(_, table)| table.log_bytes()).sum();
        if held <= self.log_limits.bytes {
            return;
        }
        let oldest = |(of, at): (_, Option<u64>)| Some(Reverse((at?, of)));
        let mut queue: BinaryHeap<_> =
            tables().filter_map(|(of, table)| oldest((of, table.oldest_change()))).collect();
        let mut changed = BTreeSet::new();
        while held > self.log_limits.bytes
            && let Some(Reverse((_, of))) = queue.pop()
            && let Some(group) = self.groups.get_mut(&of.0)
            && let Some(table) = group.tables.get_mut(of.1.as_ref())
        {
            let table = Arc::make_mut(table);
            held -= table.forget_oldest_change();
            changed.insert(Arc::clone(&of.0));
            queue.extend(oldest((of, table.oldest_change())));
        }
        for selection in &changed {
            self.place(selection, &BTreeSet::new());
        }
    }
}
