//! Objects as JSON: admission of what people send, the stored form, and the way back.
//!
//! ```text
//! body ─parse_body▶ Value ─admit▶ stored form (canonical) ─decode▶ Resource (domain)
//!                                      └─present▶ answer, in the group asked for
//! ```
//!
//! The stored form says what its author said, in canonical words: the `apiVersion` of this
//! product, no null, no status, `stringData` folded into `data`. Defaults are applied when an
//! object is decoded and not written into it, so that people read back what they wrote.

use serde_json::{Value, json};

use crate::error::FieldError;
use crate::kind::{GroupVersion, Kind};
use crate::kinds::Resource;
use crate::meta::Meta;
use crate::metadata;
use crate::reader::{Errors, Node, quoted};

/// Validates what somebody sent to the path of a kind and brings it into the form in which it is
/// stored. `name` is the name in the path, if there is one; `namespace` is empty for kinds without.
///
/// Fields of the metadata that servers own are dropped, but for `uid` and `resourceVersion`: these
/// are conditions that the caller checks. Admitting the result once more changes nothing.
///
/// # Errors
///
/// Every mistake in the object.
pub fn admit(
    kind: &'static Kind,
    namespace: &str,
    name: Option<&str>,
    object: Value,
) -> Result<Value, Vec<FieldError>> {
    let mut object = canonical(kind, namespace, name, object);
    let errors = Errors::default();
    let admitted = read(kind, &object, &errors, Some((namespace, name)));
    errors.finish(admitted)?;
    if let Value::Object(fields) = &mut object {
        fields.insert("apiVersion".into(), kind.api_version().into());
    }
    Ok(object)
}

/// The form in which [`admit`] stores an object, as far as the object is well formed. Parts of an
/// object are brought into that form too, such as those that somebody applies.
#[must_use]
pub fn canonical(kind: &'static Kind, namespace: &str, name: Option<&str>, object: Value) -> Value {
    let mut object = object;
    drop_nulls(&mut object);
    if let Value::Object(fields) = &mut object {
        fields.remove("status");
        fields.entry("apiVersion").or_insert_with(|| kind.api_version().into());
        fields.entry("kind").or_insert_with(|| kind.name.into());
        if let Value::Object(meta) = fields.entry("metadata").or_insert_with(|| json!({})) {
            metadata::normalize(meta, namespace, name);
        }
        (kind.normalize)(fields);
    }
    object
}

/// Reads a stored object. What the store holds may have been written by another version: nothing
/// is taken for granted, and a mistake is an answer.
///
/// # Errors
///
/// Every mistake in the object.
pub fn decode(kind: &'static Kind, object: &Value) -> Result<Resource, Vec<FieldError>> {
    let errors = Errors::of_stored();
    let resource = read(kind, object, &errors, None);
    errors.finish(resource)
}

/// The stored object as an answer to somebody who asked for this group and version.
#[must_use]
pub fn present(kind: &Kind, mut object: Value, asked: GroupVersion) -> Value {
    if let Value::Object(fields) = &mut object
        && kind.group_versions().any(|served| served == asked)
    {
        fields.insert("apiVersion".into(), asked.to_string().into());
    }
    object
}

/// A list as an answer to somebody who asked for this group and version. The items are presented
/// already.
#[must_use]
pub fn present_list(kind: &Kind, items: Vec<Value>, resource_version: u64, asked: GroupVersion) -> Value {
    json!({
        "apiVersion": asked.to_string(),
        "kind": kind.list_kind(),
        "metadata": { "resourceVersion": resource_version.to_string() },
        "items": items,
    })
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Reads an object. `path` is where it was sent to, if it was.
fn read(
    kind: &'static Kind,
    object: &Value,
    errors: &Errors,
    path: Option<(&str, Option<&str>)>,
) -> Option<Resource> {
    let root = Node::root(object, errors);
    let root = if kind.is_confidential() { root.confidential() } else { root };
    // What another kind holds would only be noise here.
    check_type(kind, &root)?;
    let fields = root.object(kind.fields)?;
    let meta = fields.required("metadata", "an object needs metadata")?;
    if let Some((namespace, name)) = path {
        if kind.is_namespaced() {
            check_place(&meta, "namespace", namespace);
        }
        if let Some(name) = name {
            check_place(&meta, "name", name);
        }
    }
    match metadata::meta(meta, kind.is_namespaced()) {
        Some(meta) => (kind.read)(&fields, meta),
        None => {
            // The other mistakes are worth knowing too. No reference is resolved against this.
            (kind.read)(&fields, Meta::unnamed());
            None
        }
    }
}

fn check_type(kind: &'static Kind, root: &Node<'_>) -> Option<()> {
    let api_version = root.field("apiVersion").and_then(|node| node.string().map(|text| (node, text)));
    let name = root.field("kind").and_then(|node| node.string().map(|text| (node, text)));
    if let Some((node, text)) = api_version
        && kind.group_version_named(text).is_none()
    {
        let served: Vec<_> = kind.group_versions().map(|served| served.to_string()).collect();
        let served: Vec<_> = served.iter().map(String::as_str).collect();
        node.unsupported(format_args!("supported values: {}", quoted(&served)));
    }
    if let Some((node, text)) = name
        && text != kind.name
    {
        node.unsupported(format_args!("supported values: \"{}\"", kind.name));
    }
    root.is_flawless().then_some(())
}

fn check_place(meta: &Node<'_>, key: &'static str, expected: &str) {
    if let Some(field) = meta.field(key)
        && field.string().is_some_and(|text| text != expected)
    {
        field.invalid(format_args!("does not match the {key} {expected:?} in the path of the request"));
    }
}

#[cfg(test)]
mod tests;
