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
    match object.pointer("/metadata/resourceVersion").and_then(Value::as_str) {
        None | Some("") => Ok(None),
        Some(version) => revision(version).map(Some),
    }
}

fn revision(version: &str) -> Result<Revision, ApiError> {
    version.parse().map(Revision).map_err(|_| {
        ApiError::from(ApiStatus::bad_request("resourceVersion: must be the one that was read, a number"))
    })
}

/// What must hold for a deletion to take place.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Preconditions {
    uid: Option<String>,
    revision: Option<Revision>,
}

/// Query parameters that may be passed over: they change how an answer looks, or ask for what is
/// done anyway.
const HARMLESS: &[&str] =
    &["pretty", "fieldManager", "fieldValidation", "limit", "timeout", "timeoutSeconds"];

/// Refuses what would be done otherwise than it was asked for: a dry run that changes something, a
/// selection that selects everything.
pub(super) fn check_query(query: Option<&str>) -> Result<(), ApiError> {
    let parameters = query.unwrap_or_default().split('&').filter(|parameter| !parameter.is_empty());
    for parameter in parameters {
        let name = parameter.split('=').next().unwrap_or_default();
        if !HARMLESS.contains(&name) {
            let message =
                format!("the query parameter {name:?} is not served; there are: {}", HARMLESS.join(", "));
            return Err(ApiError::from(ApiStatus::bad_request(message)));
        }
    }
    Ok(())
}

fn text(value: &Value, path: &str) -> Result<Option<String>, ApiError> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(ApiError::from(ApiStatus::bad_request(format!("{path}: must be a string")))),
    }
}

// === impl Preconditions ===

impl Preconditions {
    /// Reads the `DeleteOptions` of a request; without a body there are none.
    pub(super) fn of_delete(headers: &HeaderMap, bytes: &[u8]) -> Result<Self, ApiError> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let options = body(headers, bytes)?;
        let fields = options.as_object().ok_or_else(|| {
            ApiError::from(ApiStatus::bad_request("the body of a DELETE must be DeleteOptions"))
        })?;
        // How and when dependents go does not matter here: there are none.
        let known = [
            "apiVersion",
            "kind",
            "preconditions",
            "gracePeriodSeconds",
            "orphanDependents",
            "propagationPolicy",
        ];
        if let Some(unknown) = fields.keys().find(|field| !known.contains(&field.as_str())) {
            let message = format!("{unknown}: unknown field of DeleteOptions");
            return Err(ApiError::from(ApiStatus::bad_request(message)));
        }
        let conditions = &options["preconditions"];
        Ok(Self {
            uid: text(&conditions["uid"], "preconditions.uid")?,
            revision: match text(&conditions["resourceVersion"], "preconditions.resourceVersion")? {
                Some(version) => Some(revision(&version)?),
                None => None,
            },
        })
    }

    /// Whether anything must hold.
    pub(super) fn are_set(&self) -> bool {
        *self != Self::default()
    }

    /// Whether it holds for an object.
    pub(super) fn allow(&self, uid: &str, revision: Revision) -> bool {
        self.uid.as_deref().is_none_or(|expected| expected == uid)
            && self.revision.is_none_or(|expected| expected == revision)
    }
}
