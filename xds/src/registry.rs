//! Who is connected, and what is remembered of clients between streams.

use crate::{
    memory::Memory,
    status::{ClientId, ClientStatus},
};
use std::{
    collections::{BTreeMap, HashMap},
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
    memories: HashMap<ClientId, (SharedMemory, u64)>,
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

    /// Gives a stream its number and the memory of its client.
    ///
    /// Clients without a node id cannot be told apart, so each stream of theirs starts afresh.
    pub(crate) fn enter(&self, client: &ClientId) -> (u64, SharedMemory) {
        let mut inner = lock(&self.inner);
        inner.last_stream += 1;
        let stream = inner.last_stream;
        if client.node_id.is_empty() {
            return (stream, SharedMemory::default());
        }
        let (memory, used) = inner.memories.entry(client.clone()).or_default();
        *used = stream;
        let memory = memory.clone();
        while inner.memories.len() > self.max_memories {
            let unused = inner.memories.iter().filter(|(_, (memory, _))| Arc::strong_count(memory) == 1);
            let Some(oldest) = unused.min_by_key(|(_, (_, used))| *used).map(|(id, _)| id.clone()) else {
                break;
            };
            inner.memories.remove(&oldest);
        }
        (stream, memory)
    }

    pub(crate) fn update(&self, status: ClientStatus) {
        lock(&self.inner).streams.insert(status.stream, status);
    }

    pub(crate) fn leave(&self, stream: u64) {
        lock(&self.inner).streams.remove(&stream);
    }

    pub(crate) fn statuses(&self) -> Vec<ClientStatus> {
        lock(&self.inner).streams.values().cloned().collect()
    }

    /// Forgets the refusals of the clients that `choose` picks; tells how many there were.
    pub(crate) fn forget_rejections(&self, choose: impl Fn(&ClientId) -> bool) -> usize {
        let inner = lock(&self.inner);
        let chosen = inner.memories.iter().filter(|(client, _)| choose(client));
        chosen.map(|(_, (memory, _))| lock(memory).forget_rejections()).count()
    }

    /// Forgets that the clients that `choose` picks refused a resource; tells how many had.
    pub(crate) fn forget_rejection(
        &self,
        choose: impl Fn(&ClientId) -> bool,
        type_url: &str,
        name: &str,
    ) -> usize {
        let inner = lock(&self.inner);
        let chosen = inner.memories.iter().filter(|(client, _)| choose(client));
        chosen.filter(|(_, (memory, _))| lock(memory).forget_rejection(type_url, name)).count()
    }
}
