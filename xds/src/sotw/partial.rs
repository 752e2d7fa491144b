//! All types but listeners and clusters: what changed in each response, and nothing goes.

use super::{
    flight::{Batch, Step},
    state::TypeState,
};
use crate::{
    gate::{Load, Permit},
    memory::Memory,
    resource::Resource,
    snapshot::Snapshot,
    tier::Tier,
};

/// The difference between what a client should hold and what it does.
#[derive(Default)]
struct Plan {
    answers: Vec<Resource>,
    updates: Vec<Resource>,
}

// === impl TypeState ===

impl TypeState {
    pub(super) fn step_partial(&mut self, snapshot: &Snapshot, memory: &Memory, permit: Permit) -> Step {
        // This protocol cannot tell that a name does not exist. When it comes to exist later, that
        // is a change like any other and has to wait like one.
        let type_url = &self.type_url;
        self.unanswered.retain(|name| {
            snapshot.get(type_url, name).is_some_and(|resource| !memory.is_rejected(resource))
        });
        let mut load = Load { flight: self.awaits_answer(), ..Load::none(self.tier) };
        let Plan { answers, mut updates } = self.plan(snapshot, memory);
        if load.flight || permit == Permit::Nothing {
            load.updates = !(answers.is_empty() && updates.is_empty());
            return Step { load, batch: None, deferred: None };
        }
        let mut resources = answers;
        if permit == Permit::Everything {
            resources.append(&mut updates);
        }
        if self.single && resources.len() > 1 {
            updates.append(&mut resources.split_off(1));
        }
        load.updates = !updates.is_empty();
        load.flight = !resources.is_empty();
        let batch = load.flight.then(|| Batch {
            version: snapshot.type_version(&self.type_url),
            resources: resources.iter().map(|r| (r.name().clone(), r.clone())).collect(),
            news: resources.into_iter().filter(|r| self.is_news(r)).collect(),
            removed: Vec::new(),
        });
        Step { load, batch, deferred: None }
    }

    fn plan(&self, snapshot: &Snapshot, memory: &Memory) -> Plan {
        let mut plan = Plan::default();
        if self.subscription.wildcard {
            for resource in snapshot.resources(&self.type_url) {
                self.consider(resource, memory, &mut plan);
            }
        } else {
            for name in &self.subscription.names {
                if let Some(resource) = snapshot.get(&self.type_url, name) {
                    self.consider(resource, memory, &mut plan);
                }
            }
        }
        plan
    }

    fn consider(&self, resource: &Resource, memory: &Memory, plan: &mut Plan) {
        if memory.is_rejected(resource) {
            return;
        }
        let name = resource.name();
        let coming = self.flights.iter().rev().find_map(|flight| flight.resources.get(name));
        let has = coming.or_else(|| self.held.get(name)).map(Resource::version);
        let differs = has != Some(resource.version());
        let rewarms = self.must_rewarm_name(name);
        // A cluster may be waiting for it, and with the cluster's ACK everything else.
        let is_awaited = self.tier == Tier::Extensions && (has.is_none() || rewarms);
        if self.unanswered.contains(name) || (differs && self.owes_answer) || is_awaited {
            plan.answers.push(resource.clone());
        } else if differs || rewarms {
            plan.updates.push(resource.clone());
        }
    }
}
