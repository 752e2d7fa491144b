//! Creating objects.

use keyward_resource::ApiStatus;
use keyward_store::{Key, StoreError};
use serde_json::{Value, json};

use super::{Effect, WriteOptions, Writer, Written};
use crate::access::Verb;
use crate::admission::{Admitted, admit};
use crate::fields::{Manager, Managers, Operation};
use crate::reply::store_error;
use crate::stored::{Stored, metadata_mut, metadata_str};
use crate::target::{NAMESPACE, Target};

/// How often another name is tried when a generated one is taken.
const NAME_ATTEMPTS: usize = 8;
/// The longest beginning of a generated name; more is cut.
const MAX_PREFIX_LEN: usize = 58;

// === impl Writer ===

impl Writer {
    /// Creates an object in a collection.
    ///
    /// # Errors
    ///
    /// The mistakes in the object; 409 when there is one of its name.
    pub async fn create(
        &self,
        target: &Target,
        object: Value,
        options: &WriteOptions,
    ) -> Result<Written, ApiStatus> {
        let prefix = metadata_str(&object, "generateName").to_owned();
        let generates =
            target.name.is_none() && metadata_str(&object, "name").is_empty() && !prefix.is_empty();
        let mut attempts = if generates { NAME_ATTEMPTS } else { 1 };
        loop {
            let mut named = object.clone();
            if generates {
                let prefix: String = prefix.chars().take(MAX_PREFIX_LEN).collect();
                let name = format!("{prefix}{}", self.inner.origin.suffix());
                metadata_mut(&mut named).insert("name".to_owned(), name.into());
            }
            let admitted = admit(target, target.name.as_deref(), named, options.field_validation)?;
            let api_version = target.asked.to_string();
            let manager = Manager::new(Operation::Update, &options.manager, &api_version, "");
            let now = self.inner.origin.timestamp();
            let managers =
                Managers::default().update(&json!({}), &admitted.object, &manager, &api_version, &now);
            attempts -= 1;
            match self.insert(target, admitted, managers, options, Verb::Create).await {
                Err(taken) if taken.reason == "AlreadyExists" && attempts > 0 => {}
                done => return done,
            }
        }
    }

    /// Stores a new object.
    pub(super) async fn insert(
        &self,
        target: &Target,
        admitted: Admitted,
        managers: Managers,
        options: &WriteOptions,
        verb: Verb,
    ) -> Result<Written, ApiStatus> {
        let Admitted { mut object, expected, warnings, .. } = admitted;
        if expected.is_some() {
            return Err(ApiStatus::bad_request("resourceVersion should not be set on objects to be created"));
        }
        let name = metadata_str(&object, "name").to_owned();
        let metadata = metadata_mut(&mut object);
        metadata.insert("uid".to_owned(), (self.inner.origin.uid)().to_string().into());
        metadata.insert("generation".to_owned(), 1.into());
        metadata.insert("creationTimestamp".to_owned(), self.inner.origin.timestamp().into());
        if !managers.is_empty() {
            metadata.insert("managedFields".to_owned(), managers.encode());
        }
        let status = (target.kind.name == NAMESPACE).then(|| json!({ "phase": "Active" }));
        let stored = Stored::new(object, status);
        let key = target.key(&name);
        if options.dry_run {
            self.check_namespace(target, &name).await?;
            if self.find(target.kind, key.clone()).await?.is_some() {
                return Err(ApiStatus::already_exists(target.kind, &name));
            }
            self.review_new(target.kind, &key, &stored).await?;
            let effect = Effect::Created;
            return Ok(Written { effect, key, stored, revision: None, settled: None, warnings });
        }
        // Who creates what is there learns that, whatever else there is to say.
        if self.review.is_some() && self.find(target.kind, key.clone()).await?.is_none() {
            self.review_new(target.kind, &key, &stored).await?;
        }
        self.open_namespace(target, &name, options).await?;
        let written = self.store_new(target, key, stored, warnings).await?;
        self.confirm_namespace(target, &written, options).await?;
        if let Some(revision) = written.revision {
            self.audit(&options.identity, verb, &written.key, revision);
        }
        Ok(written)
    }

    pub(super) async fn store_new(
        &self,
        target: &Target,
        key: Key,
        stored: Stored,
        warnings: Vec<String>,
    ) -> Result<Written, ApiStatus> {
        match self.store().create(key.clone(), stored.body()).await {
            Ok(record) => {
                let revision = Some(record.revision);
                Ok(Written { effect: Effect::Created, key, stored, revision, settled: None, warnings })
            }
            Err(StoreError::AlreadyExists { .. }) => Err(ApiStatus::already_exists(target.kind, &key.name)),
            Err(error) => Err(store_error(target.kind, &key.name, error)),
        }
    }
}
