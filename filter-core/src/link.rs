//! When to open the key stream, and when to try again.

use crate::wire::mix;

#[cfg(test)]
mod tests;

/// The first delay after a stream closed, in milliseconds.
pub const SHORTEST_DELAY_MS: u64 = 50;
/// The longest delay. A stream that lasted longer is a success, whatever ended it.
pub const LONGEST_DELAY_MS: u64 = 2_000;

/// The state of the key stream of one worker. At most one is open.
#[derive(Debug)]
pub struct Link {
    state: State,
    /// Streams in a row that did not last.
    failures: u32,
    /// Spreads the workers: after a restart of the control server they must not come all at once.
    seed: u64,
}

/// An open stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Its number.
    pub number: u32,
    /// The root context that it belongs to.
    pub root: u32,
    /// Version of the plugin configuration that the server was told last.
    pub reported: u64,
    /// Whether the server has accepted it.
    pub accepted: bool,
    /// When it was opened.
    pub since: u64,
}

#[derive(Debug)]
enum State {
    Down { retry_at: u64 },
    Up(Stream),
}

// === impl Link ===

impl Link {
    /// A link that is due at once.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: State::Down { retry_at: 0 }, failures: 0, seed }
    }

    /// The open stream.
    #[must_use]
    pub fn stream(&self) -> Option<&Stream> {
        match &self.state {
            State::Up(stream) => Some(stream),
            State::Down { .. } => None,
        }
    }

    /// The open stream, to note something about it.
    pub fn stream_mut(&mut self) -> Option<&mut Stream> {
        match &mut self.state {
            State::Up(stream) => Some(stream),
            State::Down { .. } => None,
        }
    }

    /// Whether a stream should be opened now.
    #[must_use]
    pub fn is_due(&self, now: u64) -> bool {
        matches!(self.state, State::Down { retry_at } if retry_at <= now)
    }

    /// A stream was opened.
    pub fn opened(&mut self, stream: Stream) {
        self.state = State::Up(stream);
    }

    /// The stream is closed, or could not be opened. The next attempt waits a while.
    pub fn closed(&mut self, now: u64) {
        let lasted = self.stream().is_some_and(|stream| now.saturating_sub(stream.since) > LONGEST_DELAY_MS);
        self.failures = if lasted { 0 } else { self.failures.saturating_add(1) };
        self.state = State::Down { retry_at: now.saturating_add(self.delay()) };
    }

    /// The stream was given up to open another, in the context of another root. Gives the old one.
    pub fn release(&mut self) -> Option<Stream> {
        let stream = *self.stream()?;
        self.state = State::Down { retry_at: 0 };
        Some(stream)
    }

    /// Doubles with each failure up to the longest, then takes off up to a half.
    fn delay(&self) -> u64 {
        let doublings = self.failures.saturating_sub(1);
        let factor = 1_u64.checked_shl(doublings).unwrap_or(u64::MAX);
        let delay = SHORTEST_DELAY_MS.saturating_mul(factor).min(LONGEST_DELAY_MS);
        let draw = mix(self.seed ^ u64::from(self.failures));
        let off = draw.checked_rem(delay / 2).unwrap_or(0);
        delay.saturating_sub(off)
    }
}
