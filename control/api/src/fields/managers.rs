//! The managers of an object: `metadata.managedFields`.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::compare::compare;
use super::element::Place;
use super::merge::{merge, prune};
use super::set::Set;

/// How a manager came by its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Operation {
    /// It applies them, and takes back what it does not apply any more.
    Apply,
    /// It wrote them.
    Update,
}

/// Who manages fields.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Manager {
    pub(crate) operation: Operation,
    pub(crate) name: String,
    /// The version in which it writes. Somebody who applies is the same in every version.
    pub(crate) api_version: String,
    /// The part of the object that it writes; empty for the object itself.
    pub(crate) subresource: &'static str,
}

/// The fields of one manager.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Owned {
    fields: Set,
    /// When it got the last of them.
    time: String,
    /// The version in which it wrote last.
    api_version: String,
}

/// All managers of an object.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Managers {
    owned: BTreeMap<Manager, Owned>,
}

/// A field that somebody else owns and that was to be applied with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Conflict {
    /// Who owns it, in words.
    pub(crate) owner: String,
    /// The field: `.spec.replicas`.
    pub(crate) path: String,
}

/// What comes out of an application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Applied {
    pub(crate) object: Value,
    pub(crate) managers: Managers,
}

/// More managers than this that update are not told apart: the oldest are taken together.
const MAX_UPDATERS: usize = 10;
/// The name under which they go on.
const ANCIENT: &str = "ancient-changes";
/// The owner of everything in an object that was written before managers were kept.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";
/// What belongs to the server, and to no manager.
const UNMANAGED: &[&str] = &[
    "name",
    "namespace",
    "creationTimestamp",
    "selfLink",
    "uid",
    "generation",
    "managedFields",
    "resourceVersion",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// The parts of an object that managers manage.
fn managed(object: &Value) -> Value {
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        fields.remove("apiVersion");
        fields.remove("kind");
        if let Some(Value::Object(metadata)) = fields.get_mut("metadata") {
            metadata.retain(|key, _| !UNMANAGED.contains(&key.as_str()));
            if metadata.is_empty() {
                fields.remove("metadata");
            }
        }
    }
    object
}

/// The fields that an object says something about.
fn fields_of(object: &Value) -> Set {
    let object = managed(object);
    let set = Set::of(Place::Root, &object);
    // An object that says nothing is no field by itself.
    if set.member { Set::default() } else { set }
}

fn entry(value: &Value) -> Option<(Manager, Owned)> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let operation = match value.get("operation")?.as_str()? {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return None,
    };
    let subresource = match text("subresource").as_str() {
        "" => "",
        "status" => "status",
        _ => return None,
    };
    let fields = Set::decode(value.get("fieldsV1")?)?;
    let api_version = text("apiVersion");
    let manager = Manager::new(operation, &text("manager"), &api_version, subresource);
    Some((manager, Owned { fields, time: text("time"), api_version }))
}

// === impl Manager ===

impl Manager {
    pub(crate) fn new(
        operation: Operation,
        name: &str,
        api_version: &str,
        subresource: &'static str,
    ) -> Self {
        let api_version = match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.to_owned(),
        };
        Self { operation, name: name.to_owned(), api_version, subresource }
    }

    /// Who it is, for the message about a conflict.
    fn describe(&self, owned: &Owned) -> String {
        let mut text = format!("{:?}", self.name);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == Operation::Update {
            text.push_str(&format!(" using {}", owned.api_version));
        }
        text
    }
}

// === impl Managers ===

impl Managers {
    /// Reads `managedFields`; none when it is not well formed.
    pub(crate) fn decode(managed_fields: &Value) -> Option<Self> {
        let entries = managed_fields.as_array()?.iter().map(entry);
        Some(Self { owned: entries.collect::<Option<_>>()? })
    }

    /// Writes `managedFields`, in the order in which Kubernetes does.
    pub(crate) fn encode(&self) -> Value {
        let mut all: Vec<_> = self.owned.iter().collect();
        all.sort_by_key(|(manager, owned)| (manager.operation, &owned.time, &manager.name, *manager));
        let entries = all.into_iter().map(|(manager, owned)| {
            let operation = match manager.operation {
                Operation::Apply => "Apply",
                Operation::Update => "Update",
            };
            let mut entry = json!({
                "manager": manager.name,
                "operation": operation,
                "apiVersion": owned.api_version,
                "time": owned.time,
                "fieldsType": "FieldsV1",
                "fieldsV1": owned.fields.encode(),
            });
            if !manager.subresource.is_empty() {
                entry["subresource"] = manager.subresource.into();
            }
            entry
        });
        Value::Array(entries.collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.owned.is_empty()
    }

    /// The fields of one manager.
    #[cfg(test)]
    pub(crate) fn fields(&self, manager: &Manager) -> Set {
        self.owned.get(manager).map(|owned| owned.fields.clone()).unwrap_or_default()
    }

    /// Notes that a manager has written a new state of an object.
    pub(crate) fn update(
        mut self,
        live: &Value,
        new: &Value,
        manager: &Manager,
        api_version: &str,
        now: &str,
    ) -> Self {
        let difference = compare(&managed(live), &managed(new));
        let taken = difference.set();
        self.give_up(manager, &taken, &difference.removed);
        let before = self.owned.remove(manager);
        let mut fields = before.as_ref().map(|owned| owned.fields.clone()).unwrap_or_default();
        fields = fields.difference(&difference.removed);
        fields.add(&taken);
        let time = match before {
            Some(before) if taken.is_empty() => before.time,
            _ => now.to_owned(),
        };
        self.put(manager, Owned { fields, time, api_version: api_version.to_owned() });
        self.cap();
        self
    }

    /// Applies what a manager wants of an object.
    ///
    /// # Errors
    ///
    /// The fields that others own, unless `force` takes them away from them.
    pub(crate) fn apply(
        mut self,
        live: &Value,
        applied: &Value,
        manager: &Manager,
        api_version: &str,
        force: bool,
        now: &str,
    ) -> Result<Applied, Vec<Conflict>> {
        let before = self.owned.remove(manager);
        let fields = fields_of(applied);
        let mut object = merge(live, applied);
        if let Some(before) = &before {
            let mut owned = fields.clone();
            self.owned.values().for_each(|other| owned.add(&other.fields));
            prune(&mut object, &before.fields, &owned);
        }
        let difference = compare(&managed(live), &managed(&object));
        let taken = difference.set();
        let conflicts = self.conflicts(&taken.union(&difference.replaced));
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        self.give_up(manager, &taken, &difference.removed);
        let time = match before {
            Some(before) if before.fields == fields && object == *live => before.time,
            _ => now.to_owned(),
        };
        self.put(manager, Owned { fields, time, api_version: api_version.to_owned() });
        Ok(Applied { object, managers: self })
    }

    /// Gives everything in an object to somebody, because nobody knows who wrote it.
    pub(crate) fn before_first_apply(live: &Value, api_version: &str, now: &str) -> Self {
        let manager = Manager::new(Operation::Update, BEFORE_FIRST_APPLY, api_version, "");
        let owned =
            Owned { fields: fields_of(live), time: now.to_owned(), api_version: api_version.to_owned() };
        Self { owned: BTreeMap::from([(manager, owned)]) }
    }

    fn conflicts(&self, taken: &Set) -> Vec<Conflict> {
        let of_one = |(manager, owned): (&Manager, &Owned)| {
            let owner = manager.describe(owned);
            let paths = owned.fields.intersection(taken).paths();
            paths.into_iter().map(move |path| Conflict { owner: owner.clone(), path }).collect::<Vec<_>>()
        };
        self.owned.iter().flat_map(of_one).collect()
    }

    /// The others lose what a manager has taken, and everybody what is gone.
    fn give_up(&mut self, manager: &Manager, taken: &Set, removed: &Set) {
        self.owned.retain(|other, owned| {
            if other == manager {
                return true;
            }
            owned.fields = owned.fields.difference(taken).difference(removed);
            !owned.fields.is_empty()
        });
    }

    fn put(&mut self, manager: &Manager, owned: Owned) {
        if !owned.fields.is_empty() {
            self.owned.insert(manager.clone(), owned);
        }
    }

    fn cap(&mut self) {
        let is_updater = |manager: &Manager| manager.operation == Operation::Update;
        let count = self.owned.keys().filter(|manager| is_updater(manager)).count();
        let Some(surplus) = count.checked_sub(MAX_UPDATERS).filter(|surplus| *surplus > 0) else { return };
        let mut updaters: Vec<(String, Manager)> = self
            .owned
            .iter()
            .filter(|(manager, _)| is_updater(manager) && manager.subresource.is_empty())
            .map(|(manager, owned)| (owned.time.clone(), manager.clone()))
            .collect();
        updaters.sort();
        // One more than there are too many, because together they are one again.
        let oldest: Vec<Manager> =
            updaters.into_iter().map(|(_, manager)| manager).take(surplus + 1).collect();
        let mut together: Option<Owned> = None;
        for manager in oldest {
            let Some(owned) = self.owned.remove(&manager) else { continue };
            match &mut together {
                Some(all) => {
                    all.fields.add(&owned.fields);
                    all.time = owned.time;
                    all.api_version = owned.api_version;
                }
                None => together = Some(owned),
            }
        }
        if let Some(together) = together {
            let manager = Manager::new(Operation::Update, ANCIENT, &together.api_version, "");
            self.put(&manager, together);
        }
    }
}
