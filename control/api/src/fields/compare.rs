//! What is different between two states of an object.

use std::collections::BTreeMap;

use serde_json::Value;

use super::element::{Element, Place, parts};
use super::set::Set;

/// The fields that differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Comparison {
    pub(crate) added: Set,
    pub(crate) modified: Set,
    pub(crate) removed: Set,
    /// Those among the removed in whose place stands something without parts.
    pub(crate) replaced: Set,
}

/// Compares two states of an object.
pub(crate) fn compare(before: &Value, after: &Value) -> Comparison {
    compare_at(Place::Root, before, after)
}

fn compare_at(place: Place, before: &Value, after: &Value) -> Comparison {
    let mut comparison = Comparison::default();
    if before == after {
        return comparison;
    }
    let (before_parts, after_parts) = (parts(place, before), parts(place, after));
    let (before_parts, after_parts) = match (before_parts, after_parts) {
        (Some(before), Some(after)) => (before, after),
        // A map that was or becomes empty: only its parts come or go.
        (Some(before), None) if is_hollow(after) => (before, Vec::new()),
        (None, Some(after)) if is_hollow(before) => (Vec::new(), after),
        (before, after) => {
            comparison.modified = Set::leaf();
            for (element, place, value) in before.unwrap_or_default() {
                comparison.removed.put(element.clone(), whole(place, value));
                comparison.replaced.put(element, whole(place, value));
            }
            for (element, place, value) in after.unwrap_or_default() {
                comparison.added.put(element, whole(place, value));
            }
            return comparison;
        }
    };
    let mut after: BTreeMap<Element, (Place, &Value)> =
        after_parts.into_iter().map(|(element, place, value)| (element, (place, value))).collect();
    for (element, place, value) in before_parts {
        match after.remove(&element) {
            Some((_, after)) => comparison.put(&element, compare_at(place, value, after)),
            None => comparison.removed.put(element, whole(place, value)),
        }
    }
    for (element, (place, value)) in after {
        comparison.added.put(element, whole(place, value));
    }
    comparison
}

fn is_hollow(value: &Value) -> bool {
    value.as_object().is_some_and(serde_json::Map::is_empty)
}

/// Everything of a value that has come or gone as a whole, itself included.
fn whole(place: Place, value: &Value) -> Set {
    let mut set = Set::of(place, value);
    // What is in the metadata of an object belongs to somebody; that it has metadata does not.
    set.member = place != Place::Metadata;
    for (element, place, value) in parts(place, value).unwrap_or_default() {
        set.children.insert(element, whole(place, value));
    }
    set
}

// === impl Comparison ===

impl Comparison {
    fn put(&mut self, element: &Element, part: Self) {
        self.added.put(element.clone(), part.added);
        self.modified.put(element.clone(), part.modified);
        self.removed.put(element.clone(), part.removed);
        self.replaced.put(element.clone(), part.replaced);
    }

    /// The fields that got a value.
    pub(crate) fn set(&self) -> Set {
        self.added.union(&self.modified)
    }
}
