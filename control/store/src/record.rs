//! What a store keeps: keys, records and the events that changed them.

use std::fmt;
use std::sync::Arc;

/// The bytes of an object, shared by everybody who reads them.
pub type Body = Arc<[u8]>;

/// A point in the one sequence of changes; the first change is 1, an empty store is at 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Revision(pub u64);

/// Names an object in the store. Ordered by kind, namespace, name, each by its bytes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The kind, such as `VirtualService`.
    pub kind: String,
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

/// One object as it stands.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// Its name.
    pub key: Key,
    /// The change that made it so.
    pub revision: Revision,
    /// The change that created it; a deleted and recreated object starts anew.
    pub created: Revision,
    /// What was written.
    pub body: Body,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The object was created or updated.
    Put {
        /// What it is now.
        record: Record,
        /// What it was before; none when it was created.
        before: Option<Record>,
    },
    /// The object was deleted.
    Delete {
        /// Its name.
        key: Key,
        /// The change that deleted it.
        revision: Revision,
        /// What it was.
        last: Record,
    },
}

/// Selects the objects of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// Of this kind.
    pub kind: String,
    /// In this namespace, or in all of them.
    pub namespace: Option<String>,
}

// === impl Revision ===

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

// === impl Key ===

impl Key {
    /// A key from its three parts.
    pub fn new(kind: impl Into<String>, namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

// === impl Record ===

impl fmt::Debug for Record {
    // A body may hold an API key: only its size is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("key", &self.key)
            .field("revision", &self.revision)
            .field("created", &self.created)
            .field("body", &format_args!("[{} bytes]", self.body.len()))
            .finish()
    }
}

// === impl Event ===

impl Event {
    /// The object that was changed.
    #[must_use]
    pub fn key(&self) -> &Key {
        match self {
            Self::Put { record, .. } => &record.key,
            Self::Delete { key, .. } => key,
        }
    }

    /// The change itself.
    #[must_use]
    pub fn revision(&self) -> Revision {
        match self {
            Self::Put { record, .. } => record.revision,
            Self::Delete { revision, .. } => *revision,
        }
    }
}

// === impl Selector ===

impl Selector {
    /// All objects of a kind.
    pub fn kind(kind: impl Into<String>) -> Self {
        Self { kind: kind.into(), namespace: None }
    }

    /// The objects of a kind in one namespace.
    pub fn namespaced(kind: impl Into<String>, namespace: impl Into<String>) -> Self {
        Self { kind: kind.into(), namespace: Some(namespace.into()) }
    }

    /// Whether an object is selected.
    #[must_use]
    pub fn selects(&self, key: &Key) -> bool {
        self.kind == key.kind && self.namespace.as_ref().is_none_or(|namespace| *namespace == key.namespace)
    }
}
