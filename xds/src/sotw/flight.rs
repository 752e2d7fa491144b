//! A response under way, and how one comes about.

use crate::{
    event::Delivery,
    gate::{Age, Load},
    resource::Resource,
    tier::Tier,
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

/// Resources by name.
pub(super) type Set = BTreeMap<Arc<str>, Resource>;

/// The content of one response.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) version: Arc<str>,
    pub(super) resources: Set,
    /// What is new in it to the client, as far as known.
    pub(super) news: Vec<Resource>,
    pub(super) removed: Vec<Arc<str>>,
}

/// A response that the client has not answered yet.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) nonce: String,
    pub(super) age: Age,
    pub(super) delivery: Delivery,
    pub(super) resources: Set,
    /// It answers a new subscription.
    pub(super) is_answer: bool,
    /// Names in it that were sent because what they belong to has changed.
    pub(super) rewarms: BTreeSet<Arc<str>>,
}

/// What one type does in one round.
pub(super) struct Step {
    pub(super) load: Load,
    pub(super) batch: Option<Batch>,
    /// A set with removals, which has to wait until everything else has settled.
    pub(super) deferred: Option<Batch>,
}

// === impl Step ===

impl Step {
    pub(super) fn none(tier: Tier) -> Self {
        Self { load: Load::none(tier), batch: None, deferred: None }
    }
}
