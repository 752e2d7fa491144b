//! Reads metadata, labels and references.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::meta::{Meta, ObjectRef};
use crate::reader::{List, Node};
use crate::schema::{Field, Message, Type};
use crate::syntax::{self, Check};

/// All annotations of an object together, as Kubernetes limits them.
const MAX_ANNOTATIONS_LEN: usize = 256 * 1024;

pub(crate) static METADATA: Message = Message {
    name: "ObjectMeta",
    doc: "What every object has: its name, its labels and what the server keeps about it.",
    fields: &[
        Field::new(
            "name",
            Type::String,
            "The name, unique among the objects of the kind in the namespace. Cannot be changed. Lower case \
             letters, digits, '-' and '.', at most 253.",
        ),
        Field::new(
            "generateName",
            Type::String,
            "The beginning of a name that the server completes, when an object is created without a name.",
        ),
        Field::new("namespace", Type::String, "The namespace. Cannot be changed."),
        Field::new(
            "labels",
            Type::STRINGS,
            "Words by which objects are selected, by people and by the selectors of other objects.",
        ),
        Field::new(
            "annotations",
            Type::STRINGS,
            "Notes of tools. They select nothing; at most 256 KiB in all.",
        ),
        Field::new(
            "finalizers",
            Type::STRING_LIST,
            "Whoever must agree before the object is gone: a deletion only marks it until this list is empty.",
        ),
        Field::new(
            "ownerReferences",
            Type::List(&Type::Object(&OWNER_REFERENCE)),
            "The objects that this one belongs to. Kept for tools; nothing is deleted because of it.",
        ),
        Field::new(
            "uid",
            Type::String,
            "Tells this object from an earlier one of the same name. Set by the server.",
        ),
        Field::new(
            "resourceVersion",
            Type::String,
            "The version that was read. A write that says one is refused when the object has changed since.",
        ),
        Field::new(
            "generation",
            Type::Integer(0, i64::MAX),
            "Rises with every change of what is wanted. Set by the server.",
        ),
        Field::new("creationTimestamp", Type::Time, "When the object was created. Set by the server."),
        Field::new(
            "deletionTimestamp",
            Type::Time,
            "When somebody asked for the deletion of the object. Set by the server.",
        ),
        Field::new(
            "deletionGracePeriodSeconds",
            Type::Integer(0, i64::MAX),
            "Always 0 where it is set: nothing here takes time to stop. Set by the server.",
        ),
        Field::new(
            "managedFields",
            Type::List(&Type::Any),
            "Who manages which fields. Kept by the server for `kubectl apply --server-side`.",
        ),
        Field::new("selfLink", Type::String, "Not used any more, and never set."),
    ],
    unsupported: &[],
};

static OWNER_REFERENCE: Message = Message {
    name: "OwnerReference",
    doc: "An object that another one belongs to.",
    fields: &[
        Field::required("apiVersion", Type::String, "The group and version of the owner."),
        Field::required("kind", Type::String, "The kind of the owner."),
        Field::required("name", Type::String, "The name of the owner."),
        Field::required("uid", Type::String, "The uid of the owner."),
        Field::new("controller", Type::Boolean, "Whether the owner is the one that manages the object."),
        Field::new(
            "blockOwnerDeletion",
            Type::Boolean,
            "Whether the owner should wait for this object. Kept, without an effect.",
        ),
    ],
    unsupported: &[],
};

/// Fields that servers keep and people send back; what they say there has no meaning.
const SERVERS_OWN: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "selfLink",
];

pub(crate) static REFERENCE: Message = Message {
    name: "Reference",
    doc: "Names another object.",
    fields: &[
        Field::required("name", Type::String, "The name of the object."),
        Field::new(
            "namespace",
            Type::String,
            "The namespace of the object. Default: that of the object that refers.",
        ),
    ],
    unsupported: &[],
};

/// Drops what people cannot say and fills in what the path of the request says. The namespace is
/// empty for kinds without.
pub(crate) fn normalize(metadata: &mut Map<String, Value>, namespace: &str, name: Option<&str>) {
    for key in SERVERS_OWN {
        metadata.remove(*key);
    }
    // To Go programs what is empty is the same as none.
    for key in ["name", "namespace", "uid", "resourceVersion"] {
        if metadata.get(key).and_then(Value::as_str) == Some("") {
            metadata.remove(key);
        }
    }
    for key in ["labels", "annotations"] {
        if metadata.get(key).and_then(Value::as_object).is_some_and(Map::is_empty) {
            metadata.remove(key);
        }
    }
    for key in ["finalizers", "ownerReferences"] {
        if metadata.get(key).and_then(Value::as_array).is_some_and(Vec::is_empty) {
            metadata.remove(key);
        }
    }
    if !namespace.is_empty() {
        metadata.entry("namespace").or_insert_with(|| namespace.into());
    }
    if let Some(name) = name {
        metadata.entry("name").or_insert_with(|| name.into());
    }
}

/// Reads `metadata`.
pub(crate) fn meta(node: Node<'_>, namespaced: bool) -> Option<Meta> {
    let fields = node.object(&METADATA)?;
    let name = fields.required("name", "an object needs a name");
    let name = name.and_then(|name| word(&name, syntax::subdomain));
    let namespace = if namespaced {
        let namespace = fields.required("namespace", "an object needs a namespace");
        namespace.and_then(|namespace| word(&namespace, syntax::label))
    } else {
        if let Some(namespace) = fields.optional("namespace") {
            namespace.invalid("objects of this kind have no namespace");
        }
        Some(String::new())
    };
    let labels = fields.or("labels", BTreeMap::new(), labels);
    fields.optional("annotations").and_then(annotations);
    fields.optional("generateName").and_then(|prefix| prefix.string());
    fields.optional("finalizers").and_then(finalizers);
    fields.optional("ownerReferences").and_then(owners);
    fields.optional("uid").and_then(|uid| uid.string());
    let resource_version = fields.or("resourceVersion", 0, |version| {
        let number = version.string()?.parse().ok();
        if number.is_none() {
            version.invalid("must be a resourceVersion as this server gave it");
        }
        number
    });
    let generation = fields.or("generation", 0, |generation| generation.count());
    let creation_timestamp = fields.or("creationTimestamp", "", |timestamp| timestamp.string());
    Some(Meta {
        name: name?,
        namespace: namespace?,
        labels: labels?,
        resource_version: resource_version?,
        created: 0,
        generation: generation?,
        creation_timestamp: creation_timestamp?.to_owned(),
    })
}

/// Reads labels, or a selector that demands labels.
pub(crate) fn labels(node: Node<'_>) -> Option<BTreeMap<String, String>> {
    let entries = node.entries()?;
    let mut labels = Some(BTreeMap::new());
    for (key, value) in entries.iter() {
        if let Err(why) = syntax::qualified_name(key) {
            value.invalid_key(why);
            labels = None;
            continue;
        }
        match (word(&value, syntax::label_value), &mut labels) {
            (Some(value), Some(labels)) => {
                labels.insert(key.to_owned(), value);
            }
            (Some(_), None) => {}
            (None, _) => labels = None,
        }
    }
    labels
}

fn annotations(node: Node<'_>) -> Option<()> {
    // An annotation may hold a copy of a whole Secret (kubectl apply keeps one there).
    let entries = node.secret().entries()?;
    let mut len = 0_usize;
    for (key, value) in entries.iter() {
        if let Err(why) = syntax::qualified_name(&key.to_ascii_lowercase()) {
            value.invalid_key(why);
        }
        len = len.saturating_add(key.len()).saturating_add(value.string().map_or(0, str::len));
    }
    if len > MAX_ANNOTATIONS_LEN {
        entries.node().invalid(format_args!("must have at most {MAX_ANNOTATIONS_LEN} bytes in all"));
    }
    Some(())
}

fn finalizers(node: Node<'_>) -> Option<()> {
    let list = node.list()?;
    let mut seen = BTreeSet::new();
    for item in list.iter() {
        match word(&item, syntax::qualified_name) {
            Some(name) if !seen.insert(name.clone()) => item.duplicate(),
            _ => {}
        }
    }
    Some(())
}

fn owners(node: Node<'_>) -> Option<()> {
    let mut controller = None;
    for item in node.list()?.iter() {
        let Some(owner) = item.object(&OWNER_REFERENCE) else { continue };
        for key in ["apiVersion", "kind", "name", "uid"] {
            if let Some(field) = owner.required(key, "an owner is named by apiVersion, kind, name and uid")
                && field.string() == Some("")
            {
                field.required("must not be empty");
            }
        }
        owner.optional("blockOwnerDeletion").and_then(|field| field.boolean());
        let controls = owner.optional("controller").and_then(|field| field.boolean()) == Some(true);
        if controls && controller.replace(()).is_some() {
            owner.node().invalid("only one owner can be the controller");
        }
    }
    Some(())
}

/// Reads a reference. One without a namespace means that of the object that refers.
pub(crate) fn reference(node: Node<'_>, parent: &Meta) -> Option<ObjectRef> {
    let fields = node.object(&REFERENCE)?;
    let name = fields.required("name", "a reference needs a name");
    let name = name.and_then(|name| word(&name, syntax::subdomain));
    let namespace = match fields.optional("namespace") {
        Some(namespace) if namespace.string() != Some("") => word(&namespace, syntax::label),
        _ => Some(parent.namespace.clone()),
    };
    Some(ObjectRef::new(namespace?, name?))
}

/// Reads references. One that stands there twice counts once.
pub(crate) fn references(list: &List<'_>, parent: &Meta) -> Option<Vec<ObjectRef>> {
    // All are read before the first failure counts, so that every mistake is found.
    let references: Vec<_> = list.iter().map(|item| reference(item, parent)).collect();
    let mut references = references.into_iter().collect::<Option<Vec<_>>>()?;
    let mut seen = BTreeSet::new();
    references.retain(|reference| seen.insert(reference.clone()));
    Some(references)
}

/// Reads a string that keeps a rule.
pub(crate) fn word(node: &Node<'_>, rule: fn(&str) -> Check) -> Option<String> {
    let text = node.string()?;
    match rule(text) {
        Ok(()) => Some(text.to_owned()),
        Err(why) => {
            node.invalid(why);
            None
        }
    }
}
