//! The REST port: the resource API ([`keyward_api`]) behind a guard, and whether the server is well.

mod guard;
mod logs;
mod paths;
mod proxies;
mod records;
mod served;
mod sync;
mod usage;
mod version;
mod whoami;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Extension, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use jiff::Timestamp;
use keyward_api::{Api, Authorizer, Statuses, Stored, Writer};
use keyward_resource::{Kind, ObjectKey, Saying};
use keyward_store::{Key, Revision};
use serde_json::Value;
use tokio::sync::watch;

use self::paths::Paths;
use crate::published::Published;

pub(crate) use guard::HostGuard;
pub(crate) use logs::LogReader;
pub(crate) use served::Served;
pub(crate) use sync::Sync;
pub(crate) use usage::Uses;

#[cfg(test)]
mod tests;

/// What was published last, as the API asks for it.
type Reports = watch::Receiver<Arc<Published>>;

/// Says what was published of objects that have no stored status.
struct Derived {
    published: Reports,
    system_namespace: Arc<str>,
}

/// What the paths beside the resource API ask.
pub(crate) struct Own {
    pub(crate) sync: Sync,
    pub(crate) uses: Uses,
    pub(crate) served: Served,
    pub(crate) logs: LogReader,
    pub(crate) keys: records::Keys,
}

/// Everything on the port. `guard` decides which `Host` headers are answered.
pub(crate) fn router(
    writer: Writer,
    authorizer: Arc<dyn Authorizer>,
    published: Reports,
    system_namespace: &str,
    guard: HostGuard,
    own: Own,
) -> Router {
    let Own { sync, uses, served, keys, logs } = own;
    let derived = Derived { published: published.clone(), system_namespace: system_namespace.into() };
    let confirm = Arc::new(sync.workers.clone());
    let (workers, ads, started) = (sync.workers.clone(), sync.ads.clone(), Timestamp::now());
    let connected = proxies::Connected { workers, ads, namespace: system_namespace.into(), started };
    let beside = Paths::default()
        .route(sync::PATH, get(sync::sync).with_state(sync))
        .route(proxies::PATH, get(proxies::proxies).with_state(connected))
        .route(whoami::PATH, post(whoami::whoami).with_state(published.clone()))
        .route(usage::PATH, get(usage::usage).with_state(uses))
        .route(served::PATH, get(served::served).with_state(served))
        .route(logs::PATH, logs::methods(logs))
        .route(records::PATH, post(records::records).with_state(keys));
    let api = Api::new(writer, Arc::new(derived), Arc::clone(&authorizer)).confirmed_by(confirm);
    let api = api.beside(beside.known()).router();
    let beside = beside.into_router().layer(Extension(authorizer));
    let known = beside.fallback_service(api).layer(axum::middleware::map_response(version::say));
    let all = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(readyz))
        .with_state(published)
        .fallback_service(known);
    guarded(all, guard)
}

/// A port that keeps web pages out.
pub(crate) fn guarded(router: Router, guard: HostGuard) -> Router {
    router.layer(axum::middleware::from_fn_with_state(guard, guard::check))
}

async fn readyz(State(published): State<Reports>) -> (StatusCode, &'static str) {
    if published.borrow().revision.is_some() {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready: the resources have not been translated yet\n")
    }
}

// === impl Derived ===

impl Statuses for Derived {
    fn status(&self, kind: &'static Kind, key: &Key, revision: Revision, stored: &Stored) -> Option<Value> {
        if !kind.is_namespaced() {
            return None;
        }
        let published = self.published.borrow().clone();
        let object = ObjectKey::new(kind.name, &key.namespace, &key.name);
        let report = published.report(&object, revision);
        let metadata = &stored.object["metadata"];
        let saying = Saying {
            system_namespace: &self.system_namespace,
            generation: metadata["generation"].as_i64().unwrap_or(1),
            report: report.as_ref(),
            proxies: &BTreeMap::new(),
        };
        // Nobody keeps since when it is so; it was not before the object was there.
        let since = metadata["creationTimestamp"].as_str().unwrap_or_default();
        Some(saying.status(None, since))
    }
}
