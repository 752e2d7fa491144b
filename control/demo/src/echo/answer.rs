//! One request in, the same request out as JSON.

use std::future::poll_fn;
use std::pin::Pin;

use axum::body::{Body, HttpBody as _};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use base64::Engine as _;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The longest request body that is taken, in bytes; a longer one is answered with 413.
pub const MAX_BODY: usize = 16 * 1024 * 1024;

const ADD_HEADER: &str = "x-echo-response-header";
const SET_STATUS: &str = "x-echo-status";

/// A request as the upstream saw it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Echo {
    /// The method.
    pub method: String,
    /// The path, as it was sent.
    pub path: String,
    /// What stands behind the `?`, if there is one.
    pub query: Option<String>,
    /// Names in lower case, each as often as it was sent; the values of one name in their order.
    /// Bytes that are no UTF-8 are written as `\xff`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// How `body` is written.
    pub body_encoding: BodyEncoding,
    /// The trailers, as the headers.
    pub trailers: Vec<(String, String)>,
}

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BodyEncoding {
    /// As text.
    Utf8,
    /// In base64, because it is no UTF-8.
    Base64,
}

/// Why a request is not echoed.
#[derive(Debug, thiserror::Error)]
enum Refusal {
    #[error("the body is longer than {MAX_BODY} bytes")]
    TooLong,
    #[error("the body could not be read: {0}")]
    Broken(axum::Error),
    #[error("{SET_STATUS} must be a status from 200 to 599")]
    Status,
    #[error("{ADD_HEADER} must read `name: value`")]
    Header,
}

pub(super) async fn answer(request: Request) -> Response {
    match echo(request).await {
        Ok(response) => response,
        Err(refusal) => {
            let status = match refusal {
                Refusal::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
                Refusal::Broken(_) | Refusal::Status | Refusal::Header => StatusCode::BAD_REQUEST,
            };
            (status, format!("{refusal}\n")).into_response()
        }
    }
}

async fn echo(request: Request) -> Result<Response, Refusal> {
    let (parts, body) = request.into_parts();
    let status = wanted_status(&parts.headers)?;
    let extra = wanted_headers(&parts.headers)?;
    let (body, trailers) = read(body).await?;
    let (body, body_encoding) = match String::from_utf8(body) {
        Ok(text) => (text, BodyEncoding::Utf8),
        Err(error) => {
            (base64::engine::general_purpose::STANDARD.encode(error.as_bytes()), BodyEncoding::Base64)
        }
    };
    let echo = Echo {
        method: parts.method.to_string(),
        path: parts.uri.path().to_owned(),
        query: parts.uri.query().map(str::to_owned),
        headers: list(&parts.headers),
        body,
        body_encoding,
        trailers: list(&trailers),
    };
    let mut response = (status, [(header::CONTENT_TYPE, "application/json")], echo.to_text()).into_response();
    for (name, value) in extra {
        response.headers_mut().append(name, value);
    }
    Ok(response)
}

fn wanted_status(headers: &HeaderMap) -> Result<StatusCode, Refusal> {
    let Some(value) = headers.get(SET_STATUS) else { return Ok(StatusCode::OK) };
    StatusCode::from_bytes(value.as_bytes())
        .ok()
        .filter(|status| (200..600).contains(&status.as_u16()))
        .ok_or(Refusal::Status)
}

fn wanted_headers(headers: &HeaderMap) -> Result<Vec<(HeaderName, HeaderValue)>, Refusal> {
    headers
        .get_all(ADD_HEADER)
        .iter()
        .map(|line| {
            let line = line.as_bytes();
            let colon = line.iter().position(|byte| *byte == b':').ok_or(Refusal::Header)?;
            let (name, value) = line.split_at(colon);
            let value = value.strip_prefix(b":").unwrap_or(value).trim_ascii();
            let name = HeaderName::from_bytes(name.trim_ascii()).map_err(|_| Refusal::Header)?;
            Ok((name, HeaderValue::from_bytes(value).map_err(|_| Refusal::Header)?))
        })
        .collect()
}

/// Reads by frames, because the trailers come as the last of them.
async fn read(mut body: Body) -> Result<(Vec<u8>, HeaderMap), Refusal> {
    let mut bytes = Vec::new();
    let mut trailers = HeaderMap::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        match frame.map_err(Refusal::Broken)?.into_data() {
            Ok(data) if bytes.len() + data.len() > MAX_BODY => return Err(Refusal::TooLong),
            Ok(data) => bytes.extend_from_slice(&data),
            Err(frame) => {
                if let Ok(more) = frame.into_trailers() {
                    trailers.extend(more);
                }
            }
        }
    }
    Ok((bytes, trailers))
}

fn list(headers: &HeaderMap) -> Vec<(String, String)> {
    headers.iter().map(|(name, value)| (name.to_string(), text(value.as_bytes()))).collect()
}

fn text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

// === impl Echo ===

impl Echo {
    /// As JSON with a line for each field and each header, for people.
    fn to_text(&self) -> String {
        let fields = [
            ("method", json!(self.method)),
            ("path", json!(self.path)),
            ("query", json!(self.query)),
            ("headers", json!(self.headers)),
            ("body", json!(self.body)),
            ("bodyEncoding", json!(self.body_encoding)),
            ("trailers", json!(self.trailers)),
        ];
        let lines = fields.map(|(name, value)| match value {
            Value::Array(items) if !items.is_empty() => {
                let items: Vec<String> = items.iter().map(|item| format!("    {item}")).collect();
                format!("  \"{name}\": [\n{}\n  ]", items.join(",\n"))
            }
            other => format!("  \"{name}\": {other}"),
        });
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }

    /// The values of a header, by its name in lower case.
    pub fn header<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(have, _)| have == name).map(|(_, value)| value.as_str())
    }
}
