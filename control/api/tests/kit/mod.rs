//! A whole API over a store in memory, without a port.

#![allow(dead_code, reason = "every test file uses its own part of the kit")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request};
use futures::StreamExt as _;
use jiff::Timestamp;
use keyward_api::{Api, AuditLog, Everybody, Origin, Statuses, Stored, Writer};
use keyward_resource::Kind;
use keyward_store::{Key, MemoryStore, Revision, Store};
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;
use uuid::Uuid;

/// The server under test.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) writer: Writer,
    router: Router,
}

/// What it says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    /// Those that matter.
    pub(crate) headers: BTreeMap<String, String>,
    /// One value, or the list of the lines of a watch.
    pub(crate) body: Value,
}

/// Statuses of Secrets.
struct Derived;

const HEADERS: &[&str] = &["allow", "warning", "retry-after", "keyward-revision"];

impl Statuses for Derived {
    fn status(&self, kind: &'static Kind, _: &Key, _: Revision, _: &Stored) -> Option<Value> {
        (kind.name == "Secret").then(|| json!({ "state": "Accepted" }))
    }
}

/// Sorted keys, whatever features of `serde_json` are on.
pub(crate) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let map: BTreeMap<_, _> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(Map::from_iter(map))
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().expect("a time")
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

/// Ids in a row, so that nothing in a test is random.
fn uid() -> Uuid {
    Uuid::from_u64_pair(7, NEXT_ID.fetch_add(1, Ordering::Relaxed))
}

/// Starts the ids again. For tests that run alone.
pub(crate) fn restart_ids() {
    NEXT_ID.store(1, Ordering::Relaxed);
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::over(Arc::new(MemoryStore::new())).await
    }

    pub(crate) async fn over(store: Arc<dyn Store>) -> Self {
        let writer = Writer::new(store.clone(), Arc::new(AuditLog), "keyward-system", Origin { now, uid });
        writer.prepare().await.expect("the store is readable");
        let router = Api::new(writer.clone(), Arc::new(Derived), Arc::new(Everybody)).router();
        Self { store, writer, router }
    }

    pub(crate) async fn compact(&self) {
        let now = self.store.revision().await.expect("a revision");
        self.store.compact(now).await.expect("a compaction");
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: String,
    ) -> Answer {
        let method: Method = method.parse().expect("a method");
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let request = request.body(Body::from(body)).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        let code = response.status().as_u16();
        let mut shown = BTreeMap::new();
        for name in HEADERS {
            let values: Vec<&str> =
                response.headers().get_all(*name).iter().filter_map(|value| value.to_str().ok()).collect();
            if !values.is_empty() {
                shown.insert((*name).to_owned(), values.join(", "));
            }
        }
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a whole body");
        let text = String::from_utf8(bytes.to_vec()).expect("text");
        let is_watch = code == 200 && path.contains("watch=");
        let body = serde_json::from_str(&text).ok().filter(|_| !is_watch).unwrap_or_else(|| {
            let lines = text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| line.into()));
            Value::Array(lines.collect())
        });
        Answer { code, headers: shown, body }
    }

    pub(crate) async fn json(&self, method: &str, path: &str, body: &Value) -> Answer {
        let json = ("content-type".to_owned(), "application/json".to_owned());
        self.send(method, path, &[json], body.to_string()).await
    }

    pub(crate) async fn patch(&self, path: &str, patch_type: &str, body: &Value) -> Answer {
        let content_type = ("content-type".to_owned(), format!("application/{patch_type}"));
        self.send("PATCH", path, &[content_type], body.to_string()).await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], String::new()).await
    }

    /// The events of a watch as they come.
    pub(crate) async fn watch(&self, path: &str) -> impl futures::Stream<Item = Value> + Unpin + use<> {
        let request = Request::builder().uri(path).body(Body::empty()).expect("a request");
        let response = self.router.clone().oneshot(request).await.expect("the router answers");
        assert_eq!(response.status(), 200, "{path}");
        let lines = response.into_body().into_data_stream();
        lines.map(|line| serde_json::from_slice(&line.expect("a line")).expect("JSON"))
    }
}
