//! Writing: the one way in which objects change, whoever changes them.
//!
//! ```text
//! create ─▶ admission ─▶ managers ─▶ review ─▶ namespace ─▶ store.create ─▶ audit
//! update, patch, apply ─▶ ┌ current ─▶ proposal ─▶ settle ─▶ review ─▶ store.update ┐ ─▶ audit
//!                         └──────────── again, if somebody was quicker ◀────────────┘
//! ```

mod apply;
mod change;
mod create;
mod delete;
mod namespace;
mod patch;
mod settle;
mod status;

use std::sync::{Arc, Mutex};

use keyward_resource::{ApiStatus, Kind};
use keyward_store::{Key, Record, Revision, Store};
use serde_json::Value;

use crate::access::{Audit, Change, Identity, Verb};
use crate::origin::Origin;
use crate::reply::store_error;
use crate::review::Review;
use crate::stored::Stored;
use crate::target::Target;

pub(crate) use patch::Patch;
pub use status::StatusWrite;

/// Writes objects, as REST does: validated, merged, with the metadata that servers keep.
#[derive(Clone)]
pub struct Writer {
    inner: Arc<Inner>,
    pub(crate) review: Option<Arc<dyn Review>>,
}

struct Inner {
    store: Arc<dyn Store>,
    audit: Arc<dyn Audit>,
    system_namespace: String,
    origin: Origin,
    live: Mutex<namespace::Live>,
}

/// How something is written, and by whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteOptions {
    /// Who it is, for the audit.
    pub identity: Identity,
    /// The field manager.
    pub manager: String,
    /// Do everything but write.
    pub dry_run: bool,
    /// What becomes of unknown fields.
    pub field_validation: FieldValidation,
}

/// What becomes of fields that nobody knows. Fields that the original product knows and this one
/// does not serve are refused whatever it says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// The object is refused.
    #[default]
    Strict,
    /// They are dropped, and the sender is told.
    Warn,
    /// They are dropped.
    Ignore,
}

/// What a write has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// There is a new object.
    Created,
    /// The object has changed.
    Changed,
    /// It was so already.
    Unchanged,
    /// The object is gone.
    Deleted,
}

/// An object after a write.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    /// What was done, or would have been done.
    pub effect: Effect,
    /// The object.
    pub key: Key,
    /// As it is stored now, or was last.
    pub stored: Stored,
    /// Its version; none for what a dry run would have created.
    pub revision: Option<Revision>,
    /// The revision with which all else is done that came with it, where there was more to do: what went with a
    /// namespace.
    pub settled: Option<Revision>,
    /// What the sender should know.
    pub warnings: Vec<String>,
}

/// What must hold for a deletion to take place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preconditions {
    /// The object is this one.
    pub uid: Option<String>,
    /// It has not changed since this version.
    pub revision: Option<Revision>,
}

/// An object as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Current {
    pub(crate) record: Record,
    pub(crate) stored: Stored,
}

// === impl Writer ===

impl Writer {
    /// A writer to a store.
    pub fn new(
        store: Arc<dyn Store>,
        audit: Arc<dyn Audit>,
        system_namespace: impl Into<String>,
        origin: Origin,
    ) -> Self {
        let system_namespace = system_namespace.into();
        let inner = Inner { store, audit, system_namespace, origin, live: Mutex::default() };
        Self { inner: Arc::new(inner), review: None }
    }

    /// The same, where changes are reviewed before they are made.
    #[must_use]
    pub fn reviewed_by(self, review: Arc<dyn Review>) -> Self {
        Self { review: Some(review), ..self }
    }

    /// The same, where nobody has a say any more.
    pub(crate) fn unreviewed(&self) -> Self {
        Self { review: None, ..self.clone() }
    }

    pub(crate) fn origin(&self) -> &Origin {
        &self.inner.origin
    }

    pub(crate) fn store(&self) -> &Arc<dyn Store> {
        &self.inner.store
    }

    /// An object as it is stored, if it is.
    pub(crate) async fn find(&self, kind: &Kind, key: Key) -> Result<Option<Current>, ApiStatus> {
        let name = key.name.clone();
        let record = self.store().get(key).await.map_err(|error| store_error(kind, &name, error))?;
        record.map(Current::read).transpose()
    }

    /// The object that a path names.
    pub(crate) async fn current(&self, target: &Target) -> Result<Current, ApiStatus> {
        let name = target.name.as_deref().unwrap_or_default();
        let current = self.find(target.kind, target.key(name)).await?;
        current.ok_or_else(|| ApiStatus::not_found(target.kind, name))
    }

    fn audit(&self, identity: &Identity, verb: Verb, key: &Key, revision: Revision) {
        self.inner.audit.changed(&Change { identity, verb, key, revision });
    }
}

// === impl Current ===

impl Current {
    /// Reads what the store holds.
    pub(crate) fn read(record: Record) -> Result<Self, ApiStatus> {
        match Stored::read(&record) {
            Ok(stored) => Ok(Self { record, stored }),
            Err(_) => {
                tracing::error!(key = %record.key, "a stored object is not JSON");
                Err(ApiStatus::internal(
                    "a stored object cannot be read; the log of the control server says which",
                ))
            }
        }
    }

    /// Whether somebody who read this version knows all but the status.
    pub(crate) fn is_as_of(&self, version: Revision) -> bool {
        (self.stored.content_revision(&self.record)..=self.record.revision).contains(&version)
    }

    /// The object without its managers.
    pub(crate) fn unmanaged(&self) -> Value {
        let mut object = self.stored.object.clone();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        object
    }

    pub(crate) fn written(self, effect: Effect, warnings: Vec<String>) -> Written {
        let revision = Some(self.record.revision);
        Written { effect, key: self.record.key, stored: self.stored, revision, settled: None, warnings }
    }
}

// === impl Written ===

impl Written {
    /// The revision with which everything is done.
    pub(crate) fn last(&self) -> Option<Revision> {
        self.revision.max(self.settled)
    }
}

// === impl Preconditions ===

impl Preconditions {
    /// Whether they hold for an object.
    pub(crate) fn check(&self, target: &Target, current: &Current) -> Result<(), ApiStatus> {
        let name = &current.record.key.name;
        let uid = current.stored.uid();
        match (&self.uid, self.revision) {
            (Some(expected), _) if expected != uid => Err(ApiStatus::conflict_because(
                target.kind,
                name,
                &format!("Precondition failed: UID in precondition: {expected}, UID in object meta: {uid}"),
            )),
            (_, Some(expected)) if !current.is_as_of(expected) => Err(ApiStatus::conflict(target.kind, name)),
            _ => Ok(()),
        }
    }
}
