//! Who is connected, and what is remembered of clients between streams.

use crate::{
    memory::Memory,
    status::{ClientId, ClientStatus},
};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// A client's memory, shared by the streams that it may have at one time.
pub(crate) type SharedMemory = Arc<Mutex<Memory>>;

/// All streams and memories of a service.
#[derive(Debug)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
    max_memories: usize,
}

#[derive(Debug, Default)]
struct Inner {
    last_stream: u64,
    streams: BTreeMap<u64, ClientStatus>,
    known: HashMap<ClientId, Known>,
}

/// A client that has a stream, or had one.
#[derive(Debug, Default)]
struct Known {
    memory: SharedMemory,
    /// The last stream that it began.
    used: u64,
    /// The types that it had asked for on the stream that ended last.
    asked: BTreeSet<Arc<str>>,
}

/// What a stream begins with.
#[derive(Debug, Default)]
pub(crate) struct Entry {
    /// Its number.
    pub(crate) stream: u64,
    /// The memory of its client.
    pub(crate) memory: SharedMemory,
    /// The types that its client had asked for before, and will ask for again.
    pub(crate) asked: BTreeSet<Arc<str>>,
}

/// Locks even if a holder panicked: everything behind these locks is whole between calls.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

// === impl Registry ===

impl Registry {
    pub(crate) fn new(max_memories: usize) -> Self {
        Self { inner: Mutex::default(), max_memories }
    }

    /// Gives a stream its number and what is known of its client.
    ///
    /// Clients without a node id cannot be told apart, so each stream of theirs starts afresh.
    pub(crate) fn enter(&self, client: &ClientId) -> Entry {
        let mut inner = lock(&self.inner);
        inner.last_stream += 1;
        let stream = inner.last_stream;
        if client.node_id.is_empty() {
            return Entry { stream, ..Entry::default() };
        }
        // The stream before may be open still, as far as anybody knows.
        let open = inner.streams.values().filter(|status| status.client == *client);
        let mut asked: BTreeSet<Arc<str>> = open.flat_map(ClientStatus::asked).collect();
        let known = inner.known.entry(client.clone()).or_default();
        known.used = stream;
        asked.extend(known.asked.iter().cloned());
        let memory = known.memory.clone();
        while inner.known.len() > self.max_memories {
            let unused = inner.known.iter().filter(|(_, known)| Arc::strong_count(&known.memory) == 1);
            let Some(oldest) = unused.min_by_key(|(_, known)| known.used).map(|(id, _)| id.clone()) else {
                break;
            };
            inner.known.remove(&oldest);
        }
        Entry { stream, memory, asked }
    }

    pub(crate) fn update(&self, status: ClientStatus) {
        lock(&self.inner).streams.insert(status.stream, status);
    }

    pub(crate) fn leave(&self, stream: u64) {
        let mut inner = lock(&self.inner);
        let Some(status) = inner.streams.remove(&stream) else { return };
        let Some(known) = inner.known.get_mut(&status.client) else { return };
        if !status.resuming {
            known.asked.clear();
        }
        known.asked.extend(status.asked());
    }

    /// Whether a client has a stream, or had one that is remembered.
    pub(crate) fn knows(&self, client: &ClientId) -> bool {
        lock(&self.inner).known.contains_key(client)
    }

    pub(crate) fn statuses(&self) -> Vec<ClientStatus> {
        lock(&self.inner).streams.values().cloned().collect()
    }

    /// Forgets the refusals of the clients that `choose` picks; tells how many there were.
    pub(crate) fn forget_rejections(&self, choose: impl Fn(&ClientId) -> bool) -> usize {
        let inner = lock(&self.inner);
        let chosen = inner.known.iter().filter(|(client, _)| choose(client));
        chosen.map(|(_, known)| lock(&known.memory).forget_rejections()).count()
    }

    /// Forgets that the clients that `choose` picks refused a resource; tells how many had.
    pub(crate) fn forget_rejection(
        &self,
        choose: impl Fn(&ClientId) -> bool,
        type_url: &str,
        name: &str,
    ) -> usize {
        let inner = lock(&self.inner);
        let chosen = inner.known.iter().filter(|(client, _)| choose(client));
        chosen.filter(|(_, known)| lock(&known.memory).forget_rejection(type_url, name)).count()
    }
}
