//! How often each key was used and when last: tallied in each worker, reported over the key stream.
//!
//! ```text
//!  Permit ──count──▶ Tally ──close: each interval, or when it fills up──▶ outbox ──▶ Usage { seq }
//!                      ▲                                                    ▲
//!  change of a table ──┘ seal: uses before it are told                      └── UsageAck { seq }
//!                        with the revision that they were counted at
//! ```
//!
//! A report waits in the outbox until the server says that it is stored, and is sent again on the next
//! stream until then: the server knows by its number whether it has it. The next one is made when the
//! last one is gone, so what waits for a server that is away is two reports at most.

use std::collections::VecDeque;

use prost::Message as _;

use crate::wire::client_message::Kind;
use crate::wire::{ClientMessage, Digest};

mod tally;
#[cfg(test)]
mod tests;

pub use tally::MAX_KEYS;
use tally::Tally;

/// The reports of one worker.
#[derive(Debug, Default)]
pub struct Reporter {
    tally: Tally,
    /// Reports that the server has not stored yet, encoded, by their numbers.
    outbox: VecDeque<(u64, Vec<u8>)>,
    /// The number of the last report.
    seq: u64,
    open: Option<Open>,
    /// When the last report was made.
    closed_at: u64,
}

/// A stream on which the server has said that it takes reports.
#[derive(Debug, Clone, Copy)]
struct Open {
    stream: u32,
    /// The last report that was sent on it.
    sent: u64,
}

// === impl Reporter ===

impl Reporter {
    /// Nothing was used yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A key of a table was used.
    pub fn count(&mut self, table: &str, digest: &Digest) {
        self.tally.count(table, digest);
    }

    /// From now on it is so late, in milliseconds since 1970. Keys are used at the time of the last look
    /// at the clock: a look for each request would cost more than all the rest of the tally.
    pub fn set_time(&mut self, wall: u64) {
        self.tally.set_time(wall);
    }

    /// A key of a table is about to be another one's, or nobody's: so far it was used at this revision.
    pub fn seal(&mut self, table: &str, digest: &Digest, revision: u64) {
        self.tally.seal(table, digest, revision);
    }

    /// The same for all keys of a table.
    pub fn seal_all(&mut self, table: &str, revision: u64) {
        self.tally.seal_all(table, revision);
    }

    /// Whether there is so much to tell that it should not wait for the end of the interval.
    #[must_use]
    pub fn is_filling(&self) -> bool {
        self.outbox.is_empty() && self.tally.is_filling()
    }

    /// Makes a report of all that was counted, if it is time. `revision_of` is the revision at which a
    /// table is held.
    pub fn close(&mut self, now: u64, interval_ms: u32, revision_of: impl Fn(&str) -> u64) {
        let due = now.saturating_sub(self.closed_at) >= u64::from(interval_ms) || self.tally.is_filling();
        if !due || !self.outbox.is_empty() {
            return;
        }
        self.closed_at = now;
        for mut usage in self.tally.take(revision_of) {
            self.seq = self.seq.saturating_add(1);
            usage.seq = self.seq;
            let message = ClientMessage { kind: Some(Kind::Usage(usage)) };
            self.outbox.push_back((self.seq, message.encode_to_vec()));
        }
    }

    /// The server has stored all reports up to this one, and takes the next ones on this stream.
    pub fn on_ack(&mut self, stream: u32, seq: u64) {
        while self.outbox.front().is_some_and(|(other, _)| *other <= seq) {
            self.outbox.pop_front();
        }
        // A worker that drew the name of one that went before it goes on where that one ended.
        self.seq = self.seq.max(seq);
        if self.open.is_none_or(|open| open.stream != stream) {
            self.open = Some(Open { stream, sent: seq });
        }
    }

    /// The next report to send on a stream, if the server takes any there.
    pub fn next(&mut self, stream: u32) -> Option<&[u8]> {
        let open = self.open.as_mut().filter(|open| open.stream == stream)?;
        let (seq, message) = self.outbox.iter().find(|(seq, _)| *seq > open.sent)?;
        open.sent = *seq;
        Some(message)
    }

    /// How many uses could not be counted since the last time that this was asked.
    pub fn take_lost(&mut self) -> u64 {
        self.tally.take_lost()
    }
}
