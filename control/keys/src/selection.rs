//! Which Secrets an `AuthConfig` selects.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resource::ObjectRef;
use keyward_resource::kinds::auth_config::ApiKeyAuth;

use crate::secrets::Secret;

/// Labels and names; a Secret is selected by either.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selection {
    /// All must be equal, in any namespace; none at all selects nothing.
    labels: BTreeMap<String, String>,
    pub(crate) refs: BTreeSet<ObjectRef>,
}

// === impl Selection ===

impl Selection {
    /// `None` when it could never select anything.
    pub(crate) fn new(auth: ApiKeyAuth) -> Option<Self> {
        if auth.selects_nothing() {
            return None;
        }
        Some(Self { labels: auth.label_selector, refs: auth.secret_refs.into_iter().collect() })
    }

    pub(crate) fn selects(&self, secret: &Secret) -> bool {
        let by_labels = !self.labels.is_empty()
            && self.labels.iter().all(|(name, value)| secret.labels.get(name) == Some(value));
        by_labels || self.refs.contains(&secret.id)
    }
}
