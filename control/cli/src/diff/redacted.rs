//! Two versions of a Secret without what they hold, of which one can still see what differs.

use keyward_admin::redact::{self, REDACTED};
use serde_json::{Map, Value};

#[cfg(test)]
mod tests;

/// Takes the contents out of both, and marks those that are not the same.
pub(super) fn redacted(before: Option<Value>, after: Value) -> (Option<Value>, Value) {
    let (mut hidden_before, mut hidden_after) = (before.clone(), after.clone());
    redact::object(&mut hidden_after);
    if let Some(hidden_before) = &mut hidden_before {
        redact::object(hidden_before);
    }
    if let (Some(before), Some(hidden_before)) = (&before, &mut hidden_before) {
        mark(before, &after, hidden_before, &mut hidden_after);
    }
    (hidden_before, hidden_after)
}

/// Marks everywhere what was hidden on both sides and differs.
fn mark(before: &Value, after: &Value, hidden_before: &mut Value, hidden_after: &mut Value) {
    if let (Value::Object(hidden_before), Value::Object(hidden_after)) =
        (&mut *hidden_before, &mut *hidden_after)
    {
        return mark_entries(before, after, hidden_before, hidden_after);
    }
    if *hidden_before == REDACTED && *hidden_after == REDACTED && before != after {
        *hidden_before = format!("{REDACTED} (before)").into();
        *hidden_after = format!("{REDACTED} (after)").into();
    }
}

fn mark_entries(
    before: &Value,
    after: &Value,
    hidden_before: &mut Map<String, Value>,
    hidden_after: &mut Map<String, Value>,
) {
    for (name, hidden_before) in hidden_before {
        let Some(hidden_after) = hidden_after.get_mut(name) else { continue };
        mark(&before[name.as_str()], &after[name.as_str()], hidden_before, hidden_after);
    }
}
