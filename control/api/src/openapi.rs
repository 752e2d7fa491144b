//! OpenAPI: what the fields of objects are, for `kubectl explain` and for validation by clients.
//!
//! ```text
//!  field tables of the kinds ─▶ schemas ─┬▶ /openapi/v3/apis/{group}/{version}, an index at /openapi/v3
//!  verbs ─▶ operations ──────────────────┴▶ /openapi/v2, as JSON and as protobuf for old clients
//! ```
//!
//! Everything is made once, when the first client asks: it depends on the program alone.

mod meta;
mod operation;
mod protobuf;
mod schema;
mod v2;
mod v3;

use std::sync::LazyLock;

use axum::response::Response;
use keyward_resource::{ApiStatus, kind};
use serde_json::{Map, Value, json};

use crate::accept::Accept;
use crate::dispatch::Lookup;
use crate::document::Document;
use crate::reply::failure;

/// Everything that is served.
struct Documents {
    index: Document,
    /// By path below `/openapi/v3`: `apis/gateway.keyward.io/v1`.
    versions: Vec<(String, Document)>,
    v2_json: Document,
    v2_protobuf: Document,
}

static DOCUMENTS: LazyLock<Documents> = LazyLock::new(Documents::new);

/// The media types under which old clients ask for protobuf. The second is a well-formed one.
const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
];
const JSON: &str = "application/json";

/// Answers `/openapi/v2` and everything under `/openapi/v3`.
pub(crate) fn answer(lookup: &Lookup<'_>) -> Option<Response> {
    let rest = lookup.path.strip_prefix("/openapi/")?;
    let (path, accept) = (rest.trim_end_matches('/'), Accept::of(lookup.headers));
    let json = |document| accept.first(|range| range.takes(JSON).then_some(document));
    let document = match path {
        "v2" => accept.first(|range| {
            let protobuf = PROTOBUF.iter().any(|media_type| range.takes(media_type));
            match (range.takes(JSON), protobuf) {
                (true, _) => Some(&DOCUMENTS.v2_json),
                (false, true) => Some(&DOCUMENTS.v2_protobuf),
                (false, false) => None,
            }
        }),
        "v3" => json(&DOCUMENTS.index),
        _ => {
            let version = path.strip_prefix("v3/")?;
            let (_, document) = DOCUMENTS.versions.iter().find(|(path, _)| path == version)?;
            json(document)
        }
    };
    let asked = lookup.query.and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("hash=")));
    Some(match document {
        Some(document) => document.answer(lookup.headers, asked),
        None => failure(ApiStatus::not_acceptable()),
    })
}

// === impl Documents ===

impl Documents {
    fn new() -> Self {
        let versions: Vec<(String, Document)> = kind::served()
            .into_iter()
            .map(|served| {
                let root = if served.group.is_empty() { "api" } else { "apis" };
                (format!("{root}/{served}"), Document::json(JSON, &v3::document(served)))
            })
            .collect();
        let paths: Map<String, Value> = versions
            .iter()
            .map(|(path, document)| {
                let address = format!("/openapi/v3/{path}?hash={}", document.tag());
                (path.clone(), json!({ "serverRelativeURL": address }))
            })
            .collect();
        let v2 = v2::document();
        Self {
            index: Document::json(JSON, &json!({ "paths": paths })),
            versions,
            v2_json: Document::json(JSON, &v2),
            v2_protobuf: Document::new(PROTOBUF[1], protobuf::document(&v2)),
        }
    }
}

#[cfg(test)]
mod tests;
