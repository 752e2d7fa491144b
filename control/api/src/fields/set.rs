//! Sets of fields: a tree of steps, some of whose ends and nodes are members.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::element::{Element, Place, parts};

/// A set of fields. Every node is a member or leads to one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Set {
    /// The field itself is a member: `.`.
    pub(crate) member: bool,
    pub(crate) children: BTreeMap<Element, Set>,
}

// === impl Set ===

impl Set {
    /// One field and nothing below it.
    pub(crate) fn leaf() -> Self {
        Self { member: true, children: BTreeMap::new() }
    }

    /// The fields that a value says something about: whatever has no parts.
    pub(crate) fn of(place: Place, value: &Value) -> Self {
        match parts(place, value) {
            None => Self::leaf(),
            Some(parts) => {
                let children =
                    parts.into_iter().map(|(element, place, value)| (element, Self::of(place, value)));
                Self { member: false, children: children.collect() }
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.add(other);
        all
    }

    /// Takes in the members of another set.
    pub(crate) fn add(&mut self, other: &Self) {
        self.member |= other.member;
        for (element, child) in &other.children {
            self.children.entry(element.clone()).or_default().add(child);
        }
    }

    /// Takes in what is found under a step, if anything is.
    pub(crate) fn put(&mut self, element: Element, child: Self) {
        if !child.is_empty() {
            self.children.insert(element, child);
        }
    }

    /// The members that are not in another set.
    pub(crate) fn difference(&self, other: &Self) -> Self {
        let mut left = Self { member: self.member && !other.member, children: BTreeMap::new() };
        for (element, child) in &self.children {
            let child = match other.children.get(element) {
                Some(other) => child.difference(other),
                None => child.clone(),
            };
            left.put(element.clone(), child);
        }
        left
    }

    /// The members that are in another set too.
    pub(crate) fn intersection(&self, other: &Self) -> Self {
        let mut both = Self { member: self.member && other.member, children: BTreeMap::new() };
        for (element, child) in &self.children {
            if let Some(other) = other.children.get(element) {
                both.put(element.clone(), child.intersection(other));
            }
        }
        both
    }

    /// Reads `fieldsV1`; none when it is not well formed.
    pub(crate) fn decode(fields: &Value) -> Option<Self> {
        let map = fields.as_object()?;
        let mut set = Self::default();
        for (key, value) in map {
            if key == "." {
                set.member = true;
                continue;
            }
            let child = Self::decode(value)?;
            // An end is a member without saying so.
            let child = if child.is_empty() { Self::leaf() } else { child };
            set.children.insert(Element::parse(key)?, child);
        }
        Some(set)
    }

    /// Writes `fieldsV1`.
    pub(crate) fn encode(&self) -> Value {
        let mut map = Map::new();
        if self.member && !self.children.is_empty() {
            map.insert(".".to_owned(), json!({}));
        }
        for (element, child) in &self.children {
            map.insert(element.encode(), child.encode());
        }
        Value::Object(map)
    }

    /// The members as messages name them: `.spec.replicas`.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        self.collect_paths("", &mut paths);
        paths
    }

    fn collect_paths(&self, at: &str, paths: &mut Vec<String>) {
        if self.member {
            paths.push(at.to_owned());
        }
        for (element, child) in &self.children {
            child.collect_paths(&format!("{at}{element}"), paths);
        }
    }
}
