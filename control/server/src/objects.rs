//! The typed cache of everything in the store: what the control loop translates.

use keyward_api::Stored;
use keyward_keys::Change;
use keyward_resource::kinds::Resource;
use keyward_resource::kinds::secret::{KEY_FIELD, KEY_TYPE};
use keyward_resource::{ObjectKey, ObjectRef, Reports, decode, kind};
use keyward_store::{Event, Key, Record};
use keyward_translate::Input;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// All objects, decoded. An object that cannot be decoded is reported and counts as absent.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    input: Input,
    broken: BTreeMap<ObjectKey, String>,
    /// Objects that nobody else reports on, and what there is to say of them.
    others: BTreeMap<ObjectKey, Vec<String>>,
}

/// Reads a stored object.
fn read(record: &Record) -> Result<(&'static str, Resource, Value), (Option<&'static str>, String)> {
    let kind = kind::by_name(&record.key.kind).ok_or_else(|| (None, "unknown kind".to_owned()))?;
    let stored = Stored::read(record);
    let mut object =
        stored.map_err(|_| (Some(kind.name), "the stored object is not JSON".to_owned()))?.object;
    object["metadata"]["resourceVersion"] = record.revision.0.to_string().into();
    match decode(kind, &object) {
        Ok(mut resource) => {
            resource.meta_mut().created = record.created.0;
            Ok((kind.name, resource, object))
        }
        Err(errors) => {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Err((Some(kind.name), errors.join("; ")))
        }
    }
}

/// A Secret with an API key in it that is not of the type of API keys was meant to be one.
fn doubt(object: &Value) -> Option<String> {
    object.pointer(&format!("/data/{KEY_FIELD}"))?;
    let kind = object["type"].as_str().unwrap_or("Opaque");
    Some(format!(
        "a Secret of type {kind} is no API key, although it has {KEY_FIELD}: the type must be {KEY_TYPE}"
    ))
}

// === impl Objects ===

impl Objects {
    /// What translation reads.
    pub(crate) fn input(&self) -> &Input {
        &self.input
    }

    /// What there is to say about objects that could not be decoded.
    pub(crate) fn reports(&self) -> Reports {
        let mut reports = Reports::default();
        for (key, why) in &self.broken {
            reports.reject(key.clone(), why.clone());
        }
        for (key, warnings) in &self.others {
            reports.accept(key.clone());
            warnings.iter().for_each(|warning| reports.warn(key.clone(), warning.clone()));
        }
        reports
    }

    /// Takes over a change of the store; answers with what it means for the key index.
    pub(crate) fn apply(&mut self, event: &Event) -> Option<Change> {
        match event {
            Event::Put { record, .. } => self.put(record),
            Event::Delete { key, .. } => self.remove(key),
        }
    }

    /// Takes over one object.
    pub(crate) fn put(&mut self, record: &Record) -> Option<Change> {
        let id = ObjectRef::new(&record.key.namespace, &record.key.name);
        let (kind, resource, object) = match read(record) {
            Ok(read) => read,
            Err((kind, why)) => {
                tracing::warn!(object = %record.key, "a stored object cannot be used: {why}");
                let change = self.remove(&record.key);
                if let Some(kind) = kind {
                    self.broken.insert(ObjectKey::new(kind, id.namespace, id.name), why);
                }
                return change;
            }
        };
        let key = ObjectKey::new(kind, &id.namespace, &id.name);
        self.broken.remove(&key);
        match resource {
            Resource::ApiKeySecret(secret) => {
                self.others.remove(&key);
                self.input.tls_secrets.remove(&id);
                return Some(Change::PutSecret(secret));
            }
            Resource::TlsSecret(secret) => {
                self.others.remove(&key);
                self.input.tls_secrets.insert(id.clone(), Arc::new(secret));
                return Some(Change::DeleteSecret(id));
            }
            Resource::OtherSecret(_) => {
                self.others.insert(key, doubt(&object).into_iter().collect());
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

    fn remove(&mut self, key: &Key) -> Option<Change> {
        let id = ObjectRef::new(&key.namespace, &key.name);
        let kind = kind::by_name(&key.kind)?;
        let object = ObjectKey::new(kind.name, &id.namespace, &id.name);
        self.broken.remove(&object);
        self.others.remove(&object);
        match kind.name {
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
