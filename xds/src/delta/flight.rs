//! A response under way.

use crate::{gate::Age, resource::Resource};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// The content of one response.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) resources: Vec<Resource>,
    pub(super) removed: Vec<Arc<str>>,
}

/// A response that the client has not answered yet.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) nonce: String,
    pub(super) version: Arc<str>,
    pub(super) age: Age,
    pub(super) resources: Vec<Resource>,
    pub(super) removed: Vec<Arc<str>>,
    /// What the client will hold of each name if it accepts.
    pub(super) outcome: BTreeMap<Arc<str>, Option<Arc<str>>>,
    /// Names in it that were sent as the answer to a subscription.
    pub(super) answers: BTreeSet<Arc<str>>,
    /// Names in it that were sent because what they belong to has changed.
    pub(super) rewarms: BTreeSet<Arc<str>>,
}

// === impl Flight ===

impl Flight {
    pub(super) fn new(
        nonce: String,
        version: Arc<str>,
        batch: Batch,
        answers: BTreeSet<Arc<str>>,
        rewarms: BTreeSet<Arc<str>>,
    ) -> Self {
        let Batch { resources, removed } = batch;
        let outcome = resources
            .iter()
            .map(|resource| (resource.name().clone(), Some(resource.version().clone())))
            .chain(removed.iter().map(|name| (name.clone(), None)))
            .collect();
        Self { nonce, version, age: Age::default(), resources, removed, outcome, answers, rewarms }
    }
}
