//! What a request brings: its body, and the conditions that it sets.

use axum::http::HeaderMap;
use axum::http::header::{CONTENT_TYPE, USER_AGENT};
use keyward_resource::{ApiStatus, Format, parse_body};
use keyward_store::Revision;
use serde_json::Value;

use crate::protobuf;
use crate::query;
use crate::writer::Preconditions;

/// The largest body, in bytes; as the Kubernetes API server.
pub const MAX_BODY: usize = 3 * 1024 * 1024;

/// The manager of whoever says nothing about themselves.
const UNKNOWN_MANAGER: &str = "unknown";

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchType {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// Kubernetes' own, for kinds whose lists have keys.
    Strategic,
    /// Server-side apply.
    Apply,
}

/// Reads a body by its content type.
pub(crate) fn body(headers: &HeaderMap, bytes: &[u8]) -> Result<Value, ApiStatus> {
    let content_type = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("?"));
    if content_type.is_some_and(|media_type| media_type.split(';').next() == Some(protobuf::MEDIA_TYPE)) {
        return protobuf::decode(bytes);
    }
    let format =
        Format::from_content_type(content_type, bytes).ok_or_else(ApiStatus::unsupported_media_type)?;
    parse_body(bytes, format).map_err(|error| ApiStatus::malformed(&error))
}

/// Reads a patch by its content type.
pub(crate) fn patch(headers: &HeaderMap, bytes: &[u8]) -> Result<(PatchType, Value), ApiStatus> {
    let content_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (patch_type, format) = match essence.as_str() {
        "application/json-patch+json" => (PatchType::Json, Format::Json),
        "application/merge-patch+json" => (PatchType::Merge, Format::Json),
        "application/strategic-merge-patch+json" => (PatchType::Strategic, Format::Json),
        "application/apply-patch+yaml" => (PatchType::Apply, Format::Yaml),
        _ => return Err(ApiStatus::unsupported_patch_type(true)),
    };
    // JSON is YAML, but reads faster by itself, and clients send it under the name of YAML.
    let format = match Format::from_content_type(None, bytes) {
        Some(Format::Json) => Format::Json,
        _ => format,
    };
    let value = parse_body(bytes, format).map_err(|error| ApiStatus::malformed(&error))?;
    Ok((patch_type, value))
}

/// The field manager that a request comes from: as it says, or the first word of its user agent.
pub(crate) fn manager(named: Option<&str>, headers: &HeaderMap) -> String {
    let of_agent = || {
        let agent = headers.get(USER_AGENT)?.to_str().ok()?;
        let word = agent.split('/').next().unwrap_or_default().trim();
        (!word.is_empty()).then(|| word.chars().filter(|char| !char.is_control()).take(128).collect())
    };
    named.map(str::to_owned).or_else(of_agent).unwrap_or_else(|| UNKNOWN_MANAGER.to_owned())
}

/// What a `DELETE` brings.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    pub(crate) preconditions: Preconditions,
    pub(crate) dry_run: bool,
}

/// The fields of `DeleteOptions`. How and when dependents go does not matter: there are none.
const DELETE_OPTIONS: &[&str] = &[
    "apiVersion",
    "kind",
    "preconditions",
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
];

fn text(value: &Value, path: &str) -> Result<Option<String>, ApiStatus> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(ApiStatus::bad_request(format!("{path}: must be a string"))),
    }
}

fn dry_run(value: &Value) -> Result<bool, ApiStatus> {
    match value {
        Value::Null => Ok(false),
        Value::Array(items) if items.iter().all(|item| item == "All") => Ok(!items.is_empty()),
        _ => Err(ApiStatus::bad_request("dryRun: Invalid value: must be [\"All\"]")),
    }
}

// === impl DeleteOptions ===

impl DeleteOptions {
    /// Reads the `DeleteOptions` of a request; without a body there are none.
    pub(crate) fn read(headers: &HeaderMap, bytes: &[u8]) -> Result<Self, ApiStatus> {
        if bytes.is_empty() {
            return Ok(Self::default());
        }
        let options = body(headers, bytes)?;
        let fields = options
            .as_object()
            .ok_or_else(|| ApiStatus::bad_request("the body of a DELETE must be DeleteOptions"))?;
        if let Some(unknown) = fields.keys().find(|field| !DELETE_OPTIONS.contains(&field.as_str())) {
            return Err(ApiStatus::bad_request(format!("{unknown}: unknown field of DeleteOptions")));
        }
        let conditions = &options["preconditions"];
        let revision: Option<Revision> =
            match text(&conditions["resourceVersion"], "preconditions.resourceVersion")? {
                Some(version) => Some(query::revision(&version)?),
                None => None,
            };
        let uid = text(&conditions["uid"], "preconditions.uid")?;
        Ok(Self { preconditions: Preconditions { uid, revision }, dry_run: dry_run(&options["dryRun"])? })
    }
}
