//! One type on one state-of-the-world stream: what is asked for, what is held, what is under way.

use crate::{
    blame::blamed,
    event::Delivery,
    gate::{Load, Permit},
    memory::{FullSet, Memory},
    resource::Resource,
    snapshot::{Snapshot, set_version},
    status::TypeStatus,
    subscription::{Subscription, has_legacy_wildcard},
    tier::Tier,
    type_url::{CLUSTER, LISTENER, WILDCARD},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

type Set = BTreeMap<Arc<str>, Resource>;

#[derive(Debug)]
pub(super) struct TypeState {
    pub(super) type_url: Arc<str>,
    pub(super) tier: Tier,
    /// Responses carry everything, and what is missing is gone.
    full: bool,
    /// Each response carries one resource only.
    single: bool,
    subscription: Subscription,
    /// The first name ends the time in which an empty list means everything.
    legacy: bool,
    /// What the client has accepted, of names that it is interested in.
    held: Set,
    /// Names that must be answered whatever the client holds.
    unanswered: BTreeSet<Arc<str>>,
    /// The subscription must be answered even when there is nothing to send.
    owes_answer: bool,
    rewarm: BTreeSet<Arc<str>>,
    /// The version that the client says it has from an earlier stream, until it is looked into.
    claim: Option<Arc<str>>,
    /// The client has a full set from before that this server knows nothing about.
    holds_unknown: bool,
    has_accepted: bool,
    /// A full set that was refused with nobody to blame. Sending it again would go on for ever.
    refused: Option<Arc<str>>,
    flight: Option<Flight>,
    last_nonce: Option<String>,
    /// Nothing is left to do until something changes.
    pub(super) clean: bool,
    /// Something is left to do that waits for its turn.
    pub(super) waiting: bool,
    sent: Option<Arc<str>>,
    acked: Option<Arc<str>>,
}

/// A response that the client has not answered yet.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) delivery: Delivery,
    /// What is new in it to the client, as far as known. Only these can be at fault.
    pub(super) news: Vec<Resource>,
    resources: Set,
    /// It answers a new subscription.
    is_answer: bool,
    /// Names in it that were sent because what they belong to has changed.
    rewarms: BTreeSet<Arc<str>>,
}

/// The content of one response.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) version: Arc<str>,
    pub(super) resources: Set,
    pub(super) news: Vec<Resource>,
    removed: Vec<Arc<str>>,
}

/// What one type does in one round.
pub(super) struct Step {
    pub(super) load: Load,
    pub(super) batch: Option<Batch>,
    /// A set with removals, which has to wait until everything else has settled.
    pub(super) deferred: Option<Batch>,
}

fn same(left: &Set, right: &Set) -> bool {
    left.len() == right.len()
        && left.iter().zip(right).all(|((a, x), (b, y))| a == b && x.version() == y.version())
}

// === impl TypeState ===

impl TypeState {
    pub(super) fn new(type_url: Arc<str>, single: bool) -> Self {
        Self {
            tier: Tier::of(&type_url),
            full: matches!(&*type_url, LISTENER | CLUSTER),
            legacy: has_legacy_wildcard(&type_url),
            type_url,
            single,
            subscription: Subscription::default(),
            held: Set::new(),
            unanswered: BTreeSet::new(),
            owes_answer: false,
            rewarm: BTreeSet::new(),
            claim: None,
            holds_unknown: false,
            has_accepted: false,
            refused: None,
            flight: None,
            last_nonce: None,
            clean: false,
            waiting: false,
            sent: None,
            acked: None,
        }
    }

    /// Takes the first request of the type on this stream.
    pub(super) fn open(&mut self, names: &[String], version: &str) {
        self.set_names(names);
        if !version.is_empty() {
            self.has_accepted = true;
            self.claim = self.full.then(|| version.into());
        }
    }

    /// The full set under way.
    pub(super) fn offer(&self) -> Option<FullSet> {
        let flight = self.flight.as_ref().filter(|_| self.full)?;
        Some(FullSet { version: flight.delivery.version.clone(), resources: flight.resources.clone() })
    }

    /// Whether a request with this nonce was written before our last response arrived.
    pub(super) fn is_stale(&self, nonce: &str) -> bool {
        self.last_nonce.as_deref().is_some_and(|last| last != nonce)
    }

    /// Takes the names of a stale request: what it leaves out was dropped by the client, and has to
    /// be sent again should the next request want it back. What it adds is left to that request.
    pub(super) fn narrow(&mut self, names: &[String]) {
        if self.legacy && names.is_empty() {
            return;
        }
        self.legacy = false;
        self.subscription.wildcard &= names.iter().any(|name| name == WILDCARD);
        self.subscription.names.retain(|ours| names.iter().any(|name| **name == **ours));
        self.drop_unwanted();
    }

    fn drop_unwanted(&mut self) {
        let Self { held, unanswered, rewarm, subscription, .. } = self;
        held.retain(|name, _| subscription.includes(name));
        unanswered.retain(|name| subscription.includes(name));
        rewarm.retain(|name| subscription.includes(name));
    }

    /// Replaces the subscription.
    pub(super) fn set_names(&mut self, names: &[String]) {
        if self.legacy && names.is_empty() {
            self.owes_answer |= !self.subscription.wildcard;
            self.clean &= self.subscription.wildcard;
            self.subscription.wildcard = true;
            return;
        }
        let wildcard = names.iter().any(|name| name == WILDCARD);
        let names: BTreeSet<Arc<str>> =
            names.iter().filter(|name| *name != WILDCARD).map(|name| name.as_str().into()).collect();
        if !self.legacy && wildcard == self.subscription.wildcard && names == self.subscription.names {
            return;
        }
        self.legacy = false;
        self.clean = false;
        let added: Vec<_> = names.difference(&self.subscription.names).cloned().collect();
        self.owes_answer |= wildcard && !self.subscription.wildcard;
        if self.full {
            self.owes_answer |= !added.is_empty();
        } else {
            for name in added {
                self.held.remove(&name);
                self.unanswered.insert(name);
            }
        }
        self.subscription = Subscription { wildcard, names };
        self.drop_unwanted();
        self.owes_answer &= wildcard || !self.subscription.names.is_empty();
    }

    /// Notes that `name` is to be sent again, if the client has it or has it coming.
    pub(super) fn rewarm(&mut self, name: &Arc<str>) {
        let coming = self.flight.as_ref().is_some_and(|flight| flight.resources.contains_key(name));
        if self.subscription.includes(name) && (coming || self.held.contains_key(name)) {
            self.rewarm.insert(name.clone());
            self.clean = false;
        }
    }

    pub(super) fn must_rewarm(&self) -> bool {
        !self.rewarm.is_empty()
    }

    /// Ends the flight, if there is one. A type with a flight is never clean, so it is looked at next.
    pub(super) fn land(&mut self) -> Option<Flight> {
        self.flight.take()
    }

    /// Takes note of an ACK; gives the full set that the client now has.
    pub(super) fn accept(&mut self, flight: Flight) -> Option<FullSet> {
        let Flight { delivery: Delivery { version, .. }, resources, .. } = flight;
        self.acked = Some(version.clone());
        self.has_accepted = true;
        let relevant = resources.iter().filter(|(name, _)| self.subscription.includes(name));
        let relevant: Set = relevant.map(|(name, resource)| (name.clone(), resource.clone())).collect();
        if !self.full {
            self.held.extend(relevant);
            return None;
        }
        self.held = relevant;
        self.holds_unknown = false;
        self.refused = None;
        Some(FullSet { version, resources })
    }

    /// The resources of a refused response that are held to be at fault.
    pub(super) fn guilty<'a>(&self, flight: &'a Flight, message: &str) -> Vec<&'a Resource> {
        let is_news = |resource: &Resource| flight.news.iter().any(|news| news.name() == resource.name());
        // In a full set, what is not new is there because the protocol wants it, and cannot be at fault.
        if self.full {
            blamed(&flight.news, message, is_news)
        } else {
            blamed(flight.resources.values(), message, is_news)
        }
    }

    /// Takes note of a NACK.
    pub(super) fn refuse(&mut self, flight: &Flight, memory: &Memory) {
        if self.full {
            self.refused = Some(flight.delivery.version.clone());
            // The answer is still due, now without the guilty. With nobody to blame it would be the same.
            self.owes_answer |= flight.is_answer && !flight.news.is_empty();
        }
        for name in &flight.rewarms {
            let innocent = flight.resources.get(name).is_some_and(|resource| !memory.is_rejected(resource));
            if innocent && self.subscription.includes(name) {
                self.rewarm.insert(name.clone());
            }
        }
    }

    pub(super) fn launch(&mut self, nonce: String, batch: Batch) -> Delivery {
        let mut rewarms = BTreeSet::new();
        for name in batch.resources.keys() {
            self.unanswered.remove(name);
            rewarms.extend(self.rewarm.take(name));
        }
        let is_answer = std::mem::take(&mut self.owes_answer);
        self.sent = Some(batch.version.clone());
        self.last_nonce = Some(nonce);
        let delivery = Delivery {
            type_url: self.type_url.clone(),
            version: batch.version,
            resources: batch.resources.values().map(Resource::versioned).collect(),
            removed: batch.removed,
        };
        self.flight = Some(Flight {
            delivery: delivery.clone(),
            news: batch.news,
            resources: batch.resources,
            is_answer,
            rewarms,
        });
        delivery
    }

    /// Decides what to send in this round.
    pub(super) fn step(&mut self, snapshot: &Snapshot, memory: &mut Memory, permit: Permit) -> Step {
        if self.clean && self.flight.is_none() {
            return Step { load: Load::none(self.tier), batch: None, deferred: None };
        }
        if self.full {
            self.resolve_claim(snapshot, memory);
            self.step_full(snapshot, memory, permit)
        } else {
            // This protocol cannot tell that a name does not exist. When it comes to exist later,
            // that is a change like any other and has to wait like one.
            let type_url = &self.type_url;
            self.unanswered.retain(|name| {
                snapshot.get(type_url, name).is_some_and(|resource| !memory.is_rejected(resource))
            });
            self.step_partial(snapshot, memory, permit)
        }
    }

    /// Finds out what a client means that says it has a version from an earlier stream.
    ///
    /// Only the old wildcard, an empty list, spares the answer. A name or an explicit wildcard may be
    /// new with this stream, and the protocol demands that what is new is answered.
    fn resolve_claim(&mut self, snapshot: &Snapshot, memory: &mut Memory) {
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

    fn step_full(&self, snapshot: &Snapshot, memory: &Memory, permit: Permit) -> Step {
        let mut load = Load { flight: self.flight.is_some(), ..Load::none(self.tier) };
        let Some(target) = self.target(snapshot, memory) else {
            return Step { load, batch: None, deferred: None };
        };
        let coming = self.flight.as_ref().map_or(&self.held, |flight| &flight.resources);
        let mut now = target.clone();
        if self.tier.defers_removal() {
            for (name, resource) in coming {
                if self.subscription.includes(name) {
                    now.entry(name.clone()).or_insert_with(|| resource.clone());
                }
            }
        }
        let removes = !same(&now, &target);
        let now = self.full_batch(now);
        let then = removes.then(|| self.full_batch(target));
        let is_refused = |batch: &Batch| self.refused.as_ref() == Some(&batch.version);

        let rewarms = self.must_rewarm();
        load.updates = self.owes_answer || rewarms || (!same(&now.resources, coming) && !is_refused(&now));
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

    /// Whether the client does not have the very version.
    fn is_news(&self, resource: &Resource) -> bool {
        self.held.get(resource.name()).is_none_or(|held| held.version() != resource.version())
    }

    fn step_partial(&self, snapshot: &Snapshot, memory: &Memory, permit: Permit) -> Step {
        let mut load = Load { flight: self.flight.is_some(), ..Load::none(self.tier) };
        let mut answers = Vec::new();
        let mut updates = Vec::new();
        let mut consider = |resource: &Resource| {
            let name = resource.name();
            let coming = self.flight.as_ref().and_then(|flight| flight.resources.get(name));
            let has = coming.or_else(|| self.held.get(name));
            let differs = has.is_none_or(|has| has.version() != resource.version());
            if memory.is_rejected(resource) {
            } else if self.unanswered.contains(name) || (differs && self.owes_answer) {
                answers.push(resource.clone());
            } else if differs || self.rewarm.contains(name) {
                updates.push(resource.clone());
            }
        };
        if self.subscription.wildcard {
            snapshot.resources(&self.type_url).for_each(&mut consider);
        } else {
            let names = self.subscription.names.iter();
            names.filter_map(|name| snapshot.get(&self.type_url, name)).for_each(&mut consider);
        }

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

    /// The number of names that this type makes the server remember.
    pub(super) fn names(&self) -> usize {
        self.subscription.names.len() + self.unanswered.len()
    }

    pub(super) fn has_accepted(&self) -> bool {
        self.has_accepted
    }

    pub(super) fn status(&self, snapshot: Option<&Snapshot>, memory: &Memory) -> TypeStatus {
        TypeStatus {
            type_url: self.type_url.clone(),
            wildcard: self.subscription.wildcard,
            names: self.subscription.names.len(),
            held: self.held.len(),
            sent: self.sent.clone(),
            acked: self.acked.clone(),
            unanswered: self.flight.is_some(),
            waiting: self.waiting,
            rejected: memory.standing(snapshot, &self.type_url, &self.subscription),
        }
    }
}
