//! What a proposed state of an object means for the stored one. Pure.

use keyward_resource::kinds::secret::canonical_type;
use keyward_resource::{ApiStatus, FieldError, FieldErrorReason};
use keyward_store::Revision;
use serde_json::{Map, Value};

use super::Current;
use crate::admission::Sent;
use crate::fields::Managers;
use crate::stored::{Stored, metadata_mut};
use crate::target::{NAMESPACE, Target};

/// A state that somebody wants an object to have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Proposal {
    /// The object, admitted.
    pub(crate) object: Value,
    /// The version that it was made from, if it matters.
    pub(crate) expected: Option<Revision>,
    /// The object that it was made from, if it matters.
    pub(crate) uid: Option<String>,
    /// Who manages it.
    pub(crate) managers: Managers,
    /// What the sender should know.
    pub(crate) warnings: Vec<String>,
}

/// What there is to do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Step {
    /// Nothing: it is so.
    Nothing,
    /// Write this.
    Put(Stored),
    /// Its deletion was waiting for this.
    Remove(Stored),
}

/// Finds out what to do for a proposal.
pub(crate) fn settle(target: &Target, current: &Current, proposal: Proposal) -> Result<Step, ApiStatus> {
    let Proposal { mut object, expected, uid, managers, .. } = proposal;
    let kind = target.kind;
    let name = current.record.key.name.as_str();
    let stored = &current.stored;
    if let Some(uid) = uid.filter(|uid| uid != stored.uid()) {
        let actual = stored.uid();
        let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}");
        return Err(ApiStatus::conflict_because(kind, name, &why));
    }
    if expected.is_some_and(|expected| !current.is_as_of(expected)) {
        return Err(ApiStatus::conflict(kind, name));
    }
    let errors = immutable(stored, &object);
    if !errors.is_empty() {
        return Err(ApiStatus::invalid(kind, name, &errors));
    }
    let changed = wanted(&stored.object) != wanted(&object);
    keep(&stored.object, &mut object, changed, &managers);
    if object == stored.object {
        return Ok(Step::Nothing);
    }
    let next = Stored::following(current, object);
    let is_free = next.is_terminating() && next.finalizers().is_empty();
    // A namespace goes when it is empty, not when it is free.
    Ok(if is_free && kind.name != NAMESPACE { Step::Remove(next) } else { Step::Put(next) })
}

/// The managers of an object that somebody sends: those in it, or else those that are known.
pub(crate) fn managers(current: &Current, sent: Sent) -> Managers {
    match sent {
        Sent::These(managers) => managers,
        Sent::Reset => Managers::default(),
        Sent::Nothing => current.managers(),
    }
}

/// The parts of an object that its author decides: what a change of `generation` is about.
fn wanted(object: &Value) -> Map<String, Value> {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    fields.remove("metadata");
    fields.remove("status");
    fields
}

/// Whether two types of Secrets are one, if by two names.
pub(super) fn same_type<'a>(one: Option<&'a Value>, other: Option<&'a Value>) -> bool {
    let canonical = |name: Option<&'a Value>| name.and_then(Value::as_str).map(canonical_type);
    // One that is no string is refused elsewhere.
    canonical(one) == canonical(other)
}

/// Fields that cannot have another value than they have.
fn immutable(stored: &Stored, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !same_type(stored.object.get("type"), object.get("type")) {
        let message = "field is immutable: delete the object and create it anew";
        errors.push(FieldError::new("type", FieldErrorReason::Invalid, message));
    }
    if stored.is_terminating()
        && let Some(Value::Array(finalizers)) = object.pointer("/metadata/finalizers")
    {
        let known = stored.finalizers();
        for finalizer in finalizers.iter().filter(|finalizer| !known.contains(finalizer)) {
            let message = format!(
                "Forbidden: no new finalizers can be added if the object is being deleted: {finalizer}"
            );
            errors.push(FieldError::new("metadata.finalizers", FieldErrorReason::Invalid, message));
        }
    }
    errors
}

/// Carries over what the server owns.
fn keep(stored: &Value, object: &mut Value, changed: bool, managers: &Managers) {
    let before = &stored["metadata"];
    let metadata = metadata_mut(object);
    for key in ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if let Some(value) = before.get(key) {
            metadata.insert(key.to_owned(), value.clone());
        }
    }
    let generation = before["generation"].as_i64().unwrap_or(1) + i64::from(changed);
    metadata.insert("generation".to_owned(), generation.into());
    if managers.is_empty() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), managers.encode());
    }
}

// === impl Current ===

impl Current {
    /// Who manages the object, as far as that is known.
    pub(crate) fn managers(&self) -> Managers {
        let managed = self.stored.object.pointer("/metadata/managedFields");
        managed.and_then(Managers::decode).unwrap_or_default()
    }
}
