//! A store in memory: everything but durability. For tests and for trying things out.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use tokio::sync::watch;

use crate::error::StoreError;
use crate::record::{Body, Event, Key, Record, Revision, Selector};
use crate::store::{Page, Store};
use crate::watch::{Batch, Watch, follow};

/// The most events in one batch of a watch.
const BATCH: usize = 512;

/// A [`Store`] that forgets all when it is dropped.
#[derive(Debug)]
pub struct MemoryStore {
    state: Arc<Mutex<State>>,
    head: watch::Sender<Revision>,
}

#[derive(Debug, Default)]
struct State {
    revision: Revision,
    /// The oldest revision that a watch can start from; `log` holds what came after it.
    compacted: Revision,
    objects: BTreeMap<Key, Record>,
    log: VecDeque<Event>,
}

// === impl MemoryStore ===

impl MemoryStore {
    /// An empty store.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Arc::default(), head: watch::Sender::new(Revision(0)) }
    }

    /// Runs a write, and tells the watchers when it has changed something.
    fn write<T>(&self, change: impl FnOnce(&mut State) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut state = lock(&self.state);
        let written = change(&mut state)?;
        self.head.send_replace(state.revision);
        Ok(written)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn create(&self, key: Key, body: Body) -> Result<Record, StoreError> {
        self.write(|state| match state.objects.get(&key) {
            Some(there) => Err(StoreError::AlreadyExists { current: there.revision, key }),
            None => {
                let created = state.next_revision();
                Ok(state.put(Record { key, revision: created, created, body }))
            }
        })
    }

    async fn update(&self, key: Key, expected: Option<Revision>, body: Body) -> Result<Record, StoreError> {
        self.write(|state| {
            let created = state.expect(&key, expected)?.created;
            let revision = state.next_revision();
            Ok(state.put(Record { key, revision, created, body }))
        })
    }

    async fn delete(&self, key: Key, expected: Option<Revision>) -> Result<(Revision, Record), StoreError> {
        self.write(|state| {
            let last = state.expect(&key, expected)?.clone();
            let revision = state.next_revision();
            state.objects.remove(&key);
            state.log.push_back(Event::Delete { key, revision, last: last.clone() });
            Ok((revision, last))
        })
    }

    async fn get(&self, key: Key) -> Result<Option<Record>, StoreError> {
        Ok(lock(&self.state).objects.get(&key).cloned())
    }

    async fn list(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
    ) -> Result<Page, StoreError> {
        let state = lock(&self.state);
        Ok(page(&state.objects, &selector, after, limit, state.revision))
    }

    async fn list_at(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
        at: Revision,
    ) -> Result<Page, StoreError> {
        let state = lock(&self.state);
        state.check_start(at)?;
        Ok(page(&state.objects_at(at), &selector, after, limit, at))
    }

    async fn watch(&self, from: Revision) -> Result<Watch, StoreError> {
        lock(&self.state).check_start(from)?;
        let state = Arc::clone(&self.state);
        Ok(follow(from, self.head.subscribe(), move |at| {
            let batch = lock(&state).after(at);
            async { batch }
        }))
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        Ok(lock(&self.state).revision)
    }

    async fn compact(&self, keep_from: Revision) -> Result<(), StoreError> {
        let mut state = lock(&self.state);
        let keep_from = keep_from.min(state.revision).max(state.compacted);
        let gone = state.log.partition_point(|event| event.revision() <= keep_from);
        state.log.drain(..gone);
        state.compacted = keep_from;
        Ok(())
    }
}

// === impl State ===

impl State {
    fn next_revision(&mut self) -> Revision {
        self.revision = Revision(self.revision.0 + 1);
        self.revision
    }

    fn put(&mut self, record: Record) -> Record {
        let before = self.objects.insert(record.key.clone(), record.clone());
        self.log.push_back(Event::Put { record: record.clone(), before });
        record
    }

    fn expect(&self, key: &Key, expected: Option<Revision>) -> Result<&Record, StoreError> {
        let there = self.objects.get(key).ok_or_else(|| StoreError::NotFound { key: key.clone() })?;
        match expected {
            Some(expected) if expected != there.revision => {
                Err(StoreError::Conflict { key: key.clone(), expected, current: there.revision })
            }
            _ => Ok(there),
        }
    }

    fn check_start(&self, from: Revision) -> Result<(), StoreError> {
        if from < self.compacted {
            return Err(StoreError::Compacted { from, oldest: self.compacted });
        }
        if from > self.revision {
            return Err(StoreError::Future { from, current: self.revision });
        }
        Ok(())
    }

    /// The objects as they stood: the changes since then undone, the last one first.
    fn objects_at(&self, at: Revision) -> BTreeMap<Key, Record> {
        let mut objects = self.objects.clone();
        for event in self.log.iter().rev().take_while(|event| event.revision() > at) {
            match event {
                Event::Put { record, before: None } => drop(objects.remove(&record.key)),
                Event::Put { before: Some(before), .. } | Event::Delete { last: before, .. } => {
                    objects.insert(before.key.clone(), before.clone());
                }
            }
        }
        objects
    }

    fn after(&self, at: Revision) -> Batch {
        self.check_start(at)?;
        let first = self.log.partition_point(|event| event.revision() <= at);
        Ok(self.log.range(first..).take(BATCH).cloned().collect())
    }
}

fn page(
    objects: &BTreeMap<Key, Record>,
    selector: &Selector,
    after: Option<Key>,
    limit: Option<usize>,
    revision: Revision,
) -> Page {
    let from = after.map_or(Bound::Unbounded, Bound::Excluded);
    let mut selected = objects
        .range((from, Bound::Unbounded))
        .filter(|(key, _)| selector.selects(key))
        .map(|(_, record)| record.clone());
    let records = selected.by_ref().take(limit.unwrap_or(usize::MAX)).collect();
    Page { records, revision, more: selected.next().is_some() }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // A panic inside a write leaves at worst an unused revision behind.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
