//! Writing statuses, by the control loop and through the `status` subresource.

use keyward_resource::ApiStatus;
use keyward_store::{Key, Record, Revision, StoreError};
use serde_json::{Value, json};

use super::apply::{check_applied, conflict_status};
use super::{Current, Effect, Patch, WriteOptions, Writer, Written};
use crate::access::Verb;
use crate::fields::{Manager, Managers, Operation};
use crate::stored::{Stored, metadata_mut, metadata_str};
use crate::target::Target;

/// What became of a status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusWrite {
    /// It is stored with this version of the object.
    Written(Record),
    /// It was there already.
    Unchanged,
    /// The object has changed since, or is gone: the status is about something else.
    Outdated,
}

/// The subresource, and the manager of what the control loop says.
const SUBRESOURCE: &str = "status";
const CONTROL_LOOP: &str = "keyward";

/// What the part of an object that this subresource is about looks like to its managers.
fn part(status: Option<&Value>) -> Value {
    status.map_or_else(|| json!({}), |status| json!({ "status": status }))
}

/// The status that an object sent to the subresource says.
fn sent_status(object: &Value) -> Result<Option<Value>, ApiStatus> {
    match object.get("status") {
        None | Some(Value::Null) => Ok(None),
        Some(status) if status.is_object() => Ok(Some(status.clone())),
        Some(_) => Err(ApiStatus::bad_request("status: must be an object")),
    }
}

/// The next state of an object whose status changes; none when it does not.
fn next(current: &Current, status: Value, managers: &Managers) -> Option<Stored> {
    if current.stored.status.as_ref() == Some(&status) {
        return None;
    }
    let mut next = current.stored.clone().with_status(status, &current.record);
    let metadata = metadata_mut(&mut next.object);
    metadata.insert("managedFields".to_owned(), managers.encode());
    Some(next)
}

// === impl Writer ===

impl Writer {
    /// Stores what the control loop says of an object, made from this version of it or from a later
    /// one with another status. Changes nothing when it says so already. Not for Secrets, which
    /// have no stored status.
    ///
    /// # Errors
    ///
    /// When the store fails.
    pub async fn write_status(
        &self,
        key: &Key,
        expected: Revision,
        status: Value,
    ) -> Result<StatusWrite, StoreError> {
        debug_assert_ne!(key.kind, "Secret", "a Secret has no stored status");
        loop {
            let Some(record) = self.store().get(key.clone()).await? else {
                return Ok(StatusWrite::Outdated);
            };
            let Ok(current) = Current::read(record) else { return Ok(StatusWrite::Outdated) };
            if !current.is_as_of(expected) {
                return Ok(StatusWrite::Outdated);
            }
            let api_version = stored_api_version(&current);
            let managers = self.status_managers(&current, &status, CONTROL_LOOP, &api_version);
            let Some(next) = next(&current, status.clone(), &managers) else {
                return Ok(StatusWrite::Unchanged);
            };
            match self.store().update(key.clone(), Some(current.record.revision), next.body()).await {
                Ok(record) => return Ok(StatusWrite::Written(record)),
                Err(StoreError::Conflict { .. }) => {}
                Err(StoreError::NotFound { .. }) => return Ok(StatusWrite::Outdated),
                Err(error) => return Err(error),
            }
        }
    }

    /// Replaces the status of an object.
    pub(crate) async fn update_status(
        &self,
        target: &Target,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        self.change_status(target, options, Verb::Update, |_| Ok(object.clone())).await
    }

    /// Patches the status of an object.
    pub(crate) async fn patch_status(
        &self,
        target: &Target,
        patch: &Patch,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        patch.check(target)?;
        self.change_status(target, options, Verb::Patch, |current| {
            let mut patched = patch.apply(target, current)?;
            // What the patch has not touched is no condition.
            let version = current.record.revision.to_string();
            if metadata_str(&patched, "resourceVersion") == version {
                metadata_mut(&mut patched).remove("resourceVersion");
            }
            Ok(patched)
        })
        .await
    }

    /// Applies what a manager wants of the status of an object.
    pub(crate) async fn apply_status(
        &self,
        target: &Target,
        applied: Value,
        force: bool,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        check_applied(target, &applied, options)?;
        let applied = part(sent_status(&applied)?.as_ref());
        let api_version = target.asked.to_string();
        let manager = Manager::new(Operation::Apply, &options.manager, &api_version, SUBRESOURCE);
        loop {
            let current = self.current(target).await?;
            let live = part(current.stored.status.as_ref());
            let now = self.inner.origin.timestamp();
            let done = current
                .managers()
                .apply(&live, &applied, &manager, &api_version, force, &now)
                .map_err(|conflicts| conflict_status(&conflicts))?;
            let status = done.object.get("status").cloned().unwrap_or_else(|| json!({}));
            if let Some(written) =
                self.put_status(target, current, status, &done.managers, options, Verb::Patch).await?
            {
                return Ok(written);
            }
        }
    }

    async fn change_status(
        &self,
        target: &Target,
        options: &WriteOptions,
        verb: Verb,
        propose: impl Fn(&Current) -> Result<Value, ApiStatus>,
    ) -> Result<Written, ApiStatus> {
        let name = target.name.as_deref().unwrap_or_default();
        loop {
            let current = self.current(target).await?;
            let object = propose(&current)?;
            match metadata_str(&object, "resourceVersion") {
                "" | "0" => {}
                // A status is made from the one before, so any change counts.
                version if version == current.record.revision.to_string() => {}
                _ => return Err(ApiStatus::conflict(target.kind, name)),
            }
            let uid = metadata_str(&object, "uid");
            if !uid.is_empty() && uid != current.stored.uid() {
                return Err(ApiStatus::conflict(target.kind, name));
            }
            let status = sent_status(&object)?.unwrap_or_else(|| json!({}));
            let api_version = target.asked.to_string();
            let managers = self.status_managers(&current, &status, &options.manager, &api_version);
            if let Some(written) = self.put_status(target, current, status, &managers, options, verb).await? {
                return Ok(written);
            }
        }
    }

    /// Writes a status; none when somebody was quicker.
    async fn put_status(
        &self,
        target: &Target,
        current: Current,
        status: Value,
        managers: &Managers,
        options: &WriteOptions,
        verb: Verb,
    ) -> Result<Option<Written>, ApiStatus> {
        let Some(next) = next(&current, status, managers) else {
            return Ok(Some(current.written(Effect::Unchanged, Vec::new())));
        };
        if options.dry_run {
            let current = Current { stored: next, ..current };
            return Ok(Some(current.written(Effect::Changed, Vec::new())));
        }
        self.put(target, &current, next, options, verb).await
    }

    fn status_managers(
        &self,
        current: &Current,
        status: &Value,
        manager: &str,
        api_version: &str,
    ) -> Managers {
        let manager = Manager::new(Operation::Update, manager, api_version, SUBRESOURCE);
        let (before, after) = (part(current.stored.status.as_ref()), part(Some(status)));
        let now = self.inner.origin.timestamp();
        current.managers().update(&before, &after, &manager, api_version, &now)
    }
}

fn stored_api_version(current: &Current) -> String {
    current.stored.object.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned()
}
