//! Everything that one kind of client should hold, immutable and cheap to clone.

use crate::{digest::digest, resource::Resource};
use bytes::Bytes;
use std::{collections::BTreeMap, fmt, sync::Arc};

/// All resources of all types for the clients of one node key.
///
/// A snapshot never changes; a change is a new snapshot. Equal content gives equal versions,
/// whatever the order of insertion.
#[derive(Clone, Default)]
pub struct Snapshot(Arc<Inner>);

/// Collects resources into a [`Snapshot`].
#[derive(Debug, Default)]
pub struct SnapshotBuilder {
    types: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Resource>>,
}

#[derive(Default)]
struct Inner {
    version: Arc<str>,
    types: BTreeMap<Arc<str>, TypeSet>,
}

/// The resources of one type.
struct TypeSet {
    version: Arc<str>,
    resources: BTreeMap<Arc<str>, Resource>,
}

/// The version of a set of resources: the digest over their names and versions, in order of name.
pub(crate) fn set_version<'a>(resources: impl IntoIterator<Item = &'a Resource>) -> Arc<str> {
    let parts = resources.into_iter().flat_map(|r| [r.name().as_bytes(), r.version().as_bytes()]);
    digest(parts)
}

// === impl Snapshot ===

impl Snapshot {
    /// Starts an empty snapshot.
    pub fn builder() -> SnapshotBuilder {
        SnapshotBuilder::default()
    }

    /// The digest over the whole content.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// The digest over the resources of one type; empty when there is none.
    pub fn type_version(&self, type_url: &str) -> Arc<str> {
        self.0.types.get(type_url).map(|set| set.version.clone()).unwrap_or_default()
    }

    /// One resource.
    pub fn get(&self, type_url: &str, name: &str) -> Option<&Resource> {
        self.0.types.get(type_url)?.resources.get(name)
    }

    /// The resources of one type in order of name.
    pub fn resources(&self, type_url: &str) -> impl Iterator<Item = &Resource> {
        self.0.types.get(type_url).into_iter().flat_map(|set| set.resources.values())
    }

    /// The types that have at least one resource, in order.
    pub fn type_urls(&self) -> impl Iterator<Item = &Arc<str>> {
        self.0.types.keys()
    }

    /// The number of resources of all types.
    pub fn len(&self) -> usize {
        self.0.types.values().map(|set| set.resources.len()).sum()
    }

    /// Whether there is no resource at all.
    pub fn is_empty(&self) -> bool {
        self.0.types.is_empty()
    }
}

impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.version == other.0.version
    }
}

impl Eq for Snapshot {}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts: BTreeMap<_, _> =
            self.0.types.iter().map(|(url, set)| (url, set.resources.len())).collect();
        f.debug_struct("Snapshot").field("version", &self.0.version).field("resources", &counts).finish()
    }
}

// === impl SnapshotBuilder ===

impl SnapshotBuilder {
    /// Adds an encoded message. A second one of the same type and name takes the first one's place.
    #[must_use]
    pub fn insert(
        self,
        type_url: impl Into<Arc<str>>,
        name: impl Into<Arc<str>>,
        body: impl Into<Bytes>,
    ) -> Self {
        self.insert_resource(Resource::new(type_url, name, body))
    }

    /// Adds a resource. A second one of the same type and name takes the first one's place.
    #[must_use]
    pub fn insert_resource(mut self, resource: Resource) -> Self {
        self.types.entry(resource.type_url().clone()).or_default().insert(resource.name().clone(), resource);
        self
    }

    /// Makes the snapshot and computes its versions.
    #[must_use]
    pub fn build(self) -> Snapshot {
        let types: BTreeMap<_, _> = self
            .types
            .into_iter()
            .map(|(url, resources)| (url, TypeSet { version: set_version(resources.values()), resources }))
            .collect();
        let version = digest(types.iter().flat_map(|(url, set)| [url.as_bytes(), set.version.as_bytes()]));
        Snapshot(Arc::new(Inner { version, types }))
    }
}

impl Extend<Resource> for SnapshotBuilder {
    fn extend<I: IntoIterator<Item = Resource>>(&mut self, resources: I) {
        for resource in resources {
            *self = std::mem::take(self).insert_resource(resource);
        }
    }
}

#[cfg(test)]
mod tests;
