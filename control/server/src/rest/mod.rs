//! REST: every kind through one set of routes, in Kubernetes path style.
//!
//! ```text
//! /api/v1/namespaces/{namespace}/secrets[/{name}]
//! /apis/{group}/{version}/namespaces/{namespace}/{plural}[/{name}]
//! /apis/{group}/{version}/{plural}                                   lists all namespaces
//! /healthz  /readyz
//! ```

mod guard;
mod reply;
mod request;
mod target;
mod verbs;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use keyward_resource::ApiStatus;
use keyward_store::Store;
use tokio::sync::watch;

use self::reply::ApiError;
use crate::published::Published;

pub(crate) use guard::HostGuard;

#[cfg(test)]
mod tests;

/// What the handlers need.
#[derive(Clone)]
pub(crate) struct Api {
    store: Arc<dyn Store>,
    published: watch::Receiver<Arc<Published>>,
    system_namespace: Arc<str>,
    origin: Origin,
}

/// Where times and ids come from.
#[derive(Debug, Clone, Copy)]
struct Origin {
    now: fn() -> jiff::Timestamp,
    uid: fn() -> uuid::Uuid,
}

async fn not_allowed() -> Response {
    ApiError::from(ApiStatus::method_not_allowed()).into_response()
}

async fn readyz(State(api): State<Api>) -> (StatusCode, &'static str) {
    if api.published.borrow().revision.is_some() {
        (StatusCode::OK, "ok\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "not ready: the resources have not been translated yet\n")
    }
}

// === impl Origin ===

impl Origin {
    /// The clock and the random numbers of this machine.
    const SYSTEM: Self = Self { now: jiff::Timestamp::now, uid: uuid::Uuid::new_v4 };
}

// === impl Api ===

impl Api {
    /// An API over this store, with statuses from what was published last.
    pub(crate) fn new(
        store: Arc<dyn Store>,
        published: watch::Receiver<Arc<Published>>,
        system_namespace: &str,
    ) -> Self {
        Self { store, published, system_namespace: system_namespace.into(), origin: Origin::SYSTEM }
    }

    /// The routes. `guard` decides which `Host` headers are answered.
    pub(crate) fn router(self, guard: HostGuard) -> Router {
        Router::new()
            .route("/healthz", get(async || "ok\n").fallback(not_allowed))
            .route("/readyz", get(readyz).fallback(not_allowed))
            .fallback(verbs::dispatch)
            .layer(axum::middleware::from_fn_with_state(guard, guard::check))
            .layer(axum::extract::DefaultBodyLimit::max(request::MAX_BODY))
            .with_state(self)
    }
}
