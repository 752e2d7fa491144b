//! One type on one state-of-the-world stream: what is asked for, what is held, what is under way.

use super::flight::{Batch, Flight, Set, Step};
use crate::{
    blame::blamed,
    event::Delivery,
    gate::{Age, MAX_FLIGHTS, Permit},
    memory::{FullSet, Memory},
    resource::Resource,
    snapshot::Snapshot,
    status::TypeStatus,
    subscription::{Subscription, has_legacy_wildcard},
    tier::Tier,
    type_url::{CLUSTER, LISTENER, WILDCARD},
};
use std::{collections::BTreeSet, sync::Arc};

#[derive(Debug)]
pub(super) struct TypeState {
    pub(super) type_url: Arc<str>,
    pub(super) tier: Tier,
    /// Responses carry everything, and what is missing is gone.
    pub(super) full: bool,
    /// Each response carries one resource only.
    pub(super) single: bool,
    pub(super) subscription: Subscription,
    /// The first name ends the time in which an empty list means everything.
    pub(super) legacy: bool,
    /// What the client has accepted, of names that it is interested in.
    pub(super) held: Set,
    /// Names that must be answered whatever the client holds.
    pub(super) unanswered: BTreeSet<Arc<str>>,
    /// The subscription must be answered even when there is nothing to send.
    pub(super) owes_answer: bool,
    rewarm: BTreeSet<Arc<str>>,
    /// The version that the client says it has from an earlier stream, until it is looked into.
    pub(super) claim: Option<Arc<str>>,
    /// The client has a full set from before that this server knows nothing about.
    pub(super) holds_unknown: bool,
    has_accepted: bool,
    /// A full set that was refused with nobody to blame. Sending it again would go on for ever.
    pub(super) refused: Option<Arc<str>>,
    /// Responses that the client has not answered yet, in order. More than one only when it takes too long.
    pub(super) flights: Vec<Flight>,
    last_nonce: Option<String>,
    /// Nothing is left to do until something changes.
    pub(super) clean: bool,
    /// Something is left to do that waits for its turn.
    pub(super) waiting: bool,
    sent: Option<Arc<str>>,
    acked: Option<Arc<str>>,
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
            flights: Vec::new(),
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
        let flight = self.flights.last().filter(|_| self.full)?;
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
        let coming = self.flights.iter().any(|flight| flight.resources.contains_key(name));
        if self.subscription.includes(name) && (coming || self.held.contains_key(name)) {
            self.rewarm.insert(name.clone());
            self.clean = false;
        }
    }

    pub(super) fn must_rewarm_name(&self, name: &str) -> bool {
        self.rewarm.contains(name)
    }

    pub(super) fn must_rewarm(&self) -> bool {
        !self.rewarm.is_empty()
    }

    /// Ends the flight that has this nonce, and those before it, which come second.
    pub(super) fn land(&mut self, nonce: &str) -> Option<(Flight, Vec<Flight>)> {
        let at = self.flights.iter().position(|flight| flight.nonce == nonce)?;
        self.clean = false;
        let mut landed: Vec<_> = self.flights.drain(..=at).collect();
        Some((landed.pop()?, landed))
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

    /// What of a response is new to the client.
    pub(super) fn news<'a>(&self, flight: &'a Flight) -> Vec<&'a Resource> {
        flight.resources.values().filter(|resource| self.is_news(resource)).collect()
    }

    /// The resources of a refused response that are held to be at fault.
    pub(super) fn guilty<'a>(&self, flight: &'a Flight, message: &str) -> Vec<&'a Resource> {
        if self.full {
            // What is not new is there because the protocol wants it, and cannot be at fault.
            blamed(self.news(flight), message, |_| true)
        } else {
            blamed(flight.resources.values(), message, |resource| self.is_news(resource))
        }
    }

    /// Takes note of a NACK.
    pub(super) fn refuse(&mut self, flight: &Flight, guilty: &[&Resource]) {
        if self.full {
            self.refused = Some(flight.delivery.version.clone());
            // The answer is still due, now without the guilty. With nobody to blame it would be the same.
            self.owes_answer |= flight.is_answer && !guilty.is_empty();
        }
        for name in &flight.rewarms {
            let innocent = !guilty.iter().any(|resource| resource.name() == name);
            let is_coming = self.flights.iter().any(|later| later.resources.contains_key(name));
            if innocent && !is_coming && self.subscription.includes(name) {
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
        self.last_nonce = Some(nonce.clone());
        let delivery = Delivery {
            type_url: self.type_url.clone(),
            version: batch.version,
            resources: batch.resources.values().map(Resource::versioned).collect(),
            removed: batch.removed,
        };
        self.flights.push(Flight {
            nonce,
            age: Age::default(),
            delivery: delivery.clone(),
            resources: batch.resources,
            is_answer,
            rewarms,
        });
        delivery
    }

    /// Decides what to send in this round.
    pub(super) fn step(&mut self, snapshot: &Snapshot, memory: &mut Memory, permit: Permit) -> Step {
        if self.clean && self.flights.is_empty() {
            return Step::none(self.tier);
        }
        if !self.awaits_answer() && self.flights.len() >= MAX_FLIGHTS {
            // The client answers nothing. The others go on without this type.
            return Step::none(self.tier);
        }
        if self.full {
            self.resolve_claim(snapshot, memory);
            self.step_full(snapshot, memory, permit)
        } else {
            self.step_partial(snapshot, memory, permit)
        }
    }

    /// Whether the client does not have the very version.
    pub(super) fn is_news(&self, resource: &Resource) -> bool {
        self.held.get(resource.name()).is_none_or(|held| held.version() != resource.version())
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
            unanswered: !self.flights.is_empty(),
            waiting: self.waiting,
            rejected: memory.standing(snapshot, &self.type_url, &self.subscription),
            since: None,
        }
    }
}
