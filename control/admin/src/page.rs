//! Pages for people.

use std::fmt;

use axum::body::Body;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;

/// What an answer is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// For programs.
    Json,
    /// For terminals.
    Text,
    /// For browsers.
    Html,
}

/// A text in HTML, with nothing in it that would be taken for a tag.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

/// Whether a browser asks.
pub(crate) fn wants_html(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/html"))
}

/// A page for terminals.
pub(crate) fn text(text: String) -> Response {
    respond(text, "text/plain; charset=utf-8")
}

/// A page for browsers.
pub(crate) fn html(title: &str, body: &str) -> Response {
    let title = Escaped(title);
    let style = "body{font-family:sans-serif}table{border-collapse:collapse}\
                 td,th{border:1px solid #ccc;padding:.2em .6em;text-align:left}td.n{text-align:right}";
    let page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<style>{style}</style>\n\
         <h1>{title}</h1>\n{body}"
    );
    respond(page, "text/html; charset=utf-8")
}

fn respond(text: String, kind: &'static str) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

// === impl Escaped ===

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}
