//! The typed cache of everything in the store: what the control loop translates.

use std::collections::BTreeMap;
use std::sync::Arc;

use imbl::OrdMap;
use keyward_api::Stored;
use keyward_keys::Change;
use keyward_resource::kinds::Resource;
use keyward_resource::kinds::secret::{DIGEST_FIELD, KEY_FIELD, KEY_TYPE};
use keyward_resource::{Kind, ObjectKey, Reports, decode, kind};
use keyward_store::{Event, Record, Revision};
use keyward_translate::Input;
use serde_json::Value;

use crate::published::Version;
use crate::review::Hypothesis;

/// All objects, decoded. An object that cannot be decoded is reported, and its last good version stays.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    input: Input,
    broken: BTreeMap<ObjectKey, String>,
    /// The present version of each object that has a stored status.
    versions: OrdMap<ObjectKey, Version>,
    /// Objects that a proxy has refused.
    refused: BTreeMap<ObjectKey, Refused>,
    /// Objects that nobody else reports on, and what there is to say of them.
    others: BTreeMap<ObjectKey, Vec<String>>,
}

/// That a proxy has refused an object.
#[derive(Debug)]
struct Refused {
    /// In this version.
    version: u64,
    /// What it said.
    why: String,
    /// It is offered once more, and stands as refused until it is taken.
    on_trial: bool,
}

/// What a change of the store comes to.
#[expect(clippy::large_enum_variant, reason = "made for one change and taken apart at once")]
#[derive(Debug)]
pub(crate) enum Effect {
    /// Nothing but a status, or what is no object.
    None,
    /// Objects are other ones now.
    Changed {
        /// What it means for the key index.
        keys: Option<Change>,
        /// The object as it is now; none when it is gone or cannot be read.
        content: Option<Content>,
        /// What translation reads is another than before. It reads no API keys, so of most changes of Secrets
        /// it would make what is told already.
        translates: bool,
    },
}

/// The present version of an object.
#[derive(Debug)]
pub(crate) struct Content {
    /// Which one.
    pub(crate) object: ObjectKey,
    /// What people wrote.
    pub(crate) value: Value,
    /// The revision that made it so.
    pub(crate) revision: Revision,
    /// The revision that created it.
    pub(crate) created: Revision,
}

/// Reads a stored object.
fn read(kind: &'static Kind, record: &Record) -> Result<(Resource, Value, Revision), String> {
    let stored = Stored::read(record).map_err(|_| "the stored object is not JSON".to_owned())?;
    // A status is no other version of what it is about.
    let content = stored.content_revision(record);
    let (present, previous) = stored.keys_since(record);
    let mut object = stored.object;
    object["metadata"]["resourceVersion"] = content.0.to_string().into();
    match decode(kind, &object) {
        Ok(mut resource) => {
            resource.meta_mut().created = record.created.0;
            if let Resource::ApiKeySecret(secret) = &mut resource {
                secret.held_since = present.0;
                if let Some(key) = &mut secret.previous {
                    key.held_since = previous.0;
                }
            }
            Ok((resource, object, content))
        }
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")),
    }
}

/// A Secret with an API key in it that is not of the type of API keys was meant to be one.
fn doubt(object: &Value) -> Option<String> {
    let has = |field: &&str| object.pointer(&format!("/data/{field}")).is_some();
    let field = [KEY_FIELD, DIGEST_FIELD].into_iter().find(has)?;
    let kind = object["type"].as_str().unwrap_or("Opaque");
    Some(format!(
        "a Secret of type {kind} is no API key, although it has {field}: the type must be {KEY_TYPE}"
    ))
}

/// What there is to say of a Secret that finalizers keep: none where nobody has asked for its deletion.
///
/// A deletion cannot be taken back, so its keys are revoked from then on, and whoever takes finalizers off later
/// changes nothing for anybody who brings one.
fn going(object: &Value) -> Option<String> {
    let metadata = &object["metadata"];
    metadata["deletionTimestamp"].as_str()?;
    let finalizers = metadata["finalizers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let finalizers = finalizers.collect::<Vec<_>>().join(", ");
    Some(format!(
        "is being deleted: its keys are revoked already, and it goes with its finalizers: {finalizers}"
    ))
}

/// Whether the control server stores what it says of an object. Of Secrets there may be a million, and
/// the others are none of its business.
fn has_stored_status(resource: &Resource) -> bool {
    !matches!(
        resource,
        Resource::ApiKeySecret(_)
            | Resource::TlsSecret(_)
            | Resource::OtherSecret(_)
            | Resource::Namespace(_)
    )
}

// === impl Objects ===

impl Objects {
    /// What translation reads.
    pub(crate) fn input(&self) -> &Input {
        &self.input
    }

    /// The present version of each object that has a stored status.
    pub(crate) fn versions(&self) -> &OrdMap<ObjectKey, Version> {
        &self.versions
    }

    /// The revision that made an object what it is, if it exists and has a last good version to keep.
    pub(crate) fn revision_of(&self, object: &ObjectKey) -> Option<u64> {
        match self.versions.get(object) {
            Some(version) => Some(version.content.0),
            None => {
                let secret = (object.kind == "Secret").then(|| object.object_ref())?;
                self.input.tls_secrets.get(&secret).map(|secret| secret.meta.resource_version)
            }
        }
    }

    /// Withholds the present version of an object that a proxy has refused, until there is another.
    /// Whether it was not withheld before.
    pub(crate) fn withhold(&mut self, object: &ObjectKey, why: &str) -> bool {
        let Some(version) = self.revision_of(object) else { return false };
        let standing = self.refused.get(object).filter(|refused| !refused.on_trial);
        if standing.is_some_and(|refused| refused.version == version) {
            return false;
        }
        let refused = Refused { version, why: why.to_owned(), on_trial: false };
        self.refused.insert(object.clone(), refused);
        self.input.withheld.insert(object.clone());
        true
    }

    /// Offers an object once more that is withheld. Whether it was.
    pub(crate) fn try_again(&mut self, object: &ObjectKey) -> bool {
        match self.refused.get_mut(object) {
            Some(refused) if !refused.on_trial => {
                refused.on_trial = true;
                self.input.withheld.remove(object)
            }
            _ => false,
        }
    }

    /// An object that is on trial was taken, or there is nobody left who could refuse it.
    pub(crate) fn absolve(&mut self, object: &ObjectKey) {
        if self.refused.get(object).is_some_and(|refused| refused.on_trial) {
            self.refused.remove(object);
        }
    }

    /// The objects that a proxy has refused as they are.
    pub(crate) fn refused(&self) -> impl Iterator<Item = &ObjectKey> {
        self.refused.keys()
    }

    /// What there is to say about objects that could not be decoded, or that a proxy has refused.
    pub(crate) fn reports(&self) -> Reports {
        let mut reports = Reports::default();
        for (key, why) in &self.broken {
            reports.reject(key.clone(), why.clone());
        }
        for (key, refused) in &self.refused {
            reports.reject(key.clone(), refused.why.clone());
        }
        for (key, warnings) in &self.others {
            reports.accept(key.clone());
            warnings.iter().for_each(|warning| reports.warn(key.clone(), warning.clone()));
        }
        reports
    }

    /// What translation would read after a change, which would be the next one. Only that: nothing can
    /// be reported of it.
    pub(crate) fn supposing(&self, change: &Hypothesis, now: Revision) -> Self {
        let mut supposed = Self { input: self.input.clone(), ..Self::default() };
        match change {
            Hypothesis::Put(record) => {
                let revision = Revision(now.0 + 1);
                let created = if record.created == Revision::default() { revision } else { record.created };
                supposed.put(&Record { revision, created, ..record.clone() });
            }
            Hypothesis::Delete(object) => drop(supposed.remove(object)),
            Hypothesis::Empty(namespace) => supposed.input.empty(namespace),
        }
        supposed
    }

    /// Takes over a change of the store.
    pub(crate) fn apply(&mut self, event: &Event) -> Effect {
        match event {
            Event::Put { record, .. } => self.put(record),
            Event::Delete { key, .. } => {
                let Some(kind) = kind::by_name(&key.kind) else { return Effect::None };
                let object = ObjectKey::new(kind.name, &key.namespace, &key.name);
                let translates = self.is_translated(&object);
                Effect::Changed { keys: self.remove(&object), content: None, translates }
            }
        }
    }

    /// Takes over one object.
    pub(crate) fn put(&mut self, record: &Record) -> Effect {
        let Some(kind) = kind::by_name(&record.key.kind) else { return Effect::None };
        let key = ObjectKey::new(kind.name, &record.key.namespace, &record.key.name);
        let (resource, object, content) = match read(kind, record) {
            Ok(read) => read,
            Err(why) => {
                tracing::warn!(object = %record.key, "a stored object cannot be used: {why}");
                let keys = self.remove(&key);
                let written = record.revision;
                self.versions.insert(key.clone(), Version { content: written, generation: 0, written });
                self.input.withheld.insert(key.clone());
                self.broken.insert(key, why);
                return Effect::Changed { keys, content: None, translates: true };
            }
        };
        let generation = resource.meta().generation;
        let version = Version { content, generation, written: record.revision };
        let is_same = self.versions.get(&key).is_some_and(|known| known.says_the_same(&version));
        if is_same && !self.broken.contains_key(&key) {
            self.versions.insert(key, version);
            return Effect::None;
        }
        let is_key = matches!(resource, Resource::ApiKeySecret(_));
        let translates = !is_key || self.is_translated(&key);
        self.broken.remove(&key);
        self.refused.remove(&key);
        self.input.withheld.remove(&key);
        if has_stored_status(&resource) {
            self.versions.insert(key.clone(), version);
        }
        let keys = self.take(key.clone(), resource, &object);
        let content = Content { object: key, value: object, revision: content, created: record.created };
        Effect::Changed { keys, content: Some(content), translates }
    }

    /// Whether translation knows of an object as it was until now.
    fn is_translated(&self, object: &ObjectKey) -> bool {
        object.kind != "Secret"
            || self.input.tls_secrets.contains_key(&object.object_ref())
            || self.input.withheld.contains(object)
            || self.broken.contains_key(object)
    }

    fn take(&mut self, key: ObjectKey, resource: Resource, object: &Value) -> Option<Change> {
        let id = key.object_ref();
        match resource {
            Resource::ApiKeySecret(secret) => {
                self.input.tls_secrets.remove(&id);
                if let Some(going) = going(object) {
                    self.others.insert(key, vec![going]);
                    return Some(Change::DeleteSecret(id));
                }
                self.others.remove(&key);
                return Some(Change::PutSecret(secret));
            }
            Resource::TlsSecret(secret) => {
                self.others.remove(&key);
                self.input.tls_secrets.insert(id.clone(), Arc::new(secret));
                return Some(Change::DeleteSecret(id));
            }
            Resource::OtherSecret(_) => {
                self.others.insert(key, doubt(object).into_iter().collect());
                self.input.tls_secrets.remove(&id);
                return Some(Change::DeleteSecret(id));
            }
            Resource::UpstreamGroup(group) => {
                self.input.upstream_groups.insert(id, Arc::new(group));
            }
            Resource::Settings(settings) => {
                self.input.settings.insert(id, Arc::new(settings));
            }
            Resource::RateLimitConfig(config) => drop(self.others.insert(key, config.warnings)),
            // A place and nothing more, and what the server itself says of a proxy.
            Resource::Namespace(_) | Resource::Proxy(_) => {}
            Resource::AuthConfig(config) => {
                self.input.auth_configs.insert(id, Arc::new(config.clone()));
                return Some(Change::PutAuthConfig(config));
            }
            Resource::Upstream(upstream) => {
                self.input.upstreams.insert(id, Arc::new(upstream));
            }
            Resource::VirtualService(service) => {
                self.input.virtual_services.insert(id, Arc::new(service));
            }
            Resource::RouteTable(table) => {
                self.input.route_tables.insert(id, Arc::new(table));
            }
            Resource::VirtualHostOption(option) => {
                self.input.virtual_host_options.insert(id, Arc::new(option));
            }
            Resource::RouteOption(option) => {
                self.input.route_options.insert(id, Arc::new(option));
            }
            Resource::Gateway(gateway) => {
                self.input.gateways.insert(id, Arc::new(gateway));
            }
        }
        None
    }

    fn remove(&mut self, object: &ObjectKey) -> Option<Change> {
        let id = object.object_ref();
        self.broken.remove(object);
        self.refused.remove(object);
        self.others.remove(object);
        self.versions.remove(object);
        self.input.withheld.remove(object);
        match object.kind {
            "Secret" => {
                self.input.tls_secrets.remove(&id);
                return Some(Change::DeleteSecret(id));
            }
            "AuthConfig" => {
                self.input.auth_configs.remove(&id);
                return Some(Change::DeleteAuthConfig(id));
            }
            "Upstream" => drop(self.input.upstreams.remove(&id)),
            "VirtualService" => drop(self.input.virtual_services.remove(&id)),
            "RouteTable" => drop(self.input.route_tables.remove(&id)),
            "VirtualHostOption" => drop(self.input.virtual_host_options.remove(&id)),
            "RouteOption" => drop(self.input.route_options.remove(&id)),
            "UpstreamGroup" => drop(self.input.upstream_groups.remove(&id)),
            "Settings" => drop(self.input.settings.remove(&id)),
            "Gateway" => drop(self.input.gateways.remove(&id)),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests;
