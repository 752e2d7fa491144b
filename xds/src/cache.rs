//! The published snapshots, shared between whoever publishes and the streams.

use crate::{snapshot::Snapshot, status::Source};
use std::{collections::BTreeMap, sync::Arc};
use tokio::sync::watch;

/// Snapshots by node key, with one for nodes of which nothing is known.
///
/// Clones share their content. Every open stream follows it: a client that was served the fallback
/// goes over to its own snapshot as soon as that is published, on the same stream.
#[derive(Clone, Debug)]
pub struct Cache {
    state: Arc<watch::Sender<State>>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    snapshots: BTreeMap<Arc<str>, Snapshot>,
    fallback: Option<Snapshot>,
    closed: bool,
}

// === impl Cache ===

impl Cache {
    /// An empty cache. Until something is published, clients wait.
    pub fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(State::default())) }
    }

    /// Makes `snapshot` the one for `node_key`. An equal snapshot changes nothing.
    pub fn publish(&self, node_key: impl Into<Arc<str>>, snapshot: Snapshot) {
        let node_key = node_key.into();
        self.state.send_if_modified(|state| {
            if state.snapshots.get(&node_key) == Some(&snapshot) {
                return false;
            }
            state.snapshots.insert(node_key, snapshot);
            true
        });
    }

    /// Takes the snapshot of `node_key` away. Its clients go over to the fallback; without one they
    /// keep what they have.
    pub fn remove(&self, node_key: &str) {
        self.state.send_if_modified(|state| state.snapshots.remove(node_key).is_some());
    }

    /// Sets what clients get whose key has no snapshot.
    ///
    /// Set it only when all known keys have been published: a client that reconnects to a server
    /// that has just started would else be told to drop its configuration.
    pub fn set_fallback(&self, snapshot: Snapshot) {
        self.state.send_if_modified(|state| {
            let changed = state.fallback.as_ref() != Some(&snapshot);
            state.fallback = Some(snapshot);
            changed
        });
    }

    /// Takes the fallback away. Clients of unknown keys wait until their key is published.
    pub fn clear_fallback(&self) {
        self.state.send_if_modified(|state| state.fallback.take().is_some());
    }

    /// The snapshot published for `node_key`.
    pub fn get(&self, node_key: &str) -> Option<Snapshot> {
        self.state.borrow().snapshots.get(node_key).cloned()
    }

    /// The keys that have a snapshot, in order.
    pub fn keys(&self) -> Vec<Arc<str>> {
        self.state.borrow().snapshots.keys().cloned().collect()
    }

    /// Ends all streams, now and later, so that a server can shut down gracefully.
    pub fn close(&self) {
        self.state.send_modify(|state| state.closed = true);
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<State> {
        self.state.subscribe()
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Makes every stream look again.
    pub(crate) fn touch(&self) {
        self.state.send_modify(|_| {});
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new()
    }
}

// === impl State ===

impl State {
    pub(crate) fn lookup(&self, node_key: &str) -> (Option<Snapshot>, Source) {
        match (self.snapshots.get(node_key), &self.fallback) {
            (Some(own), _) => (Some(own.clone()), Source::Own),
            (None, Some(fallback)) => (Some(fallback.clone()), Source::Fallback),
            (None, None) => (None, Source::Nothing),
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }
}
