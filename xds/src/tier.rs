//! In which order types are sent, so that nothing refers to what is not there yet.

use crate::type_url;

/// The place of a type in make-before-break order.
///
/// Additions and changes travel from the first to the last; removals travel back: what refers goes
/// before what is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Tier {
    Clusters,
    Endpoints,
    /// Filter configurations, secrets and whatever else listeners refer to.
    Extensions,
    Listeners,
    Routes,
    VirtualHosts,
}

// === impl Tier ===

impl Tier {
    pub(crate) fn of(url: &str) -> Self {
        match url {
            type_url::CLUSTER => Self::Clusters,
            type_url::ENDPOINT => Self::Endpoints,
            type_url::LISTENER => Self::Listeners,
            type_url::ROUTE => Self::Routes,
            type_url::VIRTUAL_HOST => Self::VirtualHosts,
            _ => Self::Extensions,
        }
    }

    /// The turn of this type when resources are taken away; zero goes along with the changes.
    pub(crate) fn removal_turn(self) -> u8 {
        match self {
            Self::Listeners | Self::Routes | Self::VirtualHosts => 0,
            Self::Extensions => 1,
            Self::Clusters => 2,
            Self::Endpoints => 3,
        }
    }

    /// Whether removals of this type wait until everything that may refer to it has settled.
    pub(crate) fn defers_removal(self) -> bool {
        self.removal_turn() > 0
    }
}
