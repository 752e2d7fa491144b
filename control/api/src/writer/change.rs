//! Changing objects that are there.

use keyward_resource::ApiStatus;
use keyward_store::StoreError;
use serde_json::Value;

use super::settle::{Proposal, Step, managers, settle};
use super::{Current, Effect, WriteOptions, Writer, Written};
use crate::access::Verb;
use crate::admission::admit;
use crate::fields::{Manager, Operation};
use crate::reply::store_error;
use crate::stored::Stored;
use crate::target::Target;

// === impl Writer ===

impl Writer {
    /// Replaces an object.
    ///
    /// # Errors
    ///
    /// The mistakes in the object; 404 when there is none; 409 when it says a version that is not
    /// the latest.
    pub async fn update(
        &self,
        target: &Target,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        self.change(target, options, Verb::Update, |current| {
            self.replacement(target, current, object.clone(), options)
        })
        .await
    }

    /// What a whole object that somebody sends proposes.
    pub(super) fn replacement(
        &self,
        target: &Target,
        current: &Current,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Proposal, ApiStatus> {
        let admitted = admit(target, target.name.as_deref(), object, options.field_validation)?;
        let api_version = target.asked.to_string();
        let manager = Manager::new(Operation::Update, &options.manager, &api_version, "");
        let now = self.inner.origin.timestamp();
        let managers = managers(current, admitted.managers).update(
            &current.unmanaged(),
            &admitted.object,
            &manager,
            &api_version,
            &now,
        );
        Ok(Proposal {
            object: admitted.object,
            expected: admitted.expected,
            uid: admitted.uid,
            managers,
            warnings: admitted.warnings,
        })
    }

    /// Changes an object until nobody was quicker. Each further round means that somebody else's
    /// write went through in between, so it ends when the others do.
    pub(super) async fn change(
        &self,
        target: &Target,
        options: &WriteOptions,
        verb: Verb,
        propose: impl Fn(&Current) -> Result<Proposal, ApiStatus>,
    ) -> Result<Written, ApiStatus> {
        loop {
            let current = self.current(target).await?;
            if let Some(written) = self.attempt(target, options, verb, current, &propose).await? {
                return Ok(written);
            }
        }
    }

    /// One round; none when somebody was quicker.
    pub(super) async fn attempt(
        &self,
        target: &Target,
        options: &WriteOptions,
        verb: Verb,
        current: Current,
        propose: impl Fn(&Current) -> Result<Proposal, ApiStatus>,
    ) -> Result<Option<Written>, ApiStatus> {
        let mut proposal = propose(&current)?;
        let warnings = std::mem::take(&mut proposal.warnings);
        let (next, remove) = match settle(target, &current, proposal)? {
            Step::Nothing => return Ok(Some(current.written(Effect::Unchanged, warnings))),
            Step::Put(next) => (next, false),
            Step::Remove(next) => (next, true),
        };
        self.review_next(target.kind, &current, (!remove).then_some(&next)).await?;
        let effect = if remove { Effect::Deleted } else { Effect::Changed };
        if options.dry_run {
            let revision = Some(current.record.revision);
            let key = current.record.key;
            return Ok(Some(Written { effect, key, stored: next, revision, settled: None, warnings }));
        }
        let done = if remove {
            self.remove(target, &current, next, options, verb).await?
        } else {
            self.put(target, &current, next, options, verb).await?
        };
        Ok(done.map(|written| Written { warnings, ..written }))
    }

    /// Writes over the current state; none when somebody was quicker.
    pub(super) async fn put(
        &self,
        target: &Target,
        current: &Current,
        next: Stored,
        options: &WriteOptions,
        verb: Verb,
    ) -> Result<Option<Written>, ApiStatus> {
        let key = current.record.key.clone();
        let expected = Some(current.record.revision);
        match self.store().update(key.clone(), expected, next.body()).await {
            Ok(record) => {
                self.audit(&options.identity, verb, &key, record.revision);
                let revision = Some(record.revision);
                Ok(Some(Written {
                    effect: Effect::Changed,
                    key,
                    stored: next,
                    revision,
                    settled: None,
                    warnings: Vec::new(),
                }))
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(store_error(target.kind, &key.name, error)),
        }
    }

    /// Deletes the current state; none when somebody was quicker. `last` is what the answer shows.
    pub(super) async fn remove(
        &self,
        target: &Target,
        current: &Current,
        last: Stored,
        options: &WriteOptions,
        verb: Verb,
    ) -> Result<Option<Written>, ApiStatus> {
        let key = current.record.key.clone();
        match self.store().delete(key.clone(), Some(current.record.revision)).await {
            Ok((revision, _)) => {
                self.audit(&options.identity, verb, &key, revision);
                if current.stored.is_terminating() {
                    self.on_freed(target, options);
                }
                let revision = Some(revision);
                Ok(Some(Written {
                    effect: Effect::Deleted,
                    key,
                    stored: last,
                    revision,
                    settled: None,
                    warnings: Vec::new(),
                }))
            }
            Err(StoreError::Conflict { .. }) => Ok(None),
            Err(error) => Err(store_error(target.kind, &key.name, error)),
        }
    }
}
