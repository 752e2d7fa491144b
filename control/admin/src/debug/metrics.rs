//! `/metrics`: counts, for Prometheus.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use axum::routing::get;

use crate::envelope;
use crate::index::Endpoint;
use crate::query::Pretty;

pub(super) const ENDPOINTS: [Endpoint; 1] = [Endpoint {
    method: "GET",
    path: "/metrics",
    about: "metrics in the text format of Prometheus (OpenMetrics)",
}];

/// The form of the text.
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Where the metrics are.
pub trait Metrics: Send + Sync + 'static {
    /// All of them, in the text format of OpenMetrics.
    ///
    /// # Errors
    ///
    /// When they cannot be written out.
    fn text(&self) -> Result<String, String>;
}

pub(super) fn router(metrics: &Arc<dyn Metrics>) -> Router {
    Router::new().route("/metrics", get(show)).with_state(Arc::clone(metrics))
}

async fn show(State(metrics): State<Arc<dyn Metrics>>, _: Pretty) -> Response {
    match metrics.text() {
        Ok(text) => {
            let mut response = Response::new(Body::from(text));
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(OPEN_METRICS));
            response
        }
        Err(why) => envelope::failed(StatusCode::INTERNAL_SERVER_ERROR, &why, false),
    }
}
