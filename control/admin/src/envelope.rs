//! The form of every answer: `{"status", "data", "error"}`.

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use serde::Serialize;
use serde_json::Value;

/// What is shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// About the data: how new, whether all of it.
    pub status: String,
    /// The data, nothing secret in them.
    pub data: Value,
}

/// Why nothing can be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// There is no such thing.
    NotFound(String),
    /// Not yet, or not now.
    Unavailable(String),
    /// Something is wrong with the server.
    Internal(String),
}

#[derive(Serialize)]
struct Envelope<'a> {
    status: &'a str,
    data: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// The answer to a question about data.
pub(crate) fn answer(outcome: Result<Shown, Failure>, pretty: bool) -> Response {
    match outcome {
        Ok(Shown { status, data }) => {
            let envelope = Envelope { status: &status, data: &data, error: None };
            respond(StatusCode::OK, &envelope, pretty)
        }
        Err(failure) => failed(failure.code(), failure.message(), pretty),
    }
}

/// An answer that says what went wrong.
pub(crate) fn failed(code: StatusCode, error: &str, pretty: bool) -> Response {
    respond(code, &Envelope { status: "failed", data: &Value::Null, error: Some(error) }, pretty)
}

/// JSON as an answer.
pub(crate) fn respond(code: StatusCode, content: &impl Serialize, pretty: bool) -> Response {
    let text = if pretty { serde_json::to_string_pretty(content) } else { serde_json::to_string(content) };
    let (code, mut text) = match text {
        Ok(text) => (code, text),
        Err(_) => (
            StatusCode::INTERNAL_SERVER_ERROR,
            r#"{"status":"failed","data":null,"error":"the answer is no JSON"}"#.to_owned(),
        ),
    };
    text.push('\n');
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

// === impl Failure ===

impl Failure {
    fn code(&self) -> StatusCode {
        match self {
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    fn message(&self) -> &str {
        match self {
            Self::NotFound(message) | Self::Unavailable(message) | Self::Internal(message) => message,
        }
    }
}
