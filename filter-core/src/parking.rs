//! The requests that wait for keys.

use std::collections::BTreeMap;

#[cfg(test)]
mod tests;

/// The most requests that may wait in one worker. Each holds a connection and its buffers, and all
/// of them are decided at once when the keys arrive: about 50 ms of work.
pub const CAPACITY: usize = 10_000;

/// Requests by the number of their context, each with what is needed to decide on it later.
#[derive(Debug)]
pub struct Lot<T> {
    waiting: BTreeMap<u32, Parked<T>>,
}

/// As many requests wait as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many requests wait for keys")]
pub struct Full;

#[derive(Debug)]
struct Parked<T> {
    until: u64,
    what: T,
}

// === impl Lot ===

impl<T> Default for Lot<T> {
    fn default() -> Self {
        Self { waiting: BTreeMap::new() }
    }
}

impl<T> Lot<T> {
    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether nobody waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Lets a request wait until a point in time.
    ///
    /// # Errors
    ///
    /// When there is no room.
    pub fn enter(&mut self, context: u32, until: u64, what: T) -> Result<(), Full> {
        if self.waiting.len() >= CAPACITY {
            return Err(Full);
        }
        self.waiting.insert(context, Parked { until, what });
        Ok(())
    }

    /// Takes a request out, if it waits.
    pub fn leave(&mut self, context: u32) -> Option<T> {
        Some(self.waiting.remove(&context)?.what)
    }

    /// Takes out all whose time is up, the oldest context first.
    pub fn expire(&mut self, now: u64) -> Vec<(u32, T)> {
        let expired = self.waiting.extract_if(.., |_, parked| parked.until <= now);
        expired.map(|(context, parked)| (context, parked.what)).collect()
    }
}

impl<T: Clone> Lot<T> {
    /// All that wait, the oldest context first.
    #[must_use]
    pub fn waiting(&self) -> Vec<(u32, T)> {
        self.waiting.iter().map(|(context, parked)| (*context, parked.what.clone())).collect()
    }
}
