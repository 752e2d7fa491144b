//! The page at `/`: what else there is, with a line for each.

use std::fmt::Write as _;

use axum::Router;
use axum::body::Body;
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;

use crate::envelope;
use crate::query::Pretty;

/// An endpoint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint {
    /// `GET`.
    pub(crate) method: &'static str,
    /// `/logging`.
    pub(crate) path: &'static str,
    /// What it is for, in a line.
    pub(crate) about: &'static str,
}

/// A page of a port.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) title: &'static str,
    pub(crate) endpoints: Vec<Endpoint>,
}

/// What every port says of paths and methods that it does not have.
pub(crate) fn with_fallbacks(router: Router) -> Router {
    router
        .fallback(async || {
            envelope::failed(StatusCode::NOT_FOUND, "there is nothing here; / lists what there is", false)
        })
        .method_not_allowed_fallback(async || {
            let why = "this endpoint does not have the method; the Allow header says which it has";
            envelope::failed(StatusCode::METHOD_NOT_ALLOWED, why, false)
        })
}

// === impl Page ===

impl Page {
    /// The page, for browsers or for terminals.
    pub(crate) fn show(&self, headers: &HeaderMap, _: Pretty) -> Response {
        let accept = headers.get(ACCEPT).and_then(|accept| accept.to_str().ok()).unwrap_or_default();
        let (kind, text) = if accept.contains("text/html") {
            ("text/html; charset=utf-8", self.html())
        } else {
            ("text/plain; charset=utf-8", self.text())
        };
        let mut response = Response::new(Body::from(text));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }

    fn text(&self) -> String {
        let width = self.endpoints.iter().map(|endpoint| endpoint.path.len()).max().unwrap_or_default();
        let mut text = format!("{}\n\n", self.title);
        for Endpoint { method, path, about } in &self.endpoints {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{method:<4} {path:<width$}  {about}");
        }
        text
    }

    fn html(&self) -> String {
        let title = self.title;
        let mut html = format!("<!doctype html>\n<title>{title}</title>\n<h1>{title}</h1>\n<table>\n");
        for Endpoint { method, path, about } in &self.endpoints {
            let shown = if *method == "GET" && !path.contains('{') {
                format!("<a href=\"{path}\">{path}</a>")
            } else {
                (*path).to_owned()
            };
            let _ = writeln!(html, "<tr><td>{method}<td>{shown}<td>{about}");
        }
        html.push_str("</table>\n");
        html
    }
}
