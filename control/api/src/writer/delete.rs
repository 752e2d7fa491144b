//! Deleting objects.

use keyward_resource::ApiStatus;

use super::{Current, Effect, Preconditions, WriteOptions, Writer, Written};
use crate::access::Verb;
use crate::stored::{Stored, metadata_mut};
use crate::target::{NAMESPACE, Target};

// === impl Writer ===

impl Writer {
    /// Deletes an object, or marks it for deletion as long as it has finalizers.
    ///
    /// # Errors
    ///
    /// 404 when there is none; 409 when a precondition does not hold.
    pub async fn delete(
        &self,
        target: &Target,
        preconditions: &Preconditions,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        self.delete_as(target, preconditions, options, Verb::Delete).await
    }

    pub(crate) async fn delete_as(
        &self,
        target: &Target,
        preconditions: &Preconditions,
        options: &WriteOptions,
        verb: Verb,
    ) -> Result<Written, ApiStatus> {
        if target.kind.name == NAMESPACE {
            return self.delete_namespace(target, preconditions, options).await;
        }
        self.delete_object(target, preconditions, options, verb).await
    }

    /// Deletes an object of a kind that lives in namespaces.
    pub(super) async fn delete_object(
        &self,
        target: &Target,
        preconditions: &Preconditions,
        options: &WriteOptions,
        verb: Verb,
    ) -> Result<Written, ApiStatus> {
        loop {
            let current = self.current(target).await?;
            preconditions.check(target, &current)?;
            let waits = !current.stored.finalizers().is_empty();
            if waits && current.stored.is_terminating() {
                return Ok(current.written(Effect::Unchanged, Vec::new()));
            }
            if !waits {
                self.review_next(target.kind, &current, None).await?;
            }
            let next = if waits { self.marked(&current) } else { current.stored.clone() };
            if options.dry_run {
                let effect = if waits { Effect::Changed } else { Effect::Deleted };
                return Ok(Current { stored: next, ..current }.written(effect, Vec::new()));
            }
            let done = if waits {
                self.put(target, &current, next, options, verb).await?
            } else {
                self.remove(target, &current, next, options, verb).await?
            };
            if let Some(written) = done {
                return Ok(written);
            }
        }
    }

    /// The object with the time at which somebody asked for its deletion.
    pub(super) fn marked(&self, current: &Current) -> Stored {
        let mut object = current.stored.object.clone();
        let metadata = metadata_mut(&mut object);
        metadata.insert("deletionTimestamp".to_owned(), self.inner.origin.timestamp().into());
        metadata.insert("deletionGracePeriodSeconds".to_owned(), 0.into());
        let generation = metadata.get("generation").and_then(serde_json::Value::as_i64).unwrap_or(1) + 1;
        metadata.insert("generation".to_owned(), generation.into());
        Stored::following(current, object)
    }
}
