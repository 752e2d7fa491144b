//! Documents about the API: made once, served with a tag by which clients keep them.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// A document and its tag.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    media_type: &'static str,
    body: Bytes,
    tag: String,
}

/// Whether the header names the tag: RFC 9110, section 13.1.2. The comparison is weak, as that section
/// wants it.
fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known
        .flat_map(|value| value.split(','))
        .map(str::trim)
        .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known).trim_matches('"') == tag)
}

// === impl Document ===

impl Document {
    /// A document of these bytes.
    pub(crate) fn new(media_type: &'static str, body: impl Into<Bytes>) -> Self {
        let body = body.into();
        let tag = Sha256::digest(&body).iter().map(|byte| format!("{byte:02X}")).collect();
        Self { media_type, body, tag }
    }

    /// A document of JSON.
    pub(crate) fn json(media_type: &'static str, value: &Value) -> Self {
        Self::new(media_type, value.to_string())
    }

    /// What it holds, as a hash: the same for the same content.
    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    /// The answer to a request for it. `asked` is the tag in the address, if there is one: then the
    /// answer holds for good.
    pub(crate) fn answer(&self, headers: &HeaderMap, asked: Option<&str>) -> Response {
        let mut response = if is_known(headers, &self.tag) {
            StatusCode::NOT_MODIFIED.into_response()
        } else {
            let media_type = HeaderValue::from_static(self.media_type);
            ([(CONTENT_TYPE, media_type)], Body::from(self.body.clone())).into_response()
        };
        let added = response.headers_mut();
        added.insert(VARY, HeaderValue::from_static("Accept"));
        // A hexadecimal number in quotes is a header value.
        if let Ok(tag) = HeaderValue::try_from(format!("\"{}\"", self.tag)) {
            added.insert(ETAG, tag);
        }
        let caching =
            if asked == Some(self.tag()) { "public, immutable, max-age=31536000" } else { "no-cache" };
        added.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
        response
    }
}
