//! Why a store did not do what it was asked.

use std::error::Error;

use crate::record::{Key, Revision};

/// Why a store did not do what it was asked. Nothing was changed, except where said otherwise.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// An object of this name is there already.
    #[error("{key} exists already")]
    AlreadyExists {
        /// Its name.
        key: Key,
        /// The revision that it stands at.
        current: Revision,
    },
    /// There is no object of this name.
    #[error("{key} does not exist")]
    NotFound {
        /// The name.
        key: Key,
    },
    /// The object was changed since it was read.
    #[error("{key} was changed since it was read: it is at revision {current}, not {expected}")]
    Conflict {
        /// Its name.
        key: Key,
        /// The revision that the caller knew.
        expected: Revision,
        /// The revision that it stands at.
        current: Revision,
    },
    /// The changes from here on are no longer kept: list, and watch from there.
    #[error("the changes after revision {from} are gone, the oldest kept start after {oldest}")]
    Compacted {
        /// Where the watch should have started.
        from: Revision,
        /// The oldest revision from which a watch can start.
        oldest: Revision,
    },
    /// A revision that this store has not reached: it comes from another store, or from this one
    /// before its data was lost.
    #[error("revision {from} lies in the future, the store is at {current}")]
    Future {
        /// The revision asked for.
        from: Revision,
        /// The revision of the store.
        current: Revision,
    },
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
    /// The storage underneath failed. Whether a write took place is not known when the failure
    /// was in making it durable.
    #[error("the store could not {action}")]
    Backend {
        /// What it was about to do.
        action: &'static str,
        /// The failure.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}
