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
    name: "Metadata",
    doc: "",
    fields: &[
        Field::new("name", Type::Any, ""),
        Field::new("namespace", Type::Any, ""),
        Field::new("labels", Type::Any, ""),
        Field::new("annotations", Type::Any, ""),
        Field::new("uid", Type::Any, ""),
        Field::new("resourceVersion", Type::Any, ""),
        Field::new("generation", Type::Any, ""),
        Field::new("creationTimestamp", Type::Any, ""),
    ],
    unsupported: &["generateName", "finalizers", "ownerReferences"],
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
    doc: "",
    fields: &[Field::new("name", Type::Any, ""), Field::new("namespace", Type::Any, "")],
    unsupported: &[],
};

/// Drops what people cannot say and fills in what the path of the request says.
pub(crate) fn normalize(metadata: &mut Map<String, Value>, namespace: &str, name: Option<&str>) {
    for key in SERVERS_OWN {
        metadata.remove(*key);
    }
    // To Go programs an empty string is the same as none.
    for key in ["name", "namespace", "uid", "resourceVersion"] {
        if metadata.get(key).and_then(Value::as_str) == Some("") {
            metadata.remove(key);
        }
    }
    metadata.entry("namespace").or_insert_with(|| namespace.into());
    if let Some(name) = name {
        metadata.entry("name").or_insert_with(|| name.into());
    }
}

/// Reads `metadata`.
pub(crate) fn meta(node: Node<'_>) -> Option<Meta> {
    let fields = node.object(&METADATA)?;
    let name = fields.required("name", "an object needs a name");
    let name = name.and_then(|name| word(&name, syntax::subdomain));
    let namespace = fields.required("namespace", "an object needs a namespace");
    let namespace = namespace.and_then(|namespace| word(&namespace, syntax::label));
    let labels = fields.or("labels", BTreeMap::new(), labels);
    fields.optional("annotations").and_then(annotations);
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
