//! Two changes of one object, put together.

use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// What both have changed. Lists count as a whole: two changes of one list cannot be told apart.
///
/// # Errors
///
/// The fields that both have changed, each in another way.
pub(super) fn merge(base: &Value, mine: Value, theirs: Value) -> Result<Value, Vec<String>> {
    let mut conflicts = Vec::new();
    let merged = field("", Some(base), Some(mine), Some(theirs), &mut conflicts);
    if conflicts.is_empty() { Ok(merged.unwrap_or_default()) } else { Err(conflicts) }
}

/// A field of the result; none where it is gone.
fn field(
    path: &str,
    base: Option<&Value>,
    mine: Option<Value>,
    theirs: Option<Value>,
    conflicts: &mut Vec<String>,
) -> Option<Value> {
    if mine == theirs || theirs.as_ref() == base {
        return mine;
    }
    if mine.as_ref() == base {
        return theirs;
    }
    match (mine, theirs) {
        (Some(Value::Object(mine)), Some(Value::Object(theirs))) => {
            Some(entries(path, base, mine, theirs, conflicts).into())
        }
        (mine, _) => {
            conflicts.push(path.to_owned());
            mine
        }
    }
}

fn entries(
    path: &str,
    base: Option<&Value>,
    mut mine: Map<String, Value>,
    mut theirs: Map<String, Value>,
    conflicts: &mut Vec<String>,
) -> Map<String, Value> {
    let mut names: Vec<String> = mine.keys().chain(theirs.keys()).cloned().collect();
    names.sort_unstable();
    names.dedup();
    let mut merged = Map::new();
    for name in names {
        let inner = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let base = base.and_then(|base| base.get(&name));
        let value = field(&inner, base, mine.remove(&name), theirs.remove(&name), conflicts);
        merged.extend(value.map(|value| (name, value)));
    }
    merged
}
