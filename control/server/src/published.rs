//! What the control loop published last: the source of every status.

use std::sync::{Arc, PoisonError, RwLock};

use keyward_keys::KeyIndex;
use keyward_resource::{ObjectKey, Report, Reports};
use keyward_store::Revision;

/// The key index, written by the control loop alone. What it says of one Secret is asked for when
/// somebody looks: saying it of all of them after each change would cost time in their number.
pub(crate) type SharedIndex = Arc<RwLock<KeyIndex>>;

/// A state of the world as it is served.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// The store revision up to which changes are in it; none before the first translation.
    pub(crate) revision: Option<Revision>,
    /// What is to be said of each object, but for what the index says.
    pub(crate) reports: Reports,
    /// The index.
    pub(crate) index: SharedIndex,
}

// === impl Published ===

impl Published {
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
