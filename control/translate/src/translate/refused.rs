//! Versions that do not go together with others, and are not used therefore.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resource::{ObjectKey, Reports};

/// What is not used, and why. It only grows while one input is translated.
#[derive(Debug, Default)]
pub(super) struct Refused {
    current: BTreeMap<ObjectKey, Vec<String>>,
    last_good: BTreeSet<ObjectKey>,
    /// What there is to say of those that are used all the same.
    warnings: BTreeSet<(ObjectKey, String)>,
}

// === impl Refused ===

impl Refused {
    /// The version of an object that is used is not to be.
    pub(super) fn refuse(&mut self, object: ObjectKey, is_last_good: bool, reason: String) {
        if is_last_good {
            self.last_good.insert(object);
            return;
        }
        let reasons = self.current.entry(object).or_default();
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }

    /// Says something about an object that goes on.
    pub(super) fn warn(&mut self, object: ObjectKey, warning: String) {
        self.warnings.insert((object, warning));
    }

    /// What is wrong with the current version of an object, if it is not to be used.
    pub(super) fn current(&self, object: &ObjectKey) -> Option<&[String]> {
        self.current.get(object).map(Vec::as_slice)
    }

    /// Whether the last good version of an object is not to be used either.
    pub(super) fn is_last_good(&self, object: &ObjectKey) -> bool {
        self.last_good.contains(object)
    }

    /// Whether somebody else was found.
    pub(super) fn lacks(&self, found: &Self) -> bool {
        found.current.keys().any(|object| !self.current.contains_key(object))
            || !found.last_good.is_subset(&self.last_good)
    }

    /// Takes over what else was found.
    pub(super) fn add(&mut self, found: Self) {
        for (object, reasons) in found.current {
            self.current.entry(object).or_insert(reasons);
        }
        self.last_good.extend(found.last_good);
        self.warnings.extend(found.warnings);
    }

    /// Adds what there is to say of those that are used.
    pub(super) fn report(&self, reports: &mut Reports) {
        for (object, warning) in &self.warnings {
            reports.warn(object.clone(), warning.clone());
        }
    }
}
