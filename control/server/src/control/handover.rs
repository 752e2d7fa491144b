//! Keys that come to somebody else by the clock: a previous key that has ended is free for another Secret that
//! holds it too.

use std::time::Duration;

use jiff::Timestamp;
use keyward_keys::Change;
use tokio::time::Instant;

use super::ControlLoop;

/// The clock is looked at so often, as it may be set.
const LOOK: Duration = Duration::from_secs(60);

/// In milliseconds since 1970.
fn clock() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or_default()
}

/// What the index is told of the time.
pub(super) fn now() -> Change {
    Change::Time(clock())
}

// === impl ControlLoop ===

impl ControlLoop {
    /// Looks again when a key ends that somebody else holds too.
    pub(super) fn await_end(&mut self) {
        let end = self.index_mut().next_end();
        let wait = end.map(|end| Duration::from_millis(end.saturating_sub(clock())).min(LOOK));
        self.hand_over_at = wait.map(|wait| Instant::now() + wait);
    }

    /// Publishes whose the keys are now, if there is anything new.
    pub(super) fn hand_over(&mut self) {
        if self.index_mut().next_end().is_some_and(|end| end <= clock()) {
            self.publish_keys();
        } else {
            self.await_end();
        }
    }
}
