//! Merges what somebody applies into an object, and removes what they do not apply any more.

use serde_json::Value;

use super::element::{Element, Place, parts};
use super::set::Set;

/// The object with everything that is applied.
pub(crate) fn merge(live: &Value, applied: &Value) -> Value {
    merge_at(Place::Root, live, applied)
}

fn merge_at(place: Place, live: &Value, applied: &Value) -> Value {
    match (place, live, applied) {
        (Place::Atom, ..) => applied.clone(),
        (_, Value::Object(live), Value::Object(applied)) => {
            let mut merged = live.clone();
            for (key, value) in applied {
                let value = match live.get(key) {
                    Some(live) => merge_at(place.field(key), live, value),
                    None => value.clone(),
                };
                merged.insert(key.clone(), value);
            }
            Value::Object(merged)
        }
        (Place::Finalizers | Place::Owners, Value::Array(_), Value::Array(_)) => {
            let applied = parts(place, applied).unwrap_or_default();
            let live = parts(place, live).unwrap_or_default();
            let of_applied = |element: &Element| applied.iter().find(|(other, ..)| other == element);
            let kept = live.iter().map(|(element, _, item)| of_applied(element).map_or(*item, |part| part.2));
            let new = applied.iter().filter(|(element, ..)| !live.iter().any(|(other, ..)| other == element));
            Value::Array(kept.chain(new.map(|part| part.2)).cloned().collect())
        }
        _ => applied.clone(),
    }
}

/// The object without what was applied before and belongs to nobody any more.
pub(crate) fn prune(object: &mut Value, before: &Set, owned: &Set) {
    prune_at(Place::Root, object, before, owned);
}

fn prune_at(place: Place, value: &mut Value, before: &Set, owned: &Set) {
    for (element, before) in &before.children {
        match (element, &mut *value) {
            (Element::Field(key), Value::Object(map)) => {
                let Some(part) = map.get_mut(key) else { continue };
                if !prune_part(place.field(key), part, before, owned.children.get(element)) {
                    map.remove(key);
                }
            }
            (Element::Key(_) | Element::Value(_), Value::Array(_)) => {
                let found = parts(place, value).unwrap_or_default();
                let at = found.iter().position(|(other, ..)| other == element);
                let Some(at) = at.filter(|_| !owned.children.contains_key(element)) else { continue };
                if let Value::Array(items) = value {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
}

/// Whether the part stays.
fn prune_part(place: Place, part: &mut Value, before: &Set, owned: Option<&Set>) -> bool {
    if let Some(owned) = owned {
        prune_at(place, part, before, owned);
        return true;
    }
    if parts(place, part).is_none() {
        return false;
    }
    prune_at(place, part, before, &Set::default());
    // What nobody says anything about stays, and keeps what it stands in.
    parts(place, part).is_some()
}
