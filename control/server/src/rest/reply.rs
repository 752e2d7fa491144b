//! Answers: objects as JSON, errors as Kubernetes `Status` objects.

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use keyward_resource::{ApiStatus, Kind};
use keyward_store::StoreError;

/// An error as its caller sees it.
#[derive(Debug)]
pub(super) struct ApiError(Box<ApiStatus>);

/// The answer to a store error on an object of this kind.
pub(super) fn store_error(kind: &Kind, name: &str, error: StoreError) -> ApiError {
    ApiError::from(match error {
        StoreError::NotFound { .. } => ApiStatus::not_found(kind, name),
        StoreError::AlreadyExists { .. } => ApiStatus::already_exists(kind, name),
        StoreError::Conflict { .. } => ApiStatus::conflict(kind, name),
        other => {
            // What went wrong inside is for the log; the caller learns that it was not their fault.
            tracing::error!(kind = kind.name, %name, "the store failed: {:#}", anyhow::Error::new(other));
            ApiStatus::internal("the store failed; the log of the control server says why")
        }
    })
}

// === impl ApiError ===

impl From<ApiStatus> for ApiError {
    fn from(status: ApiStatus) -> Self {
        Self(Box::new(status))
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let code = StatusCode::from_u16(self.0.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (code, Json(*self.0)).into_response()
    }
}
