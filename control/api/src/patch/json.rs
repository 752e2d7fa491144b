//! JSON patch, RFC 6902.

use keyward_resource::ApiStatus;
use serde_json::Value;

/// More operations than this are refused, as Kubernetes does.
const MAX_OPERATIONS: usize = 10_000;

/// All that is copied within the object by one patch, in bytes of JSON, about: a copy of a copy doubles, so
/// a short patch could ask for any size. As the largest body.
const MAX_COPIED: usize = crate::request::MAX_BODY;
/// How deep an object may be, as that of a body.
const MAX_DEPTH: usize = 64;

/// Why one operation cannot be carried out.
type Refusal = &'static str;

/// Applies a JSON patch: all of it, or nothing.
pub(crate) fn json_patch(target: &Value, patch: &Value) -> Result<Value, ApiStatus> {
    let Value::Array(operations) = patch else {
        return Err(ApiStatus::bad_request("a JSON patch is a list of operations"));
    };
    if operations.len() > MAX_OPERATIONS {
        return Err(ApiStatus::bad_request(format!("a JSON patch has at most {MAX_OPERATIONS} operations")));
    }
    let mut patched = target.clone();
    let mut copied_bytes = 0_usize;
    for (index, operation) in operations.iter().enumerate() {
        let text = |key: &str| operation.get(key).and_then(Value::as_str);
        let (op, path) = (text("op").unwrap_or("?"), text("path"));
        let pointer = path.and_then(pointer);
        let Some(pointer) = pointer else {
            return Err(ApiStatus::bad_request(format!("operation {index} of the patch needs a path")));
        };
        let from = || text("from").and_then(self::pointer).ok_or("it needs a from");
        let value = || operation.get("value").cloned().ok_or("it needs a value");
        let done = match op {
            "add" => value().and_then(|value| {
                check_depth(&pointer, &value)?;
                add(&mut patched, &pointer, value)
            }),
            "remove" => remove(&mut patched, &pointer).map(drop),
            "replace" => value().and_then(|value| {
                check_depth(&pointer, &value)?;
                replace(&mut patched, &pointer, value)
            }),
            "move" => from().and_then(|from| {
                if pointer.len() > from.len() && pointer.starts_with(&from) {
                    return Err("a value cannot be moved into itself");
                }
                let moved = remove(&mut patched, &from)?;
                check_depth(&pointer, &moved)?;
                add(&mut patched, &pointer, moved)
            }),
            "copy" => from().and_then(|from| {
                let copied = get(&patched, &from).ok_or("there is nothing at from")?;
                check_depth(&pointer, copied)?;
                copied_bytes = copied_bytes.saturating_add(size(copied));
                if copied_bytes > MAX_COPIED {
                    return Err("it copies too much");
                }
                let copied = copied.clone();
                add(&mut patched, &pointer, copied)
            }),
            "test" => value().and_then(|value| match get(&patched, &pointer) {
                Some(found) if *found == value => Ok(()),
                _ => Err("the test failed"),
            }),
            _ => {
                let message = format!(
                    "operation {index} of the patch is none of add, remove, replace, move, copy and test"
                );
                return Err(ApiStatus::bad_request(message));
            }
        };
        if let Err(why) = done {
            let path = path.unwrap_or_default();
            let message =
                format!("the patch cannot be carried out: operation {index} ({op} at {path:?}): {why}");
            return Err(ApiStatus::unprocessable(message));
        }
    }
    Ok(patched)
}

/// Whether the object stays as flat as a body has to be with this value there.
fn check_depth(pointer: &[String], value: &Value) -> Result<(), Refusal> {
    if pointer.len().saturating_add(depth(value)) > MAX_DEPTH {
        return Err("the object would be nested too deep");
    }
    Ok(())
}

/// How deep a value is. No value here is deeper than a body may be, see [`check_depth`].
fn depth(value: &Value) -> usize {
    let inner = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(map) => map.values().map(depth).max(),
        _ => return 0,
    };
    inner.unwrap_or(0) + 1
}

/// What a value takes as JSON, about.
fn size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(|item| size(item) + 1).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(key, item)| key.len() + size(item) + 4).sum::<usize>() + 2,
        _ => 8,
    }
}

/// Reads a pointer, RFC 6901.
fn pointer(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let steps = text.strip_prefix('/')?.split('/');
    Some(steps.map(|step| step.replace("~1", "/").replace("~0", "~")).collect())
}

/// Reads a place in a list that has `len` items.
fn index(step: &str, len: usize) -> Option<usize> {
    let canonical = step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
    step.parse().ok().filter(|index| canonical && *index < len)
}

fn get<'a>(value: &'a Value, pointer: &[String]) -> Option<&'a Value> {
    pointer.iter().try_fold(value, |value, step| match value {
        Value::Object(map) => map.get(step),
        Value::Array(items) => items.get(index(step, items.len())?),
        _ => None,
    })
}

fn get_mut<'a>(value: &'a mut Value, pointer: &[String]) -> Option<&'a mut Value> {
    pointer.iter().try_fold(value, |value, step| match value {
        Value::Object(map) => map.get_mut(step),
        Value::Array(items) => {
            let index = index(step, items.len())?;
            items.get_mut(index)
        }
        _ => None,
    })
}

fn add(target: &mut Value, pointer: &[String], value: Value) -> Result<(), Refusal> {
    let Some((last, parents)) = pointer.split_last() else {
        *target = value;
        return Ok(());
    };
    match get_mut(target, parents).ok_or("there is nothing to add to")? {
        Value::Object(map) => {
            map.insert(last.clone(), value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => {
            let at = index(last, items.len() + 1).ok_or("there is no such place in the list")?;
            items.insert(at, value);
        }
        _ => return Err("only objects and lists can be added to"),
    }
    Ok(())
}

fn remove(target: &mut Value, pointer: &[String]) -> Result<Value, Refusal> {
    let (last, parents) = pointer.split_last().ok_or("the whole object cannot be removed")?;
    match get_mut(target, parents).ok_or("there is nothing there")? {
        Value::Object(map) => map.remove(last).ok_or("there is nothing there"),
        Value::Array(items) => {
            let at = index(last, items.len()).ok_or("there is no such place in the list")?;
            Ok(items.remove(at))
        }
        _ => Err("there is nothing there"),
    }
}

fn replace(target: &mut Value, pointer: &[String], value: Value) -> Result<(), Refusal> {
    *get_mut(target, pointer).ok_or("there is nothing there")? = value;
    Ok(())
}
