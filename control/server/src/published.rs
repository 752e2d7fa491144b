//! What the control loop published last: the source of every status.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};

use imbl::OrdMap;
use keyward_keys::KeyIndex;
use keyward_resource::{ObjectKey, Report, Reports};
use keyward_store::Revision;

use crate::proxies::Proxies;
use crate::rollout::Waits;

/// The key index, written by the control loop alone. What it says of one Secret is asked for when
/// somebody looks: saying it of all of them after each change would cost time in their number.
pub(crate) type SharedIndex = Arc<RwLock<KeyIndex>>;

/// A version of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Version {
    /// The revision of the store that made the object what it is.
    pub(crate) content: Revision,
    /// Its generation.
    pub(crate) generation: i64,
    /// The revision that wrote it last, were it only a status.
    pub(crate) written: Revision,
}

/// A state of the world as it is served.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// The store revision up to which changes are in it; none before the first translation.
    pub(crate) revision: Option<Revision>,
    /// Whether the `Settings` have changes reviewed; none before the first translation.
    pub(crate) reviews: Option<bool>,
    /// What is to be said of each object, but for what the index says.
    pub(crate) reports: Reports,
    /// The index.
    pub(crate) index: SharedIndex,
    /// The objects that have a stored status, in the versions that the reports are about.
    pub(crate) versions: OrdMap<ObjectKey, Version>,
    /// What each proxy is told.
    pub(crate) told: Arc<Proxies>,
    /// How the routes of each role have waited for keys.
    pub(crate) waits: BTreeMap<String, Waits>,
    /// The objects whose present version a proxy refuses.
    pub(crate) refused: BTreeSet<ObjectKey>,
    /// Whether the `Settings` want a port for developers.
    pub(crate) dev_mode: bool,
    /// What each proxy makes of the objects that it serves, by the proxy's name.
    pub(crate) proxies: BTreeMap<ObjectKey, BTreeMap<String, Report>>,
}

// === impl Version ===

impl Version {
    /// Whether it is the same object, statuses aside.
    pub(crate) fn says_the_same(&self, other: &Self) -> bool {
        (self.content, self.generation) == (other.content, other.generation)
    }
}

// === impl Published ===

impl Published {
    /// What each proxy makes of an object.
    pub(crate) fn proxies_of(&self, object: &ObjectKey) -> BTreeMap<String, Report> {
        self.proxies.get(object).cloned().unwrap_or_default()
    }

    /// The report on an object in the state that a revision names; none while that state has not
    /// been translated yet.
    #[must_use]
    pub(crate) fn report(&self, object: &ObjectKey, revision: Revision) -> Option<Report> {
        if self.revision? < revision {
            return None;
        }
        let of_index = self.index.read().unwrap_or_else(PoisonError::into_inner).report(object);
        match (self.reports.get(object).cloned(), of_index) {
            (Some(mut report), Some(more)) => {
                report.merge(more);
                Some(report)
            }
            (one, other) => one.or(other),
        }
    }
}
