//! Listeners and clusters: everything in each response, and what is missing is gone.

use super::{
    flight::{Batch, Set, Step},
    state::TypeState,
};
use crate::{
    gate::{Load, Permit},
    memory::{FullSet, Memory},
    snapshot::{Snapshot, set_version},
};

fn same(left: &Set, right: &Set) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|((a, x), (b, y))| a == b && x.version() == y.version())
}

// === impl TypeState ===

impl TypeState {
    /// Finds out what a client means that says it has a version from an earlier stream.
    ///
    /// Only the old wildcard, an empty list, spares the answer. A name or an explicit wildcard may be
    /// new with this stream, and the protocol demands that what is new is answered.
    pub(super) fn resolve_claim(&mut self, snapshot: &Snapshot, memory: &mut Memory) {
        let Some(claim) = self.claim.take() else { return };
        let known = memory.full_set(&self.type_url, &claim).map(|known| known.resources.clone());
        let present = || self.target(snapshot, memory).filter(|set| set_version(set.values()) == claim);
        let Some(set) = known.or_else(present) else {
            self.holds_unknown = true;
            return;
        };
        // Blame by exclusion may have hit some of it; the client's own word counts for more.
        for resource in set.values() {
            memory.absolve(resource);
        }
        memory.set_accepted(&self.type_url, FullSet { version: claim, resources: set.clone() });
        self.held = set.into_iter().filter(|(name, _)| self.subscription.includes(name)).collect();
        if self.legacy {
            self.owes_answer = false;
        }
    }

    /// The full set that the client should hold. Nothing when it cannot be known: the client
    /// refuses a version, and holds an older one of which this server has no copy. Leaving it out
    /// would delete what the client runs on.
    fn target(&self, snapshot: &Snapshot, memory: &Memory) -> Option<Set> {
        let mut target = Set::new();
        for resource in snapshot.resources(&self.type_url) {
            if !self.subscription.includes(resource.name()) {
                continue;
            }
            let resource = match (memory.is_rejected(resource), self.held.get(resource.name())) {
                (false, _) => resource,
                (true, Some(good)) => good,
                (true, None) if self.holds_unknown => return None,
                (true, None) => continue,
            };
            target.insert(resource.name().clone(), resource.clone());
        }
        Some(target)
    }

    pub(super) fn step_full(&self, snapshot: &Snapshot, memory: &Memory, permit: Permit) -> Step {
        let mut load = Load { flight: self.awaits_answer(), ..Load::none(self.tier) };
        let Some(target) = self.target(snapshot, memory) else {
            return Step { load, batch: None, deferred: None };
        };
        let coming = self.flights.last().map_or(&self.held, |flight| &flight.resources);
        let coming = coming.iter().filter(|(name, _)| self.subscription.includes(name));
        let coming: Set = coming.map(|(name, resource)| (name.clone(), resource.clone())).collect();
        let mut now = target.clone();
        if self.tier.defers_removal() {
            for (name, resource) in &coming {
                let is_refused = memory.is_rejected(resource);
                if let Some(kept) = if is_refused { self.held.get(name) } else { Some(resource) } {
                    now.entry(name.clone()).or_insert_with(|| kept.clone());
                }
            }
        }
        let removes = !same(&now, &target);
        let now = self.full_batch(now);
        let then = removes.then(|| self.full_batch(target));
        let is_refused = |batch: &Batch| self.refused.as_ref() == Some(&batch.version);

        let rewarms = self.must_rewarm();
        load.updates = self.owes_answer || rewarms || (!same(&now.resources, &coming) && !is_refused(&now));
        load.removals = then.as_ref().is_some_and(|then| !is_refused(then));
        let may_send = match permit {
            Permit::Everything => true,
            Permit::Answers => self.owes_answer,
            Permit::Nothing => false,
        };
        let sends = load.updates && may_send && !load.flight;
        if sends {
            load.updates = false;
            load.flight = true;
        }
        Step { load, batch: sends.then_some(now), deferred: then.filter(|_| load.removals) }
    }

    fn full_batch(&self, resources: Set) -> Batch {
        Batch {
            version: set_version(resources.values()),
            news: resources.values().filter(|r| self.is_news(r)).cloned().collect(),
            removed: self.held.keys().filter(|name| !resources.contains_key(*name)).cloned().collect(),
            resources,
        }
    }
}
