//! What was logged last, for those who ask over REST: the control server's own lines, and those of the Envoy
//! that it supervises.
//!
//! ```text
//! tracing ─▶ Tee ─▶ standard error        envoy.log ─▶ log_tail ─▶ tracing
//!             └───▶ Ring (control)                        └──────▶ Ring (gateway-proxy)
//! ```
//!
//! Each ring has a bound, so that a proxy that logs everything takes no more memory than one that logs nothing.

mod tee;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

pub(crate) use tee::Tee;

/// Envoy's lines go through tracing with this target; they are not the control server's own.
pub(crate) const ENVOY_TARGET: &str = "envoy";

/// So many lines are kept, at most.
const MAX_LINES: usize = 10_000;
/// So many bytes are kept, at most.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// A line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// Whether it says that something went wrong.
    pub(crate) is_error: bool,
    /// Without an end.
    pub(crate) text: Arc<str>,
}

/// The last lines of a log. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct Ring(Arc<Inner>);

/// Both logs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs {
    /// That of the control server.
    pub(crate) control: Ring,
    /// That of the supervised Envoy.
    pub(crate) proxy: Ring,
}

#[derive(Debug)]
struct Inner {
    kept: Mutex<Kept>,
    /// How many lines there were ever.
    count: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<Line>,
    bytes: usize,
    /// The number of the first one.
    first: u64,
}

/// Lines from a number on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) lines: Vec<Line>,
    /// So many were gone before they were read.
    pub(crate) missed: u64,
    /// The number of the line that comes next.
    pub(crate) next: u64,
}

// === impl Ring ===

impl Default for Ring {
    fn default() -> Self {
        Self(Arc::new(Inner { kept: Mutex::default(), count: watch::Sender::new(0) }))
    }
}

impl Ring {
    /// Adds a line.
    pub(crate) fn push(&self, text: &str, is_error: bool) {
        let mut kept = self.kept();
        kept.push(Line { is_error, text: text.into() });
        let count = kept.end();
        drop(kept);
        // Two who push at a time may come here in either order.
        self.0.count.send_if_modified(|known| {
            let is_news = *known < count;
            *known = count.max(*known);
            is_news
        });
    }

    /// The number from which on there are at most this many lines that count.
    pub(crate) fn tail(&self, most: usize, errors_only: bool) -> u64 {
        let kept = self.kept();
        let counted = kept.lines.iter().enumerate().rev().filter(|(_, line)| line.is_error || !errors_only);
        match counted.take(most).last() {
            Some((index, _)) => kept.first + index as u64,
            None => kept.end(),
        }
    }

    /// What there is from a number on.
    pub(crate) fn read(&self, from: u64) -> Read {
        let kept = self.kept();
        let missed = kept.first.saturating_sub(from);
        let skipped = usize::try_from(from.saturating_sub(kept.first)).unwrap_or(usize::MAX);
        Read { lines: kept.lines.iter().skip(skipped).cloned().collect(), missed, next: kept.end() }
    }

    /// Changes with each line.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.0.count.subscribe()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Kept ===

impl Kept {
    fn push(&mut self, line: Line) {
        self.bytes += line.text.len();
        self.lines.push_back(line);
        while self.lines.len() > MAX_LINES || self.bytes > MAX_BYTES {
            let Some(gone) = self.lines.pop_front() else { break };
            self.bytes -= gone.text.len();
            self.first += 1;
        }
    }

    fn end(&self) -> u64 {
        self.first + self.lines.len() as u64
    }
}

#[cfg(test)]
mod tests;
