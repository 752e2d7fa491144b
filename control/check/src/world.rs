//! All objects, read and with what the server says of them.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resource::kinds::settings::SETTINGS_NAME;
use keyward_resource::{Kind, ObjectRef, Resource, Saying, decode, summary};
use serde_json::Value;

use crate::choice::Choice;
use crate::secret::Secrets;

/// All objects.
#[derive(Debug, Default)]
pub struct World {
    /// The namespace of the installation.
    namespace: String,
    items: BTreeMap<&'static str, BTreeMap<ObjectRef, Item>>,
    pub(crate) secrets: Secrets,
    /// By kind: why its objects could not be read.
    unlisted: BTreeMap<&'static str, String>,
}

/// An object.
#[derive(Debug)]
pub(crate) struct Item {
    /// What it says, or why that cannot be understood.
    pub(crate) resource: Result<Resource, String>,
    pub(crate) status: Status,
}

/// What the server says of an object.
#[derive(Debug, Default)]
pub(crate) struct Status {
    /// What each installation says of it.
    pub(crate) reports: Vec<Reported>,
    /// Whether that is about its present version.
    pub(crate) is_current: bool,
}

/// What an installation says.
#[derive(Debug)]
pub(crate) struct Reported {
    pub(crate) by: String,
    pub(crate) state: String,
    pub(crate) reason: String,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

// === impl World ===

impl World {
    /// One without objects, of the installation in a namespace.
    #[must_use]
    pub fn new(namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..Self::default() }
    }

    /// Takes an object in, as the API shows it. Of a Secret nothing confidential is kept.
    pub fn take(&mut self, kind: &'static Kind, mut object: Value) {
        let metadata = &object["metadata"];
        let id = ObjectRef::new(text(&metadata["namespace"]), text(&metadata["name"]));
        let status = Status::read(&object);
        // It is no part of what is stored, and a Secret has none at all.
        object.as_object_mut().map(|fields| fields.remove("status"));
        if kind.is_confidential() {
            self.secrets.take(kind, id, &object, status);
            return;
        }
        let resource = decode(kind, &object).map_err(|errors| summary(&errors));
        self.items.entry(kind.name).or_default().insert(id, Item { resource, status });
    }

    /// Says that the objects of a kind could not be read.
    pub fn lacks(&mut self, kind: &'static Kind, why: impl Into<String>) {
        self.unlisted.insert(kind.name, why.into());
    }

    /// Says that there are more Secrets than were taken in.
    pub fn lacks_secrets(&mut self) {
        self.secrets.more = true;
    }

    /// How many objects there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.values().map(BTreeMap::len).sum::<usize>() + self.secrets.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether objects of a namespace have an effect.
    pub(crate) fn watches(&self, namespace: &str) -> bool {
        let item = self.get("Settings", &ObjectRef::new(&self.namespace, SETTINGS_NAME));
        let Some(Resource::Settings(settings)) = item.and_then(Item::says) else { return true };
        let watched = &settings.watch_namespaces;
        watched.is_empty() || namespace == self.namespace || watched.iter().any(|one| one == namespace)
    }

    pub(crate) fn unlisted(&self, kind: &str) -> Option<&str> {
        self.unlisted.get(kind).map(String::as_str)
    }

    /// All objects of a kind, by namespace and name.
    pub(crate) fn of_kind(&self, kind: &str) -> impl Iterator<Item = (&ObjectRef, &Item)> {
        self.items.get(kind).into_iter().flatten()
    }

    /// Those that are looked at.
    pub(crate) fn chosen<'a>(
        &'a self,
        kind: &str,
        choice: &'a Choice,
    ) -> impl Iterator<Item = (&'a ObjectRef, &'a Item)> {
        self.of_kind(kind).filter(|(id, _)| choice.includes(&id.namespace))
    }

    pub(crate) fn get(&self, kind: &str, id: &ObjectRef) -> Option<&Item> {
        self.items.get(kind)?.get(id)
    }

    pub(crate) fn find(&self, kind: &str, id: &ObjectRef) -> Option<(&ObjectRef, &Item)> {
        self.items.get(kind)?.get_key_value(id)
    }

    /// The namespaces that there are; none where that is not known.
    pub(crate) fn namespaces(&self) -> Option<BTreeSet<&str>> {
        let known = self.items.get("Namespace")?;
        Some(known.keys().map(|id| id.name.as_str()).collect())
    }
}

// === impl Item ===

impl Item {
    /// What it says, if that can be understood.
    pub(crate) fn says(&self) -> Option<&Resource> {
        self.resource.as_ref().ok()
    }

    pub(crate) fn is_rejected(&self) -> bool {
        self.status.reports.iter().any(|one| one.state == "Rejected")
    }
}

// === impl Status ===

impl Status {
    fn read(object: &Value) -> Self {
        let status = &object["status"];
        let reports: Vec<Reported> = status["statuses"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(_, one)| Reported {
                by: text(&one["reportedBy"]),
                state: text(&one["state"]),
                reason: text(&one["reason"]),
            })
            .collect();
        let generation = object["metadata"]["generation"].as_i64();
        let is_old = status["observedGeneration"].as_i64() < generation;
        let is_current = !reports.is_empty() && !is_old && !reports.iter().any(Reported::is_not_yet);
        Self { reports, is_current }
    }

    /// Whether it says so.
    pub(crate) fn says(&self, words: &str) -> bool {
        self.reports.iter().any(|one| one.reason.contains(words))
    }

    /// Whether it says that an object it leads to is rejected.
    pub(crate) fn says_rejected(&self, id: &ObjectRef) -> bool {
        self.says(&format!(" {id} is rejected"))
    }
}

// === impl Reported ===

impl Reported {
    fn is_not_yet(&self) -> bool {
        self.state == "Pending" && self.reason == Saying::NOT_YET
    }
}
