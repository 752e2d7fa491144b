//! Whether two forms of one resource say the same.
//!
//! The server writes protobuf's JSON with the names of JSON, Envoy with those of protobuf; both leave out what
//! has its default. Neither shows what is sensitive, and the server cuts long bytes, such as the code of the
//! filter, to a note of their length.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// Where they differ first; none where they say the same.
pub(super) fn difference(of: &str, served: &Value, reported: &Value) -> Option<String> {
    if of == "endpoints" {
        return (addresses(served) != addresses(reported)).then(|| "the addresses".to_owned());
    }
    let mut reported = reported.clone();
    if let Some(packed) = reported.as_object_mut() {
        // Envoy shows a resource as it is packed, with its type.
        packed.remove("@type");
    }
    at(served, &reported, String::new())
}

/// A name in either style, or a key of a map, in a form that both have.
fn plain(name: &str) -> String {
    name.chars().filter(|char| *char != '_').flat_map(char::to_lowercase).collect()
}

fn fields(object: &Map<String, Value>) -> BTreeMap<String, &Value> {
    object.iter().map(|(name, value)| (plain(name), value)).collect()
}

fn at(served: &Value, reported: &Value, path: String) -> Option<String> {
    let here = || Some(if path.is_empty() { "its root".to_owned() } else { path.clone() });
    match (served, reported) {
        (Value::Object(one), _) if is_unread(one) => None,
        (Value::Object(one), Value::Object(other)) => {
            let (one, other) = (fields(one), fields(other));
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            names.into_iter().find_map(|name| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                match (one.get(name), other.get(name)) {
                    (Some(one), Some(other)) => at(one, other, path),
                    (Some(alone), None) | (None, Some(alone)) => (!is_nothing(alone)).then_some(path),
                    (None, None) => None,
                }
            })
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs.into_iter().find_map(|(index, (one, other))| at(one, other, format!("{path}[{index}]")))
        }
        (Value::String(one), Value::String(other)) => (!says_the_same(one, other)).then(here).flatten(),
        (Value::Number(one), Value::Number(other)) => (one.as_f64() != other.as_f64()).then(here).flatten(),
        (one, other) => (one != other).then(here).flatten(),
    }
}

/// Whether the server knows nothing of what is packed here but its size.
fn is_unread(object: &Map<String, Value>) -> bool {
    let is_text = object
        .get("@type")
        .and_then(Value::as_str)
        .is_some_and(|name| name.ends_with("google.protobuf.StringValue"));
    let value = object.get("value").and_then(Value::as_str);
    is_text && value.is_none_or(|value| value.is_empty() || value.contains(" bytes of the unknown type "))
}

/// Whether leaving it out says the same.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Object(fields) => is_unread(fields),
        Value::Bool(true) => false,
    }
}

fn says_the_same(served: &str, reported: &str) -> bool {
    if served == reported {
        return true;
    }
    if let (Some(one), Some(other)) = (seconds(served), seconds(reported)) {
        return one == other;
    }
    cut(served).is_some_and(|length| decoded_length(reported) == Some(length))
}

/// A duration: `0.1s` and `0.100s` are one.
fn seconds(text: &str) -> Option<f64> {
    text.strip_suffix('s')?.parse().ok()
}

/// How many bytes there were, where the server has put a note in their place.
fn cut(text: &str) -> Option<usize> {
    use base64::Engine as _;
    let note = base64::engine::general_purpose::STANDARD.decode(text).ok()?;
    std::str::from_utf8(&note).ok()?.strip_suffix(" bytes")?.parse().ok()
}

fn decoded_length(text: &str) -> Option<usize> {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.decode(text).ok().map(|bytes| bytes.len())
}

/// All addresses in a resource: of what Envoy reports of endpoints the rest is its own.
fn addresses(value: &Value) -> BTreeSet<(String, u64)> {
    let mut found = BTreeSet::new();
    collect(value, &mut found);
    found
}

fn collect(value: &Value, found: &mut BTreeSet<(String, u64)>) {
    match value {
        Value::Object(object) => {
            let all = fields(object);
            if let (Some(address), Some(port)) = (
                all.get("address").and_then(|it| it.as_str()),
                all.get("portvalue").and_then(|it| it.as_u64()),
            ) {
                found.insert((address.to_owned(), port));
            }
            all.values().for_each(|value| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
