//! One type on one delta stream: what is asked for, what is held, what is under way.

use super::flight::{Batch, Flight};
use crate::{
    event::Delivery,
    gate::{Load, MAX_FLIGHTS, Permit},
    memory::Memory,
    resource::Resource,
    snapshot::Snapshot,
    status::TypeStatus,
    subscription::{Subscription, has_legacy_wildcard},
    tier::Tier,
    type_url::WILDCARD,
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

#[derive(Debug)]
pub(super) struct TypeState {
    pub(super) type_url: Arc<str>,
    pub(super) tier: Tier,
    /// Each response carries one resource only.
    single: bool,
    subscription: Subscription,
    /// The first name ends the time in which an empty list means everything.
    legacy: bool,
    /// Versions that the client has accepted, of names that it is interested in.
    held: BTreeMap<Arc<str>, Arc<str>>,
    /// Names that must be answered whatever the client holds.
    unanswered: BTreeSet<Arc<str>>,
    /// A new wildcard must be answered even when there is nothing to send, so that the client can go on.
    owes_answer: bool,
    /// Names to send again because what they belong to has changed.
    pub(super) rewarm: BTreeSet<Arc<str>>,
    /// Responses that the client has not answered yet, in order. More than one only when it takes too long.
    flights: Vec<Flight>,
    /// Nothing is left to do until something changes.
    pub(super) clean: bool,
    /// Something is left to do that waits for its turn.
    pub(super) waiting: bool,
    sent: Option<Arc<str>>,
    acked: Option<Arc<str>>,
}

/// What one type does in one round.
pub(super) struct Step {
    pub(super) load: Load,
    pub(super) batch: Option<Batch>,
    /// Removals that have to wait until everything else has settled.
    pub(super) deferred: Vec<Arc<str>>,
}

/// The difference between what a client should hold and what it does.
#[derive(Default)]
struct Plan {
    answers: Vec<Resource>,
    /// Names that were asked for and do not exist.
    absent: Vec<Arc<str>>,
    updates: Vec<Resource>,
    removals: Vec<Arc<str>>,
}

// === impl TypeState ===

impl TypeState {
    pub(super) fn new(type_url: Arc<str>, single: bool) -> Self {
        Self {
            tier: Tier::of(&type_url),
            legacy: has_legacy_wildcard(&type_url),
            type_url,
            single,
            subscription: Subscription::default(),
            held: BTreeMap::new(),
            unanswered: BTreeSet::new(),
            owes_answer: false,
            rewarm: BTreeSet::new(),
            flights: Vec::new(),
            clean: false,
            waiting: false,
            sent: None,
            acked: None,
        }
    }

    /// Takes the first request of the type on this stream.
    pub(super) fn open(&mut self, subscribe: &[String], held: HashMap<String, String>) {
        if subscribe.is_empty() && self.legacy {
            self.subscription.wildcard = true;
            self.owes_answer = held.is_empty();
        }
        let resumes = !held.is_empty();
        self.subscribe(subscribe);
        if resumes {
            self.owes_answer = false;
        }
        for (name, version) in held {
            if self.subscription.includes(&name) {
                let name: Arc<str> = name.into();
                self.unanswered.remove(&name);
                self.held.insert(name, version.into());
            }
        }
    }

    /// Adds to the subscription. Every name is answered, subscribed before or not: the client may
    /// have dropped the resource since.
    pub(super) fn subscribe(&mut self, names: &[String]) {
        for name in names {
            self.legacy = false;
            self.clean = false;
            if name == WILDCARD {
                self.owes_answer |= !self.subscription.wildcard;
                self.subscription.wildcard = true;
                continue;
            }
            let name: Arc<str> = name.as_str().into();
            self.unanswered.insert(name.clone());
            self.subscription.names.insert(name);
        }
    }

    /// Takes away from the subscription.
    pub(super) fn unsubscribe(&mut self, names: &[String]) {
        for name in names {
            self.clean = false;
            if name == WILDCARD {
                self.subscription.wildcard = false;
                self.owes_answer = false;
                let Self { held, unanswered, rewarm, subscription, .. } = self;
                held.retain(|name, _| subscription.includes(name));
                unanswered.retain(|name| subscription.includes(name));
                rewarm.retain(|name| subscription.includes(name));
                continue;
            }
            let was_named = self.subscription.names.remove(name.as_str());
            if !self.subscription.wildcard {
                self.held.remove(name.as_str());
                self.unanswered.remove(name.as_str());
                self.rewarm.remove(name.as_str());
            } else if was_named {
                // The wildcard may still cover the name, and only the server knows. The protocol
                // wants the resource or its removal as an answer. Until then the client keeps what
                // it has, which matters when the answer cannot be given: its version may be refused.
                self.unanswered.insert(name.as_str().into());
            }
        }
    }

    /// Notes that `name` is to be sent again, if the client has it or has it coming.
    pub(super) fn rewarm(&mut self, name: &Arc<str>) {
        let coming = self.flights.iter().any(|flight| flight.outcome.contains_key(name));
        if self.subscription.includes(name) && (coming || self.held.contains_key(name)) {
            self.rewarm.insert(name.clone());
            self.clean = false;
        }
    }

    /// Ends the flight that has this nonce; tells how many earlier ones go on.
    pub(super) fn land(&mut self, nonce: &str) -> Option<(Flight, usize)> {
        let at = self.flights.iter().position(|flight| flight.nonce == nonce)?;
        self.clean = false;
        Some((self.flights.remove(at), at))
    }

    /// Lets time pass; tells whether a response has now been unanswered for too long.
    pub(super) fn tick(&mut self) -> bool {
        let mut overdue = false;
        for flight in &mut self.flights {
            overdue |= flight.age.tick();
        }
        overdue
    }

    /// Whether an answer is awaited that is not yet overdue.
    pub(super) fn awaits_answer(&self) -> bool {
        self.flights.iter().any(|flight| !flight.age.is_overdue())
    }

    /// Takes note of an ACK that overtook those of `earlier` flights.
    pub(super) fn accept(&mut self, flight: Flight, earlier: usize) {
        for overtaken in self.flights.iter_mut().take(earlier) {
            overtaken.outcome.retain(|name, _| !flight.outcome.contains_key(name));
        }
        self.acked = Some(flight.version);
        for (name, version) in flight.outcome {
            match version {
                Some(version) if self.subscription.includes(&name) => {
                    self.held.insert(name, version);
                }
                _ => {
                    self.held.remove(&name);
                }
            }
        }
    }

    /// Whether the client does not have the very version.
    pub(super) fn is_news(&self, resource: &Resource) -> bool {
        self.held.get(resource.name()) != Some(resource.version())
    }

    /// Makes the innocent part of a refused response due again, unless it is under way again already.
    pub(super) fn take_back(&mut self, flight: &Flight, guilty: &[&Resource], earlier: usize) {
        let guilty: BTreeSet<_> = guilty.iter().map(|resource| resource.name()).collect();
        let is_due = |name: &&Arc<str>| {
            let mut later = self.flights.iter().skip(earlier);
            self.subscription.includes(name)
                && !guilty.contains(name)
                && !later.any(|flight| flight.outcome.contains_key(*name))
        };
        self.unanswered.extend(flight.answers.iter().filter(is_due).cloned());
        self.rewarm.extend(flight.rewarms.iter().filter(is_due).cloned());
    }

    pub(super) fn accept_removals(&mut self, flight: &Flight) {
        for name in &flight.removed {
            self.held.remove(name);
        }
    }

    pub(super) fn launch(&mut self, nonce: String, version: Arc<str>, batch: Batch) -> Delivery {
        let (mut answers, mut rewarms) = (BTreeSet::new(), BTreeSet::new());
        for name in batch.resources.iter().map(Resource::name).chain(&batch.removed) {
            answers.extend(self.unanswered.take(name));
            rewarms.extend(self.rewarm.take(name));
        }
        self.owes_answer = false;
        self.sent = Some(version.clone());
        let flight = Flight::new(nonce, version, batch, answers, rewarms);
        let delivery = self.delivery(&flight);
        self.flights.push(flight);
        delivery
    }

    pub(super) fn delivery(&self, flight: &Flight) -> Delivery {
        Delivery {
            type_url: self.type_url.clone(),
            version: flight.version.clone(),
            resources: flight.resources.iter().map(Resource::versioned).collect(),
            removed: flight.removed.clone(),
        }
    }

    /// Decides what to send in this round.
    pub(super) fn step(&mut self, snapshot: &Snapshot, memory: &Memory, permit: Permit) -> Step {
        let mut load = Load::none(self.tier);
        if self.clean && self.flights.is_empty() {
            return Step { load, batch: None, deferred: Vec::new() };
        }
        // A refused version cannot be an answer. Its successor is a change and has to wait like one.
        let type_url = &self.type_url;
        self.unanswered
            .retain(|name| snapshot.get(type_url, name).is_none_or(|resource| !memory.is_rejected(resource)));
        let Plan { answers, absent, mut updates, mut removals } = self.plan(snapshot, memory);
        let deferred = if self.tier.defers_removal() { std::mem::take(&mut removals) } else { Vec::new() };
        load.removals = !deferred.is_empty();

        let mut batch = None;
        let mut left = Vec::new();
        let awaits = self.awaits_answer();
        if !awaits && self.flights.len() >= MAX_FLIGHTS {
            // The client answers nothing. The others go on without this type.
            return Step { load: Load::none(self.tier), batch: None, deferred: Vec::new() };
        }
        if awaits || permit == Permit::Nothing {
            load.updates = self.owes_answer
                || !(answers.is_empty() && absent.is_empty() && updates.is_empty() && removals.is_empty());
        } else {
            let mut resources = answers;
            let mut removed = absent;
            if permit == Permit::Everything {
                resources.append(&mut updates);
                removed.append(&mut removals);
            }
            if self.single && !resources.is_empty() {
                left = resources.split_off(1);
                // A refusal must be about the resource and nothing else.
                removals.append(&mut removed);
            }
            load.updates = !(left.is_empty() && updates.is_empty() && removals.is_empty());
            if self.owes_answer || !resources.is_empty() || !removed.is_empty() {
                batch = Some(Batch { resources, removed });
            }
        }
        load.flight = awaits || batch.is_some();
        Step { load, batch, deferred }
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
        let is_gone = |name: &Arc<str>| snapshot.get(&self.type_url, name).is_none();
        plan.absent = self.unanswered.iter().filter(|name| is_gone(name)).cloned().collect();
        let coming = self.flights.iter().flat_map(|flight| flight.outcome.keys());
        let mut known: Vec<_> =
            self.held.keys().chain(coming.filter(|name| !self.held.contains_key(*name))).collect();
        known.sort();
        known.dedup();
        plan.removals = known
            .into_iter()
            .filter(|name| {
                is_gone(name)
                    && self.subscription.includes(name)
                    && !self.unanswered.contains(*name)
                    && self.will_hold(name).is_some()
            })
            .cloned()
            .collect();
        plan
    }

    fn consider(&self, resource: &Resource, memory: &Memory, plan: &mut Plan) {
        if memory.is_rejected(resource) {
            return;
        }
        let name = resource.name();
        let has = self.will_hold(name);
        let differs = has != Some(resource.version());
        let rewarms = self.rewarm.contains(name);
        // A cluster may be waiting for it, and with the cluster's ACK everything else.
        let is_awaited = self.tier == Tier::Extensions && (has.is_none() || rewarms);
        if self.unanswered.contains(name) || (differs && self.owes_answer) || is_awaited {
            plan.answers.push(resource.clone());
        } else if differs || rewarms {
            plan.updates.push(resource.clone());
        }
    }

    /// The version that the client will hold once it has accepted what is under way.
    fn will_hold(&self, name: &Arc<str>) -> Option<&Arc<str>> {
        match self.flights.iter().rev().find_map(|flight| flight.outcome.get(name)) {
            Some(outcome) => outcome.as_ref(),
            None => self.held.get(name),
        }
    }

    /// The number of names that this type makes the server remember.
    pub(super) fn names(&self) -> usize {
        self.subscription.names.len() + self.held.len() + self.unanswered.len()
    }

    pub(super) fn holds_any(&self) -> bool {
        !self.held.is_empty()
    }

    pub(super) fn status(&self, snapshot: Option<&Snapshot>, memory: &Memory) -> TypeStatus {
        TypeStatus {
            type_url: self.type_url.clone(),
            wildcard: self.subscription.wildcard,
            names: self.subscription.names.len(),
            held: self.held.len(),
            sent: self.sent.clone(),
            acked: self.acked.clone(),
            unanswered: !self.flights.is_empty(),
            waiting: self.waiting,
            rejected: memory.standing(snapshot, &self.type_url, &self.subscription),
            since: None,
        }
    }
}
