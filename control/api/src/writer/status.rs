//! Writing statuses. The control loop does, and nobody else: what it says of an object is no matter of
//! opinion, and whoever waits for it must be able to believe it.

use keyward_store::{Key, Record, Revision, StoreError};
use serde_json::{Value, json};

use super::{Current, Writer};
use crate::fields::{Manager, Managers, Operation};
use crate::stored::{Stored, metadata_mut};

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
            let managers = self.status_managers(&current, &status, &api_version);
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

    fn status_managers(&self, current: &Current, status: &Value, api_version: &str) -> Managers {
        let manager = Manager::new(Operation::Update, CONTROL_LOOP, api_version, SUBRESOURCE);
        let (before, after) = (part(current.stored.status.as_ref()), part(Some(status)));
        let now = self.inner.origin.timestamp();
        current.managers().update(&before, &after, &manager, api_version, &now)
    }
}

fn stored_api_version(current: &Current) -> String {
    current.stored.object.get("apiVersion").and_then(Value::as_str).unwrap_or_default().to_owned()
}
