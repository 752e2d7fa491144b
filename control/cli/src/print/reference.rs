//! Parts of objects, read as leniently as something is only shown.

use serde_json::Value;

/// A text; empty where there is none.
pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// The items of a list.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// The names of the fields of an object.
pub(super) fn names(value: &Value) -> impl Iterator<Item = &str> {
    value.as_object().into_iter().flatten().map(|(name, _)| name.as_str())
}

/// The texts of a list.
pub(super) fn texts(value: &Value) -> Vec<&str> {
    list(value).filter_map(Value::as_str).collect()
}

/// Another object, by namespace and name; in the namespace of this one where none is said.
pub(super) fn reference<'a>(object: &'a Value, of: &'a Value) -> (&'a str, &'a str) {
    let namespace = of["namespace"].as_str().filter(|namespace| !namespace.is_empty());
    (namespace.unwrap_or_else(|| text(&object["metadata"]["namespace"])), text(&of["name"]))
}

/// Another object as the original names it: `namespace.name`.
pub(super) fn dotted(object: &Value, of: &Value) -> String {
    let (namespace, name) = reference(object, of);
    format!("{namespace}.{name}")
}
