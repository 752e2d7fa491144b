//! What the control loop published last: the source of every status.

use keyward_resource::{Report, Reports};
use keyward_store::Revision;

/// A state of the world as it is served.
#[derive(Debug, Default)]
pub(crate) struct Published {
    /// The store revision up to which changes are in it; none before the first translation.
    pub(crate) revision: Option<Revision>,
    /// What is to be said of each object.
    pub(crate) reports: Reports,
}

// === impl Published ===

impl Published {
    /// The report on an object in the state that a revision names; none while that state has not
    /// been translated yet.
    #[must_use]
    pub(crate) fn report(&self, object: &keyward_resource::ObjectKey, revision: Revision) -> Option<&Report> {
        (self.revision? >= revision).then(|| self.reports.get(object)).flatten()
    }
}
