//! What must be known about a client beyond the life of its stream.

use crate::{
    gate::MAX_FLIGHTS, resource::Resource, snapshot::Snapshot, status::RejectedResource,
    subscription::Subscription,
};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
};

/// The memory of one client: what it refused, and what it is known to hold.
///
/// It outlives streams, so that a refused version is not offered again after a reconnect. The
/// number of refusals kept is bounded; beyond it the oldest is forgotten, which costs at worst one
/// more refusal.
#[derive(Debug)]
pub struct Memory {
    rejections: BTreeMap<(Arc<str>, Arc<str>), Rejection>,
    accepted: BTreeMap<Arc<str>, FullSet>,
    /// What was sent last, in case the stream breaks between the client's ACK and its arrival.
    offered: BTreeMap<Arc<str>, VecDeque<FullSet>>,
    holds: BTreeSet<Arc<str>>,
    limit: usize,
    clock: u64,
}

/// A version that the client refused, and how it put it.
#[derive(Clone, Debug)]
pub struct Rejection {
    /// The refused version.
    pub version: Arc<str>,
    /// The client's own words.
    pub message: Arc<str>,
    turn: u64,
}

/// All listeners or all clusters of a state-of-the-world client.
#[derive(Clone, Debug)]
pub(crate) struct FullSet {
    pub(crate) version: Arc<str>,
    pub(crate) resources: BTreeMap<Arc<str>, Resource>,
}

// === impl Memory ===

impl Memory {
    /// The default number of refusals that are kept.
    pub const DEFAULT_LIMIT: usize = 1024;

    /// An empty memory that keeps at most `limit` refusals.
    pub fn new(limit: usize) -> Self {
        Self {
            rejections: BTreeMap::new(),
            accepted: BTreeMap::new(),
            offered: BTreeMap::new(),
            holds: BTreeSet::new(),
            limit: limit.max(1),
            clock: 0,
        }
    }

    /// The standing refusal of a name, whatever its version.
    pub fn rejection(&self, type_url: &str, name: &str) -> Option<&Rejection> {
        // The keys are pairs of Arc, which cannot be borrowed as a pair of str; two counts are cheap.
        if self.rejections.is_empty() {
            return None;
        }
        self.rejections.get(&(type_url.into(), name.into()))
    }

    /// Forgets all refusals, so that what was refused is offered once more.
    pub fn forget_rejections(&mut self) {
        self.rejections.clear();
    }

    /// Forgets the refusal of one name, so that it is offered once more; tells whether there was one.
    pub fn forget_rejection(&mut self, type_url: &str, name: &str) -> bool {
        self.rejections.remove(&(type_url.into(), name.into())).is_some()
    }

    pub(crate) fn is_rejected(&self, resource: &Resource) -> bool {
        !self.rejections.is_empty()
            && self
                .rejections
                .get(&(resource.type_url().clone(), resource.name().clone()))
                .is_some_and(|rejection| rejection.version == *resource.version())
    }

    pub(crate) fn reject(&mut self, resource: &Resource, message: Arc<str>) {
        self.clock += 1;
        let rejection = Rejection { version: resource.version().clone(), message, turn: self.clock };
        self.rejections.insert((resource.type_url().clone(), resource.name().clone()), rejection);
        if self.rejections.len() > self.limit
            && let Some(oldest) =
                self.rejections.iter().min_by_key(|(_, r)| r.turn).map(|(key, _)| key.clone())
        {
            self.rejections.remove(&oldest);
        }
    }

    pub(crate) fn accept(&mut self, resource: &Resource) {
        if !self.rejections.is_empty() {
            self.rejections.remove(&(resource.type_url().clone(), resource.name().clone()));
        }
    }

    /// Takes back the refusal of this very version: the client says that it has accepted it.
    pub(crate) fn absolve(&mut self, resource: &Resource) {
        if self.is_rejected(resource) {
            self.accept(resource);
        }
    }

    /// The refusals that stand against the present snapshot.
    pub(crate) fn standing(
        &self,
        snapshot: Option<&Snapshot>,
        type_url: &Arc<str>,
        subscription: &Subscription,
    ) -> Vec<RejectedResource> {
        let from = (type_url.clone(), Arc::from(""));
        self.rejections
            .range(from..)
            .take_while(|((url, _), _)| url == type_url)
            .filter(|((_, name), rejection)| {
                subscription.includes(name)
                    && snapshot
                        .and_then(|snapshot| snapshot.get(type_url, name))
                        .is_some_and(|resource| *resource.version() == rejection.version)
            })
            .map(|((_, name), rejection)| RejectedResource {
                name: name.clone(),
                version: rejection.version.clone(),
                message: rejection.message.clone(),
            })
            .collect()
    }

    /// The full set of that version, if it is one that the client may have.
    pub(crate) fn full_set(&self, type_url: &str, version: &str) -> Option<&FullSet> {
        let offered = self.offered.get(type_url).into_iter().flatten();
        self.accepted.get(type_url).into_iter().chain(offered).find(|set| &*set.version == version)
    }

    pub(crate) fn set_offered(&mut self, type_url: &Arc<str>, set: FullSet) {
        let offered = self.offered.entry(type_url.clone()).or_default();
        offered.push_back(set);
        while offered.len() > MAX_FLIGHTS {
            offered.pop_front();
        }
    }

    pub(crate) fn set_accepted(&mut self, type_url: &Arc<str>, set: FullSet) {
        self.accepted.insert(type_url.clone(), set);
    }

    pub(crate) fn set_holds(&mut self, type_url: &Arc<str>, holds: bool) {
        if holds {
            self.holds.insert(type_url.clone());
        } else {
            self.holds.remove(type_url);
        }
    }

    /// Notices a new process behind a known name: it claims to hold nothing of a type of which the
    /// client held something. A new process deserves a new try, because a refusal may have been
    /// about its surroundings (a port in use), and because it has no last good version to run on.
    pub(crate) fn notice_restart(&mut self, type_url: &str) -> bool {
        let restarted = self.holds.contains(type_url);
        if restarted {
            *self = Self::new(self.limit);
        }
        restarted
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new(Self::DEFAULT_LIMIT)
    }
}

#[cfg(test)]
mod tests;
