//! Counts of calls: how many, how long, how many bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::latency::{BUCKETS, Latencies, bucket_of};

#[cfg(test)]
mod tests;

/// So many methods are told apart; the names come from code, so this is a fuse.
const MAX_METHODS: usize = 512;
/// The name of all others.
const OTHERS: &str = "others";

/// Calls, counted by method. Clones count together.
#[derive(Debug, Clone, Default)]
pub struct Calls(Arc<Mutex<BTreeMap<Method, Arc<Counter>>>>);

/// What is called.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Method {
    /// On which side: `grpc`, `rest`.
    pub side: &'static str,
    /// Its name, none that a stranger gave it.
    pub name: Cow<'static, str>,
}

/// How often a method was called, since the start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// The method.
    pub method: Method,
    /// Calls that have begun.
    pub begun: u64,
    /// Those under way.
    pub running: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that ended, by how long they took. Of a stream, that is how long it lasted.
    pub latencies: Latencies,
    /// How long all that ended took together.
    pub took: Duration,
    /// Bytes of bodies that came in.
    pub received: u64,
    /// Bytes of bodies that went out.
    pub sent: u64,
}

/// A call under way. Its end is counted when it is dropped.
#[derive(Debug)]
pub struct Call {
    counter: Arc<Counter>,
    since: Instant,
    failed: bool,
}

#[derive(Debug, Default)]
struct Counter {
    begun: AtomicU64,
    ended: AtomicU64,
    failed: AtomicU64,
    latencies: [AtomicU64; BUCKETS],
    took_micros: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

// === impl Calls ===

impl Calls {
    /// A call begins.
    #[must_use]
    pub fn begin(&self, method: Method) -> Call {
        let mut methods = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let method = if methods.len() < MAX_METHODS || methods.contains_key(&method) {
            method
        } else {
            Method { side: method.side, name: OTHERS.into() }
        };
        let counter = Arc::clone(methods.entry(method).or_default());
        drop(methods);
        add(&counter.begun, 1);
        Call { counter, since: Instant::now(), failed: false }
    }

    /// All methods that were ever called, sorted.
    #[must_use]
    pub fn counts(&self) -> Vec<Counts> {
        let methods = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        methods.iter().map(|(method, counter)| counter.counts(method)).collect()
    }
}

// === impl Call ===

impl Call {
    /// So much came in.
    pub(crate) fn received(&self, bytes: u64) {
        add(&self.counter.received, bytes);
    }

    /// So much went out.
    pub(crate) fn sent(&self, bytes: u64) {
        add(&self.counter.sent, bytes);
    }

    /// It will not end well.
    pub(crate) fn fail(&mut self) {
        self.failed = true;
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let (counter, took) = (&self.counter, self.since.elapsed());
        if let Some(bucket) = counter.latencies.get(bucket_of(took)) {
            add(bucket, 1);
        }
        add(&counter.took_micros, u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        add(&counter.failed, u64::from(self.failed));
        add(&counter.ended, 1);
    }
}

// === impl Counter ===

impl Counter {
    fn counts(&self, method: &Method) -> Counts {
        // Read in this order, so that there are never more ended than begun.
        let ended = read(&self.ended);
        let begun = read(&self.begun);
        Counts {
            method: method.clone(),
            begun,
            running: begun.saturating_sub(ended),
            failed: read(&self.failed),
            latencies: std::array::from_fn(|bucket| self.latencies.get(bucket).map_or(0, read)),
            took: Duration::from_micros(read(&self.took_micros)),
            received: read(&self.received),
            sent: read(&self.sent),
        }
    }
}
