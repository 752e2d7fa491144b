//! What is in force: everything but keys that proxies are told, once they all have accepted it (see
//! [`lagging`](super::lagging)), and for so long that every worker of theirs goes by it.

use std::collections::VecDeque;
use std::time::Duration;

use keyward_keys::GRACE;
use tokio::time::Instant;

use super::ControlLoop;
use crate::rollout::SETTLE;

/// Who has not accepted is looked at again after this, though nothing was heard of it.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// Which revisions are told and not in force yet.
#[derive(Debug)]
pub(super) struct InForce {
    /// Before that proxies that were there before the server may not be back.
    settled: Instant,
    /// What was told last, if somebody has not accepted it, and when that is looked at again.
    open: Option<(u64, Instant)>,
    /// What everybody has accepted, and since when, oldest first.
    accepted: VecDeque<(u64, Instant)>,
}

// === impl InForce ===

impl InForce {
    /// Of a server that starts now.
    pub(super) fn starting(now: Instant) -> Self {
        Self { settled: now + GRACE, open: None, accepted: VecDeque::new() }
    }

    /// Of a server that started long ago.
    #[cfg(test)]
    pub(super) fn settled() -> Self {
        Self { settled: Instant::now(), open: None, accepted: VecDeque::new() }
    }

    /// Everybody is told everything as at a revision.
    pub(super) fn tell(&mut self, revision: u64, now: Instant) {
        self.open = Some((revision, now));
    }

    /// A revision changes nothing of what was told last. Says whether it is in force with that.
    pub(super) fn pass(&mut self, revision: u64) -> bool {
        if let Some((told, _)) = &mut self.open {
            *told = revision;
        } else if let Some((told, _)) = self.accepted.back_mut() {
            *told = revision;
        } else {
            return true;
        }
        false
    }

    /// Notes whether everybody has accepted what was told last. Says what is in force now that was not before.
    pub(super) fn look(&mut self, accepted: bool, now: Instant) -> Option<u64> {
        if let Some((revision, _)) = self.open {
            self.open = if accepted && now >= self.settled {
                self.accepted.push_back((revision, now));
                None
            } else {
                Some((revision, now + LOOK_AGAIN))
            };
        }
        let mut in_force = None;
        while let Some((revision, _)) = self.accepted.pop_front_if(|(_, since)| now >= *since + SETTLE) {
            in_force = Some(revision);
        }
        in_force
    }

    /// When to look again at the latest, if there is anything to wait for.
    pub(super) fn next(&self) -> Option<Instant> {
        let accepted = self.accepted.front().map(|(_, since)| *since + SETTLE);
        let open = self.open.map(|(_, again)| again);
        accepted.into_iter().chain(open).min()
    }
}

// === impl ControlLoop ===

impl ControlLoop {
    /// Everybody is told the present, unless routes are kept back somewhere.
    pub(super) fn tell_in_force(&mut self) {
        if !self.rollouts.holds_any() {
            self.in_force.tell(self.revision.0, Instant::now());
        }
        self.look_in_force();
    }

    /// The newest revision changed nothing but keys, if anything.
    pub(super) fn pass_in_force(&mut self) {
        let revision = self.revision.0;
        if !self.rollouts.holds_any() && self.in_force.pass(revision) {
            self.outlets.workers.change(|workers, _| workers.on_routes(revision));
        }
    }

    /// Whoever waits for routes learns how far they are.
    pub(super) fn look_in_force(&mut self) {
        if self.in_force.next().is_none() {
            return;
        }
        let accepted = self.lagging_roles().is_empty();
        if let Some(revision) = self.in_force.look(accepted, Instant::now()) {
            self.outlets.workers.change(|workers, _| workers.on_routes(revision));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled() -> (InForce, Instant) {
        (InForce::settled(), Instant::now())
    }

    #[test]
    fn what_everybody_has_accepted_is_in_force_a_moment_later() {
        let (mut in_force, now) = settled();
        in_force.tell(7, now);
        assert_eq!(in_force.look(false, now), None);
        assert_eq!(in_force.next(), Some(now + LOOK_AGAIN));
        assert_eq!(in_force.look(true, now), None);
        assert_eq!(in_force.look(true, now + SETTLE), Some(7));
        assert_eq!(in_force.next(), None);
    }

    #[test]
    fn what_was_accepted_comes_in_force_though_something_newer_is_not() {
        let (mut in_force, now) = settled();
        in_force.tell(7, now);
        in_force.look(true, now);
        in_force.tell(8, now);
        assert_eq!(in_force.look(false, now + SETTLE), Some(7));
        assert_eq!(in_force.look(true, now + SETTLE), None);
        assert_eq!(in_force.look(true, now + 2 * SETTLE), Some(8));
    }

    #[test]
    fn what_changes_nothing_is_in_force_with_what_was_told() {
        let (mut in_force, now) = settled();
        assert!(in_force.pass(6));
        in_force.tell(7, now);
        assert!(!in_force.pass(8));
        in_force.look(true, now);
        assert!(!in_force.pass(9));
        assert_eq!(in_force.look(true, now + SETTLE), Some(9));
        assert!(in_force.pass(10));
    }

    #[test]
    fn nothing_is_in_force_while_proxies_may_still_come_back() {
        let start = Instant::now();
        let mut in_force = InForce::starting(start);
        in_force.tell(7, start);
        assert_eq!(in_force.look(true, start + GRACE / 2), None);
        assert_eq!(in_force.look(true, start + GRACE), None);
        assert_eq!(in_force.look(true, start + GRACE + SETTLE), Some(7));
    }
}
