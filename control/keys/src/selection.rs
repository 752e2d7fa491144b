//! Which Secrets a step of an `AuthConfig` selects, and what of them it wants to know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::record::{self, MAX_RECORD_LEN};
use keyward_filter_core::wire::Digest;
use keyward_resource::ObjectRef;
use keyward_resource::kinds::auth_config::ApiKeyAuth;

use crate::secrets::Secret;
use crate::table::Record;

/// Labels and names; a Secret is selected by either.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selection {
    /// All must be equal, in any namespace; none at all selects nothing.
    labels: BTreeMap<String, String>,
    pub(crate) refs: BTreeSet<ObjectRef>,
    /// The metadata that go into headers, and whether a key without them is not valid.
    metadata: BTreeMap<String, bool>,
}

// === impl Selection ===

impl Selection {
    /// `None` when it could never select anything.
    pub(crate) fn new(auth: ApiKeyAuth) -> Option<Self> {
        if auth.selects_nothing() {
            return None;
        }
        let mut metadata = BTreeMap::new();
        for entry in auth.headers_from_metadata.into_values() {
            *metadata.entry(entry.name).or_default() |= entry.required;
        }
        Some(Self { labels: auth.label_selector, refs: auth.secret_refs.into_iter().collect(), metadata })
    }

    pub(crate) fn selects(&self, secret: &Secret) -> bool {
        let by_labels = !self.labels.is_empty()
            && self.labels.iter().all(|(name, value)| secret.labels.get(name) == Some(value));
        by_labels || self.refs.contains(&secret.id)
    }

    /// Whether it selects a Secret that has all that it requires.
    pub(crate) fn accepts(&self, secret: &Secret) -> bool {
        self.selects(secret) && self.lacking(secret).next().is_none() && self.fits(secret)
    }

    /// The metadata that it requires and that a Secret does not have, or not in a form that a header can
    /// carry.
    pub(crate) fn lacking<'a>(&'a self, secret: &'a Secret) -> impl Iterator<Item = &'a str> {
        let required = self.metadata.iter().filter(|(_, required)| **required);
        required.map(|(name, _)| name.as_str()).filter(|name| secret.metadata(name).is_none())
    }

    /// Whether what tables say of the keys of a Secret is short enough.
    pub(crate) fn fits(&self, secret: &Secret) -> bool {
        secret.keys().all(|key| self.record(secret, &key).is_some())
    }

    /// What the table says of a key of a Secret; `None` when it would be too long.
    pub(crate) fn record(&self, secret: &Secret, key: &Digest) -> Option<Record> {
        let bare = secret.bare(key);
        let metadata =
            || self.metadata.keys().filter_map(|name| Some((name.as_str(), secret.metadata(name)?)));
        if metadata().next().is_none() {
            return Some(Arc::clone(bare));
        }
        let packed = record::extend(bare, metadata());
        (packed.len() <= MAX_RECORD_LEN).then(|| packed.into())
    }
}
