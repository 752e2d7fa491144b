//! Server-side apply.

use keyward_resource::{ApiStatus, Cause, FieldError, FieldErrorReason, canonical};
use serde_json::{Value, json};

use super::settle::{Proposal, same_type};
use super::{Current, WriteOptions, Writer, Written};
use crate::access::Verb;
use crate::admission::{Admitted, admit, prune};
use crate::fields::{Applied, Conflict, Manager, Managers, Operation};
use crate::stored::metadata_mut;
use crate::target::Target;

/// The 409 that names who owns what.
fn conflict_status(conflicts: &[Conflict]) -> ApiStatus {
    let causes: Vec<Cause> = conflicts
        .iter()
        .map(|conflict| Cause {
            reason: "FieldManagerConflict",
            message: format!("conflict with {}", conflict.owner),
            field: conflict.path.clone(),
        })
        .collect();
    let message = match conflicts {
        [conflict] => {
            format!("Apply failed with 1 conflict: conflict with {}: {}", conflict.owner, conflict.path)
        }
        _ => {
            let mut lines = Vec::new();
            let mut owner = None;
            for conflict in conflicts {
                if owner != Some(&conflict.owner) {
                    lines.push(format!("conflicts with {}:", conflict.owner));
                    owner = Some(&conflict.owner);
                }
                lines.push(format!("- {}", conflict.path));
            }
            format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
        }
    };
    ApiStatus::apply_conflict(message, causes)
}

/// Refuses what cannot be applied to an object at all.
fn check_applied(target: &Target, applied: &Value, options: &WriteOptions) -> Result<(), ApiStatus> {
    let fields = applied
        .as_object()
        .ok_or_else(|| ApiStatus::bad_request("what is applied to an object is an object"))?;
    for key in ["apiVersion", "kind"] {
        if !fields.get(key).is_some_and(Value::is_string) {
            return Err(ApiStatus::bad_request(format!("what is applied to an object says its {key}")));
        }
    }
    let managed = applied.pointer("/metadata/managedFields");
    if managed.is_some_and(|managed| !managed.is_null() && *managed != json!([])) {
        return Err(ApiStatus::bad_request("metadata.managedFields must be nil"));
    }
    if options.manager.is_empty() {
        let message = "Required value: is required for apply patch";
        let error = FieldError::new("fieldManager", FieldErrorReason::Required, message);
        return Err(ApiStatus::invalid(target.kind, target.name.as_deref().unwrap_or_default(), &[error]));
    }
    Ok(())
}

// === impl Writer ===

impl Writer {
    /// Applies what a manager wants of an object; creates the object when there is none. What the
    /// manager applied before and does not any more is removed, unless others own it too.
    ///
    /// # Errors
    ///
    /// The mistakes in the object; 409 with every field that others own, unless `force` takes these
    /// away from them.
    pub async fn apply(
        &self,
        target: &Target,
        applied: Value,
        force: bool,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        check_applied(target, &applied, options)?;
        let name = target.name.clone().unwrap_or_default();
        let mut applied = applied;
        let warnings = prune(target, &mut applied, options.field_validation);
        let typed = applied.get("type").is_some();
        let mut applied = canonical(target.kind, target.place(), Some(&name), applied);
        if let Some(fields) = applied.as_object_mut().filter(|_| !typed) {
            // The default of a field that is not said: nobody wants it, so nobody owns it.
            fields.remove("type");
        }
        loop {
            let done = match self.find(target.kind, target.key(&name)).await? {
                Some(current) => {
                    let propose =
                        |current: &Current| self.application(target, current, &applied, force, options);
                    self.attempt(target, options, Verb::Patch, current, propose).await?
                }
                None => self.apply_new(target, applied.clone(), options).await?,
            };
            if let Some(mut written) = done {
                written.warnings.extend(warnings);
                return Ok(written);
            }
        }
    }

    fn application(
        &self,
        target: &Target,
        current: &Current,
        applied: &Value,
        force: bool,
        options: &WriteOptions,
    ) -> Result<Proposal, ApiStatus> {
        let api_version = target.asked.to_string();
        let now = self.inner.origin.timestamp();
        let manager = Manager::new(Operation::Apply, &options.manager, &api_version, "");
        let mut applied = applied.clone();
        let metadata = metadata_mut(&mut applied);
        let conditions = [metadata.remove("resourceVersion"), metadata.remove("uid")];
        let live = current.unmanaged();
        if let (Some(is), Some(wanted)) = (live.get("type"), applied.get_mut("type"))
            && same_type(Some(is), Some(wanted))
        {
            // By another name it is no other type, and so no conflict.
            *wanted = is.clone();
        }
        let mut managers = current.managers();
        if managers.is_empty() {
            managers = Managers::before_first_apply(&live, &target.kind.api_version(), &now);
        }
        let Applied { mut object, managers } = managers
            .apply(&live, &applied, &manager, &api_version, force, &now)
            .map_err(|conflicts| conflict_status(&conflicts))?;
        // The conditions of the sender, and not what the object says of itself.
        let metadata = metadata_mut(&mut object);
        for (key, value) in ["resourceVersion", "uid"].into_iter().zip(conditions) {
            metadata.remove(key);
            metadata.extend(value.map(|value| (key.to_owned(), value)));
        }
        let name = target.name.as_deref();
        let Admitted { object, expected, uid, warnings, .. } =
            admit(target, name, object, options.field_validation)?;
        Ok(Proposal { object, expected, uid, managers, warnings })
    }

    /// Creates what is applied; none when somebody was quicker.
    async fn apply_new(
        &self,
        target: &Target,
        applied: Value,
        options: &WriteOptions,
    ) -> Result<Option<Written>, ApiStatus> {
        let typed = applied.get("type").is_some();
        let admitted = admit(target, target.name.as_deref(), applied, options.field_validation)?;
        let mut wanted = admitted.object.clone();
        if let Some(fields) = wanted.as_object_mut().filter(|_| !typed) {
            fields.remove("type");
        }
        if admitted.uid.is_some() {
            let name = target.name.as_deref().unwrap_or_default();
            let why = "uid mismatch: the object to be applied says a uid, but there is no such object";
            return Err(ApiStatus::conflict_because(target.kind, name, why));
        }
        let api_version = target.asked.to_string();
        let now = self.inner.origin.timestamp();
        let manager = Manager::new(Operation::Apply, &options.manager, &api_version, "");
        let managers = Managers::default()
            .apply(&json!({}), &wanted, &manager, &api_version, true, &now)
            .map(|applied| applied.managers)
            .unwrap_or_default();
        match self.insert(target, admitted, managers, options, Verb::Patch).await {
            Err(taken) if taken.reason == "AlreadyExists" && !options.dry_run => Ok(None),
            done => done.map(Some),
        }
    }
}
