//! Answers: objects as JSON, errors as Kubernetes `Status` objects.

use axum::Json;
use axum::http::header::{ALLOW, WARNING};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use keyward_resource::{ApiStatus, Kind};
use keyward_store::StoreError;
use serde_json::Value;

/// Answers with an error.
pub(crate) fn failure(status: ApiStatus) -> Response {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let retry_after = status.retry_after();
    let mut response = (code, Json(status)).into_response();
    if let Some(seconds) = retry_after {
        response.headers_mut().insert("retry-after", HeaderValue::from(seconds));
    }
    response
}

/// Answers that a method is not served here, and which are.
pub(crate) fn not_allowed(methods: &'static str) -> Response {
    not_allowed_because(methods, ApiStatus::method_not_allowed())
}

/// Answers that a method is not served here, and which are, and why.
pub(crate) fn not_allowed_because(methods: &'static str, why: ApiStatus) -> Response {
    let mut response = failure(why);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    response
}

/// Answers with JSON and with warnings for whoever sent the request.
pub(crate) fn success(code: StatusCode, value: &Value, warnings: &[String]) -> Response {
    let mut response = (code, Json(value)).into_response();
    for header in warnings.iter().filter_map(|text| warning(text)) {
        response.headers_mut().append(WARNING, header);
    }
    response
}

/// A warning as a header.
pub(crate) fn warning(text: &str) -> Option<HeaderValue> {
    // Code, agent and text as RFC 7234 section 5.5 has them; the agent is unknown to Kubernetes too.
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    HeaderValue::from_str(&format!("299 - \"{quoted}\"")).ok()
}

/// The answer to a store error on an object of this kind.
pub(crate) fn store_error(kind: &Kind, name: &str, error: StoreError) -> ApiStatus {
    match error {
        StoreError::NotFound { .. } => ApiStatus::not_found(kind, name),
        StoreError::AlreadyExists { .. } => ApiStatus::already_exists(kind, name),
        StoreError::Conflict { .. } => ApiStatus::conflict(kind, name),
        StoreError::Compacted { .. } => ApiStatus::expired(
            "The resourceVersion for the provided watch or list is too old: list again and go on from there",
        ),
        other => {
            // What went wrong inside is for the log; the caller learns that it was not their fault.
            tracing::error!(kind = kind.name, %name, "the store failed: {:#}", anyhow::Error::new(other));
            ApiStatus::internal("the store failed; the log of the control server says why")
        }
    }
}
