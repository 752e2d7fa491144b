//! Strategic merge patch: a merge patch with directives, for kinds whose lists have keys.
//!
//! `$patch: replace|delete|merge` in a map or in an item of a list with keys, `$retainKeys`,
//! `$deleteFromPrimitiveList/<field>` and `$setElementOrder/<field>`.

use keyward_resource::ApiStatus;
use serde_json::{Map, Value};

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

/// How a list is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    /// It is not.
    Replaced,
    /// Values are added that are not there yet.
    Primitive,
    /// Items of the same key are merged.
    Keyed(&'static str),
}

/// The lists of Secrets and Namespaces that are merged, by the field that they stand in.
fn list(parent: &str, field: &str) -> List {
    match (parent, field) {
        ("metadata", "finalizers") => List::Primitive,
        ("metadata", "ownerReferences") => List::Keyed("uid"),
        ("status", "conditions") => List::Keyed("type"),
        _ => List::Replaced,
    }
}

/// Applies a strategic merge patch to a Secret or a Namespace.
pub(crate) fn strategic_merge(target: &Value, patch: &Value) -> Result<Value, ApiStatus> {
    match (target, patch) {
        (Value::Object(target), Value::Object(patch)) => merge_map("", target, patch).map(Value::Object),
        _ => Err(ApiStatus::bad_request("a strategic merge patch is an object")),
    }
}

fn bad(what: &str) -> ApiStatus {
    ApiStatus::bad_request(format!("the strategic merge patch cannot be read: {what}"))
}

/// `name` is the field that the map stands in.
fn merge_map(
    name: &str,
    target: &Map<String, Value>,
    patch: &Map<String, Value>,
) -> Result<Map<String, Value>, ApiStatus> {
    match patch.get(PATCH).map(|directive| directive.as_str().unwrap_or("?")) {
        None | Some("merge") => {}
        Some("replace") => {
            let rest = patch.iter().filter(|(key, _)| *key != PATCH);
            return Ok(rest.map(|(key, value)| (key.clone(), value.clone())).collect());
        }
        Some("delete") => return Ok(Map::new()),
        Some(_) => return Err(bad("$patch is none of replace, delete and merge")),
    }
    let mut merged = target.clone();
    if let Some(retained) = patch.get(RETAIN) {
        let retained = retained.as_array().ok_or_else(|| bad("$retainKeys must be a list"))?;
        let is_retained = |key: &str| retained.iter().any(|one| one == key);
        if patch.iter().any(|(key, value)| !key.starts_with('$') && !value.is_null() && !is_retained(key)) {
            return Err(bad("a field is set that $retainKeys does not name"));
        }
        merged.retain(|key, _| is_retained(key));
    }
    for (key, value) in patch {
        if let Some(field) = key.strip_prefix(DELETE_FROM) {
            let gone = value.as_array().ok_or_else(|| bad("$deleteFromPrimitiveList must be a list"))?;
            if let Some(Value::Array(items)) = merged.get_mut(field) {
                items.retain(|item| !gone.contains(item));
            }
        }
    }
    for (key, value) in patch.iter().filter(|(key, _)| !key.starts_with('$')) {
        if value.is_null() {
            merged.remove(key);
            continue;
        }
        let value = match (merged.get(key), value) {
            (Some(Value::Object(target)), Value::Object(patch)) => {
                Value::Object(merge_map(key, target, patch)?)
            }
            // Nothing there: what the directives in it would act upon is missing.
            (_, Value::Object(patch)) => Value::Object(merge_map(key, &Map::new(), patch)?),
            (target, Value::Array(patch)) => {
                let target = target.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                Value::Array(merge_list(list(name, key), key, target, patch)?)
            }
            (_, value) => value.clone(),
        };
        merged.insert(key.clone(), value);
    }
    for (key, order) in patch {
        let Some(field) = key.strip_prefix(ORDER) else {
            if key.starts_with('$') && key != PATCH && key != RETAIN && !key.starts_with(DELETE_FROM) {
                return Err(bad("an unknown directive"));
            }
            continue;
        };
        let order = order.as_array().ok_or_else(|| bad("$setElementOrder must be a list"))?;
        if let Some(Value::Array(items)) = merged.get_mut(field) {
            sort(list(name, field), items, order);
        }
    }
    Ok(merged)
}

fn merge_list(list: List, name: &str, target: &[Value], patch: &[Value]) -> Result<Vec<Value>, ApiStatus> {
    let key = match list {
        List::Replaced => return Ok(patch.to_vec()),
        List::Primitive => {
            let mut merged = target.to_vec();
            for item in patch {
                if !merged.contains(item) {
                    merged.push(item.clone());
                }
            }
            return Ok(merged);
        }
        List::Keyed(key) => key,
    };
    let directive = |item: &Value| item.get(PATCH).and_then(Value::as_str).map(str::to_owned);
    if patch.iter().any(|item| directive(item).as_deref() == Some("replace")) {
        let rest = patch.iter().filter(|item| item.get(PATCH).is_none());
        return Ok(rest.cloned().collect());
    }
    let mut merged = target.to_vec();
    for item in patch {
        let fields = item.as_object().ok_or_else(|| bad("an item of a list with keys is no object"))?;
        let id = fields.get(key).ok_or_else(|| bad("an item of a list with keys has no key"))?;
        let at = merged.iter().position(|other| other.get(key) == Some(id));
        match (directive(item).as_deref(), at) {
            (Some("delete"), Some(at)) => {
                merged.remove(at);
            }
            (Some("delete"), None) => {}
            (None | Some("merge"), Some(at)) => {
                let empty = Map::new();
                let target = merged.get(at).and_then(Value::as_object).unwrap_or(&empty);
                let item = Value::Object(merge_map(name, target, fields)?);
                if let Some(there) = merged.get_mut(at) {
                    *there = item;
                }
            }
            (None | Some("merge"), None) => {
                merged.push(Value::Object(merge_map(name, &Map::new(), fields)?));
            }
            (Some(_), _) => return Err(bad("$patch is none of replace, delete and merge")),
        }
    }
    Ok(merged)
}

/// Brings the items that `order` names into its order; the others keep their places.
fn sort(list: List, items: &mut [Value], order: &[Value]) {
    let rank = |item: &Value| {
        order.iter().position(|wanted| match list {
            List::Keyed(key) => wanted.get(key).is_some() && wanted.get(key) == item.get(key),
            List::Primitive | List::Replaced => wanted == item,
        })
    };
    let mut named: Vec<(usize, Value)> =
        items.iter().filter_map(|item| Some((rank(item)?, item.clone()))).collect();
    named.sort_by_key(|(rank, _)| *rank);
    let mut named = named.into_iter();
    for item in items {
        if rank(item).is_some()
            && let Some((_, next)) = named.next()
        {
            *item = next;
        }
    }
}
