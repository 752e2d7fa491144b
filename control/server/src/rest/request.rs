//! What a request brings: its body, and the conditions that it sets.

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use keyward_resource::{ApiStatus, Format, parse_body};
use keyward_store::Revision;
use serde_json::Value;

use super::reply::ApiError;

/// The largest body, in bytes; as the Kubernetes API server.
pub(super) const MAX_BODY: usize = 3 * 1024 * 1024;

/// Reads a body by its content type.
pub(super) fn body(headers: &HeaderMap, bytes: &[u8]) -> Result<Value, ApiError> {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    let format = Format::from_content_type(content_type, bytes)
        .ok_or_else(|| ApiError::from(ApiStatus::unsupported_media_type()))?;
    parse_body(bytes, format).map_err(|error| ApiError::from(ApiStatus::malformed(&error)))
}

/// The `metadata.resourceVersion` that an object demands, if any.
pub(super) fn expected_revision(object: &Value) -> Result<Option<Revision>, ApiError> {
    match object.pointer("/metadata/resourceVersion") {
        None => Ok(None),
        Some(Value::String(text)) if text.is_empty() => Ok(None),
        Some(Value::String(text)) => text.parse().map(|revision| Some(Revision(revision))).map_err(|_| {
            ApiError::from(ApiStatus::bad_request(
                "metadata.resourceVersion: must be the one that was read, a number",
            ))
        }),
        Some(_) => Err(ApiError::from(ApiStatus::bad_request("metadata.resourceVersion: must be a string"))),
    }
}
