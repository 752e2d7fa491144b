//! How long the store takes.

use std::future::Future;

use async_trait::async_trait;
use keyward_store::{Body, Key, Page, Record, Revision, Selector, Store, StoreError, Watch};
use keyward_trace::SPANS;
use tokio::time::Instant;
use tracing::Instrument as _;
use tracing::field::Empty;

use super::Metrics;

const READ: &str = "read";
const WRITE: &str = "write";

/// A store that is measured. Waiting for changes is not.
pub(crate) struct MeasuredStore<S> {
    store: S,
    metrics: Metrics,
}

/// A write is a span.
async fn written<T, E>(act: impl Future<Output = Result<T, E>>) -> Result<T, E> {
    let span = tracing::info_span!(target: SPANS, "store.write", failed = Empty);
    let outcome = act.instrument(span.clone()).await;
    if outcome.is_err() {
        span.record("failed", true);
    }
    outcome
}

// === impl MeasuredStore ===

impl<S> MeasuredStore<S> {
    /// The same store, measured.
    pub(crate) fn new(store: S, metrics: Metrics) -> Self {
        Self { store, metrics }
    }

    async fn measured<T, E>(
        &self,
        operation: &'static str,
        act: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let begun = Instant::now();
        let outcome = if operation == WRITE { written(act).await } else { act.await };
        let took = begun.elapsed().as_secs_f64();
        self.metrics.0.store_seconds.get_or_create(&[("operation", operation)]).observe(took);
        outcome
    }
}

#[async_trait]
impl<S: Store> Store for MeasuredStore<S> {
    async fn create(&self, key: Key, body: Body) -> Result<Record, StoreError> {
        self.measured(WRITE, self.store.create(key, body)).await
    }

    async fn update(&self, key: Key, expected: Option<Revision>, body: Body) -> Result<Record, StoreError> {
        self.measured(WRITE, self.store.update(key, expected, body)).await
    }

    async fn delete(&self, key: Key, expected: Option<Revision>) -> Result<(Revision, Record), StoreError> {
        self.measured(WRITE, self.store.delete(key, expected)).await
    }

    async fn get(&self, key: Key) -> Result<Option<Record>, StoreError> {
        self.measured(READ, self.store.get(key)).await
    }

    async fn list(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
    ) -> Result<Page, StoreError> {
        self.measured(READ, self.store.list(selector, after, limit)).await
    }

    async fn list_at(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
        at: Revision,
    ) -> Result<Page, StoreError> {
        self.measured(READ, self.store.list_at(selector, after, limit, at)).await
    }

    async fn watch(&self, from: Revision) -> Result<Watch, StoreError> {
        self.store.watch(from).await
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.measured(READ, self.store.revision()).await
    }

    async fn compact(&self, keep_from: Revision) -> Result<(), StoreError> {
        self.measured(WRITE, self.store.compact(keep_from)).await
    }
}

#[cfg(test)]
mod tests {
    use keyward_admin::debug::Metrics as _;
    use keyward_store::MemoryStore;

    use super::*;

    #[tokio::test]
    async fn reads_and_writes_are_told_apart_and_failures_count_too() {
        let metrics = Metrics::default();
        let store = MeasuredStore::new(MemoryStore::new(), metrics.clone());
        let key = Key::new("Secret", "a", "b");
        let body: Body = b"{}".as_slice().into();
        store.create(key.clone(), body.clone()).await.unwrap();
        assert!(store.create(key.clone(), body).await.is_err());
        store.get(key.clone()).await.unwrap();
        let secrets = Selector { kind: "Secret".to_owned(), namespace: None };
        store.list(secrets, None, None).await.unwrap();
        store.revision().await.unwrap();
        store.delete(key, None).await.unwrap();
        let text = metrics.text().unwrap();
        for (operation, count) in [("write", 3), ("read", 3)] {
            let line = format!("keyward_store_duration_seconds_count{{operation=\"{operation}\"}} {count}\n");
            assert!(text.contains(&line), "{text}");
        }
    }
}
