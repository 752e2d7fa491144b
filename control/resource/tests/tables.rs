//! The tables of fields and the readers agree: whatever a table says is read, and with the bounds of
//! the table. The objects are made from the tables.

use std::collections::BTreeSet;

use keyward_resource::schema::{Field, Message, Type, prune};
use keyward_resource::{FieldError, KINDS, Kind, decode};
use serde_json::{Value, json};

/// A way down into an object.
#[derive(Debug, Clone)]
enum Step {
    Field(&'static str),
    Item,
    Entry,
}

/// The key of every map: a header, a label and a key of data.
const ENTRY: &str = "x-a";
/// What servers keep in the metadata: dropped from what people send, and of no meaning to a reader.
const SERVERS_OWN: &[&str] =
    &["deletionGracePeriodSeconds", "deletionTimestamp", "managedFields", "selfLink"];
/// Fields that are only looked at beside another one.
const BESIDE: &[&str] = &["delegateAction.namespace"];
/// How often a message may contain itself on the way down.
const MAX_REPEAT: usize = 2;

/// Calls back for every field of a message and of the messages below it.
fn walk(
    message: &'static Message,
    way: &mut Vec<Step>,
    seen: &mut Vec<&'static str>,
    visit: &mut impl FnMut(&'static Message, &'static Field, &[Step]),
) {
    if seen.iter().filter(|name| **name == message.name).count() >= MAX_REPEAT {
        return;
    }
    seen.push(message.name);
    for field in message.fields {
        if message.name == "ObjectMeta" && SERVERS_OWN.contains(&field.name) {
            continue;
        }
        way.push(Step::Field(field.name));
        visit(message, field, way);
        let mut depth = 1;
        let mut ty = field.ty;
        loop {
            match ty {
                Type::List(item) => (way.push(Step::Item), ty = *item).1,
                Type::Map(item) => (way.push(Step::Entry), ty = *item).1,
                _ => break,
            }
            depth += 1;
        }
        if let Type::Object(inner) = ty {
            walk(inner, way, seen, visit);
        }
        way.truncate(way.len() - depth);
    }
    seen.pop();
}

/// The fields of a kind that readers look at: not the type, which is looked at before all else, and
/// not what servers write.
fn fields_of(kind: &Kind, mut visit: impl FnMut(&'static Message, &'static Field, &[Step])) {
    for top in
        kind.fields.fields.iter().filter(|field| !matches!(field.name, "apiVersion" | "kind" | "status"))
    {
        let mut way = vec![Step::Field(top.name)];
        visit(kind.fields, top, &way);
        let mut ty = top.ty;
        while let Type::List(item) | Type::Map(item) = ty {
            way.push(if matches!(ty, Type::List(_)) { Step::Item } else { Step::Entry });
            ty = *item;
        }
        if let Type::Object(message) = ty {
            walk(message, &mut way, &mut Vec::new(), &mut visit);
        }
    }
}

fn path(way: &[Step]) -> String {
    let mut path = String::new();
    for step in way {
        match step {
            Step::Field(name) if path.is_empty() => path.push_str(name),
            Step::Field(name) => path.push_str(&format!(".{name}")),
            Step::Item => path.push_str("[0]"),
            Step::Entry => path.push_str(&format!("[{ENTRY}]")),
        }
    }
    path
}

/// An object of a kind with this value at the end of a way.
fn object(kind: &Kind, way: &[Step], value: Value) -> Value {
    let value = way.iter().rev().fold(value, |value, step| match step {
        Step::Field(name) => json!({ *name: value }),
        Step::Item => json!([value]),
        Step::Entry => json!({ ENTRY: value }),
    });
    let mut object = json!({ "apiVersion": kind.api_version(), "kind": kind.name });
    let mut metadata = json!({ "name": "x" });
    if kind.is_namespaced() {
        metadata["namespace"] = "apps".into();
    }
    object["metadata"] = metadata;
    merge(&mut object, value);
    object
}

fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

fn mistakes(kind: &'static Kind, object: &Value) -> Vec<FieldError> {
    decode(kind, object).err().unwrap_or_default()
}

/// Values that this type does not allow.
fn wrong(ty: Type) -> Vec<Value> {
    match ty {
        Type::Boolean => vec![json!("true"), json!(1)],
        Type::Integer(min, max) => {
            let bounds = [min.checked_sub(1), max.checked_add(1)].into_iter().flatten();
            bounds.map(Value::from).chain([json!("1"), json!(1.5)]).collect()
        }
        Type::Long(min, max) => {
            let bounds = [min.checked_sub(1), max.checked_add(1)].into_iter().flatten();
            let quoted = ["", "-", "1.5", "1e3", " 1", "+1", "0x1", "99999999999999999999"];
            let quoted = quoted.into_iter().map(Value::from);
            bounds.flat_map(|bound| [bound.into(), bound.to_string().into()]).chain(quoted).collect()
        }
        Type::Number => vec![json!("1")],
        Type::String | Type::Time | Type::Bytes => vec![json!(true), json!(7), json!([])],
        Type::Duration => vec![json!(5), json!("5"), json!("soon")],
        Type::Enum(_) => vec![json!("no such word"), json!(0)],
        Type::Object(_) | Type::Map(_) => vec![json!("x"), json!([])],
        Type::List(_) => vec![json!("x"), json!({})],
        Type::Any => Vec::new(),
    }
}

#[test]
fn a_wrong_value_in_any_field_is_a_mistake_there() {
    let mut missed = BTreeSet::new();
    let mut tried = 0;
    for kind in KINDS.iter().copied() {
        fields_of(kind, |_, field, way| {
            let place = path(way);
            if BESIDE.iter().any(|end| place.ends_with(end)) {
                return;
            }
            for value in wrong(field.ty) {
                tried += 1;
                let object = object(kind, way, value.clone());
                if !mistakes(kind, &object).iter().any(|mistake| mistake.path == place) {
                    missed.insert(format!("{}: {place} takes {value}", kind.name));
                }
            }
            if let Type::List(item) = field.ty {
                for value in wrong(*item) {
                    let object = object(kind, &[way, &[Step::Item]].concat(), value.clone());
                    let place = format!("{place}[0]");
                    if !mistakes(kind, &object).iter().any(|mistake| mistake.path == place) {
                        missed.insert(format!("{}: {place} takes {value}", kind.name));
                    }
                }
            }
            if let Type::Map(item) = field.ty {
                for value in wrong(*item) {
                    let object = object(kind, &[way, &[Step::Entry]].concat(), value.clone());
                    let place = format!("{place}[{ENTRY}]");
                    if !mistakes(kind, &object).iter().any(|mistake| mistake.path == place) {
                        missed.insert(format!("{}: {place} takes {value}", kind.name));
                    }
                }
            }
        });
    }
    assert!(tried > 2000, "the tables are not where they should be: {tried}");
    assert!(missed.is_empty(), "{} of {tried}:\n{}", missed.len(), Vec::from_iter(missed).join("\n"));
}

#[test]
fn an_object_without_a_field_that_it_needs_is_refused_for_it() {
    let mut missed = Vec::new();
    for kind in KINDS.iter().copied() {
        fields_of(kind, |_, field, way| {
            if !field.required || way.len() < 2 || path(way).starts_with("metadata.name") {
                return;
            }
            let (last, parent) = way.split_last().expect("a way is not empty");
            assert!(matches!(last, Step::Field(_)));
            let object = object(kind, parent, json!({}));
            let (place, parent) = (path(way), path(parent));
            if !mistakes(kind, &object).iter().any(|mistake| mistake.path == place || mistake.path == parent)
            {
                missed.push(format!("{}: {place} is missing, and nobody minds", kind.name));
            }
        });
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_word_of_a_table_is_allowed() {
    let mut missed = Vec::new();
    for kind in KINDS.iter().copied() {
        fields_of(kind, |_, field, way| {
            let Type::Enum(words) = field.ty else { return };
            for word in words {
                let object = object(kind, way, json!(word));
                let place = path(way);
                if mistakes(kind, &object).iter().any(|mistake| mistake.path == place) {
                    missed.push(format!("{}: {place} does not take {word}", kind.name));
                }
            }
        });
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_field_that_is_not_served_is_refused_by_name() {
    let mut messages: Vec<(&'static Kind, &'static Message, Vec<Step>)> = Vec::new();
    for kind in KINDS.iter().copied() {
        fields_of(kind, |message, _, way| {
            let parent = way.split_last().map(|(_, parent)| parent.to_vec()).unwrap_or_default();
            if !messages.iter().any(|(_, known, _)| std::ptr::eq(*known, message)) {
                messages.push((kind, message, parent));
            }
        });
    }
    let mut tried = 0;
    for (kind, message, way) in messages {
        for name in message.unsupported {
            tried += 1;
            let object = object(kind, &way, json!({ *name: {} }));
            let place = path(&[way.as_slice(), &[Step::Field(name)]].concat());
            let found = mistakes(kind, &object);
            let found = found.iter().find(|mistake| mistake.path == place);
            let found = found.unwrap_or_else(|| panic!("{}: {place} is not refused", kind.name));
            assert_eq!(found.reason.as_str(), "FieldValueNotSupported", "{}: {place}", kind.name);
        }
    }
    assert!(tried > 100, "too few names are refused: {tried}");
}

#[test]
fn tables_are_documented_and_have_no_two_names_for_one_thing() {
    let mut names: std::collections::BTreeMap<&str, *const Message> = std::collections::BTreeMap::new();
    let mut wrong = BTreeSet::new();
    for kind in KINDS.iter().copied() {
        let mut check = |message: &'static Message| {
            let known = *names.entry(message.name).or_insert(std::ptr::from_ref(message));
            if !std::ptr::eq(known, message) {
                wrong.insert(format!("{} stands for two messages", message.name));
            }
            if !message.doc.ends_with('.') {
                wrong.insert(format!("{}: no sentence says what it is: {:?}", message.name, message.doc));
            }
            let fields: BTreeSet<_> = message.fields.iter().map(|field| field.name).collect();
            let refused: BTreeSet<_> = message.unsupported.iter().copied().collect();
            if fields.len() != message.fields.len()
                || refused.len() != message.unsupported.len()
                || !fields.is_disjoint(&refused)
            {
                wrong.insert(format!("{}: a name stands there twice", message.name));
            }
            for field in message.fields {
                if !field.doc.ends_with('.') {
                    wrong.insert(format!("{}.{}: no sentence says what it is", message.name, field.name));
                }
            }
        };
        check(kind.fields);
        fields_of(kind, |message, field, _| {
            check(message);
            if let Type::Object(inner) = field.ty {
                check(inner);
            }
        });
    }
    assert!(names.len() > 60, "the tables are not where they should be: {}", names.len());
    assert!(wrong.is_empty(), "{}", Vec::from_iter(wrong).join("\n"));
}

#[test]
fn pruning_keeps_every_field_that_is_known() {
    for kind in KINDS.iter().copied() {
        fields_of(kind, |_, field, way| {
            let known = object(kind, way, json!(null));
            let mut pruned = known.clone();
            assert_eq!(prune(kind.fields, &mut pruned), [], "{}: {}", kind.name, path(way));
            assert_eq!(pruned, known);

            let misspelled = format!("{}Zzz", field.name);
            let (_, parent) = way.split_last().expect("a way is not empty");
            let mut pruned = object(kind, parent, json!({}));
            let clean = pruned.clone();
            merge(&mut pruned, object(kind, parent, json!({ misspelled: 1 })));
            assert_eq!(prune(kind.fields, &mut pruned).len(), 1, "{}: {}", kind.name, path(way));
            assert_eq!(pruned, clean);
        });
    }
}
