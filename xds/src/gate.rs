//! Make before break: which type may send now, given what the others still have to do.
//!
//! A change waits until every type that it may refer to has been delivered and answered; a refusal
//! is an answer too, so nothing waits for ever. An answer to a subscription waits for less, only
//! until what it may refer to was sent, because a client may need it to go on.

use crate::tier::Tier;

/// What one type still has to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) tier: Tier,
    /// A response waits for its ACK or NACK.
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
        if other.updates {
            return Permit::Nothing;
        }
        if other.flight {
            permit = Permit::Answers;
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

// === impl Load ===

impl Load {
    pub(crate) fn none(tier: Tier) -> Self {
        Self { tier, flight: false, updates: false, removals: false }
    }

    pub(crate) fn is_idle(&self) -> bool {
        !self.flight && !self.updates && !self.removals
    }
}
