//! What every object has: its name, its labels and what the server keeps about it.

use std::collections::BTreeMap;
use std::fmt;

/// Names an object of a known kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// Names an object of any kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// The kind as in [`crate::Kind::name`], such as `VirtualService`.
    pub kind: &'static str,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// The metadata of an object, valid by construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The labels.
    pub labels: BTreeMap<String, String>,
    /// The store revision of this state of the object; zero before it is stored.
    pub resource_version: u64,
    /// The store revision that created it; zero before it is stored or where the store does not tell.
    /// No field of the object holds it: whoever reads objects from a store puts it here.
    pub created: u64,
    /// Rises with every change of anything but metadata and status.
    pub generation: i64,
    /// When it was created, RFC 3339; empty before it is stored. Sorts by time.
    pub creation_timestamp: String,
}

// === impl ObjectRef ===

impl ObjectRef {
    /// A reference from its two parts.
    pub fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

// === impl ObjectKey ===

impl ObjectKey {
    /// A key from its three parts.
    pub fn new(kind: &'static str, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind, namespace: namespace.into(), name: name.into() }
    }

    /// The reference without the kind.
    #[must_use]
    pub fn object_ref(&self) -> ObjectRef {
        ObjectRef::new(&self.namespace, &self.name)
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

// === impl Meta ===

impl Meta {
    /// Stands in for metadata that cannot be read, so that the rest of an object can be.
    pub(crate) fn unnamed() -> Self {
        Self {
            namespace: String::new(),
            name: String::new(),
            labels: BTreeMap::new(),
            resource_version: 0,
            created: 0,
            generation: 0,
            creation_timestamp: String::new(),
        }
    }

    /// The reference to the object that has this metadata.
    #[must_use]
    pub fn object_ref(&self) -> ObjectRef {
        ObjectRef::new(&self.namespace, &self.name)
    }
}
