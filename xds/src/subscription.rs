//! What a client asked for of one type.

use crate::type_url;
use std::{collections::BTreeSet, sync::Arc};

/// The standing interest in one type.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subscription {
    pub(crate) wildcard: bool,
    pub(crate) names: BTreeSet<Arc<str>>,
}

/// Whether an empty list of names means "everything" until the first name is given.
///
/// The protocol has this for listeners and clusters only, "for historical reasons".
pub(crate) fn has_legacy_wildcard(type_url: &str) -> bool {
    matches!(type_url, type_url::LISTENER | type_url::CLUSTER)
}

// === impl Subscription ===

impl Subscription {
    pub(crate) fn includes(&self, name: &str) -> bool {
        self.wildcard || self.names.contains(name)
    }
}
