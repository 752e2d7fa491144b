//! Make before break: which type may send now, given what the others still have to do.
//!
//! A change waits until every type that it may refer to has been delivered and answered; a refusal
//! is an answer too. An answer to a subscription waits for less, only until what it may refer to
//! was sent, because a client may need it to go on.
//!
//! What clusters themselves need must not wait for clusters at all: Envoy withholds the ACK of a
//! cluster until it is warm, that is, until its endpoints, secrets and filters have arrived. That
//! makes the ACK worth waiting for, and waiting in a circle easy.

use crate::tier::Tier;

/// What one type still has to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) tier: Tier,
    /// A response waits for its ACK or NACK, and not yet for too long.
    pub(crate) flight: bool,
    /// Something is to be added or changed that is not yet in a response.
    pub(crate) updates: bool,
    /// Something is to be taken away that is not yet in a response.
    pub(crate) removals: bool,
}

/// What a type may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    Everything,
    /// Only what answers a new subscription.
    Answers,
    Nothing,
}

/// What a type of `tier` may add or change.
pub(crate) fn permit(tier: Tier, others: &[Load]) -> Permit {
    let mut permit = Permit::Everything;
    for other in others.iter().filter(|other| other.tier < tier) {
        match (tier, other.tier) {
            (Tier::Endpoints, Tier::Clusters) => {}
            (Tier::Extensions, _) if other.updates || other.flight => permit = Permit::Answers,
            (Tier::Extensions, _) => {}
            _ if other.updates => return Permit::Nothing,
            _ if other.flight => permit = Permit::Answers,
            _ => {}
        }
    }
    permit
}

/// Whether a type of `tier` may take away: everything that may refer to it has settled.
///
/// Types are to be asked in order of their turns. One that may take away then has a response under
/// way, and one that may not is held up by something that holds up all later turns too.
pub(crate) fn may_remove(tier: Tier, all: &[Load]) -> bool {
    all.iter()
        .filter(|other| other.tier.removal_turn() < tier.removal_turn())
        .all(|other| !other.flight && !other.updates)
}

/// How many ticks a response may be unanswered before others stop to wait for it.
///
/// Two, so that it is at least one whole period, however shortly before a tick it was sent.
const PATIENCE: u8 = 2;

/// The most responses of one type that may be unanswered at a time.
pub(crate) const MAX_FLIGHTS: usize = 8;

/// How long a response has been under way, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Age(u8);

// === impl Age ===

impl Age {
    /// Grows older; tells whether that was one tick too many.
    pub(crate) fn tick(&mut self) -> bool {
        self.0 = self.0.saturating_add(1);
        self.0 == PATIENCE
    }

    pub(crate) fn is_overdue(self) -> bool {
        self.0 >= PATIENCE
    }
}

// === impl Load ===

impl Load {
    pub(crate) fn none(tier: Tier) -> Self {
        Self { tier, flight: false, updates: false, removals: false }
    }

    pub(crate) fn is_idle(&self) -> bool {
        !self.flight && !self.updates && !self.removals
    }
}
