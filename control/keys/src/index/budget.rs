//! How much of the past is kept for workers that come back: a part of each table, and a part of all of
//! them together.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
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
        let mut held: u64 = self.tables.values().map(|table| table.log_bytes()).sum();
        if held <= self.log_limits.bytes {
            return;
        }
        let oldest = |(name, at): (&Arc<str>, Option<u64>)| Some(Reverse((at?, Arc::clone(name))));
        let mut queue: BinaryHeap<_> =
            self.tables.iter().filter_map(|(name, table)| oldest((name, table.oldest_change()))).collect();
        while held > self.log_limits.bytes
            && let Some(Reverse((_, name))) = queue.pop()
            && let Some(table) = self.tables.get_mut(&name)
        {
            let table = Arc::make_mut(table);
            held -= table.forget_oldest_change();
            queue.extend(oldest((&name, table.oldest_change())));
        }
    }
}
