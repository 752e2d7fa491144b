//! Every field that has an effect stands in some case, so that it is known what becomes of it.

use std::collections::BTreeSet;

use keyward_resource::schema::{Field, Message, Type};
use keyward_resource::{Kind, kind};
use serde_json::Value;

use crate::golden::{documents, folders};
use crate::support::root;

/// The kinds that are translated.
const KINDS: &[&str] = &[
    "AuthConfig",
    "Gateway",
    "RouteOption",
    "RouteTable",
    "Settings",
    "Upstream",
    "UpstreamGroup",
    "VirtualHostOption",
    "VirtualService",
];
/// What every object has. It is the resource API's.
const OF_OBJECTS: &[&str] = &["apiVersion", "kind", "metadata", "status"];
/// How the description of a field begins that is taken and does nothing.
const WITHOUT_EFFECT: &str = "Accepted, without an effect.";

/// A field, by the message that it is in: wherever the message stands, one reader reads it.
type Place = (&'static str, &'static str);

/// The message in a field, if there is one.
fn inner(ty: Type) -> Option<&'static Message> {
    match ty {
        Type::Object(message) => Some(message),
        Type::Map(of) | Type::List(of) => inner(*of),
        _ => None,
    }
}

fn is_top(kind: &Kind, message: &Message, field: &str) -> bool {
    message.name == kind.fields.name && OF_OBJECTS.contains(&field)
}

/// Adds the fields of a message and of those in it that have an effect.
fn declared(
    kind: &Kind,
    message: &'static Message,
    known: &mut BTreeSet<&'static str>,
    all: &mut BTreeSet<Place>,
) {
    if !known.insert(message.name) {
        return;
    }
    let has_effect = |field: &&Field| !field.doc.starts_with(WITHOUT_EFFECT);
    let fields = message.fields.iter().filter(has_effect);
    for field in fields.filter(|field| !is_top(kind, message, field.name)) {
        all.insert((message.name, field.name));
        if let Some(message) = inner(field.ty) {
            declared(kind, message, known, all);
        }
    }
}

/// Adds the fields that a value of this type has.
fn shown(ty: Type, value: &Value, all: &mut BTreeSet<Place>) {
    match (ty, value) {
        (Type::Object(message), Value::Object(fields)) => {
            for (name, value) in fields {
                let Some(field) = message.field(name) else { continue };
                all.insert((message.name, field.name));
                shown(field.ty, value, all);
            }
        }
        (Type::Map(of), Value::Object(entries)) => entries.values().for_each(|value| shown(*of, value, all)),
        (Type::List(of), Value::Array(items)) => items.iter().for_each(|value| shown(*of, value, all)),
        _ => {}
    }
}

#[test]
fn every_field_stands_in_a_case() {
    let (mut known, mut wanted) = (BTreeSet::new(), BTreeSet::new());
    for name in KINDS {
        let kind = keyward_resource::KINDS.iter().find(|kind| kind.name == *name).expect("a kind");
        declared(kind, kind.fields, &mut known, &mut wanted);
    }
    assert!(wanted.len() > 250, "only {} fields", wanted.len());
    let mut found = BTreeSet::new();
    for case in folders(&root().join("testdata/translate")) {
        for object in documents(&case.join("in.yaml")) {
            let text = |field: &str| object[field].as_str().unwrap_or_default();
            let (kind, _) = kind::by_type(text("apiVersion"), text("kind")).expect("a known kind");
            shown(Type::Object(kind.fields), &object, &mut found);
        }
    }
    let missing: Vec<&Place> = wanted.difference(&found).collect();
    assert!(missing.is_empty(), "these fields stand in no in.yaml of testdata/translate: {missing:?}");
}
