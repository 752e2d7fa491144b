//! Requests on the REST port: a span and a count for each.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::Method as Verb;
use keyward_resource::KINDS;
use keyward_trace::{Calls, Meter, Method, SPANS};
use tracing::Instrument as _;
use tracing::field::Empty;

/// What the span of a request is called.
pub(super) const NAME: &str = "rest.request";
/// What stands for a path that is none of ours.
const OTHER: &str = "other";
/// Paths that are no objects.
const PATHS: [&str; 12] = [
    "/healthz",
    "/readyz",
    "/livez",
    "/version",
    "/api",
    "/api/v1",
    "/apis",
    "/openapi/v2",
    "/openapi/v3",
    "/keyward/v1/sync",
    "/keyward/v1/usage",
    "/keyward/v1/whoami",
];
/// What else we serve, all paths below it together.
const PREFIXES: [&str; 3] = ["/keyward/v1/", "/openapi/v3/", "/apis/"];

/// The same API: each request is a span, and is counted.
pub(crate) fn traced(api: Router, calls: &Calls) -> Router {
    api.layer(from_fn(span)).layer(Meter::new(calls.clone(), method, Body::new))
}

async fn span(request: Request, next: Next) -> Response {
    let (method, route) = (verb(request.method()), route(request.uri().path()));
    let span = tracing::info_span!(target: SPANS, NAME, method, route, code = Empty, failed = Empty);
    let response = next.run(request).instrument(span.clone()).await;
    span.record("code", response.status().as_u16());
    if response.status().is_server_error() {
        span.record("failed", true);
    }
    response
}

fn method(request: &Request) -> Method {
    let name = format!("{} {}", verb(request.method()), route(request.uri().path()));
    Method { side: "rest", name: name.into() }
}

/// A client may make up any method.
fn verb(method: &Verb) -> &'static str {
    let known = [Verb::GET, Verb::HEAD, Verb::POST, Verb::PUT, Verb::PATCH, Verb::DELETE];
    match known.iter().position(|known| known == method) {
        Some(0) => "GET",
        Some(1) => "HEAD",
        Some(2) => "POST",
        Some(3) => "PUT",
        Some(4) => "PATCH",
        Some(5) => "DELETE",
        _ => "OTHER",
    }
}

/// What a path leads to, without the names in it: whoever asks may write anything there.
fn route(path: &str) -> String {
    let path = path.trim_end_matches('/');
    if PATHS.contains(&path) {
        return path.to_owned();
    }
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let of_object = match parts.as_slice() {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => objects(rest),
        _ => None,
    };
    let below = || PREFIXES.into_iter().find(|prefix| path.starts_with(prefix)).map(|it| format!("{it}..."));
    of_object.or_else(below).unwrap_or_else(|| OTHER.to_owned())
}

/// `virtualservices/{name}/status`.
fn objects(parts: &[&str]) -> Option<String> {
    let parts = match parts {
        ["namespaces", _, rest @ ..] if !matches!(rest, [] | ["status" | "finalize"]) => rest,
        parts => parts,
    };
    let (plural, rest) = parts.split_first()?;
    let kind = KINDS.iter().find(|kind| kind.plural == *plural)?;
    match rest {
        [] => Some(kind.plural.to_owned()),
        [_] => Some(format!("{}/{{name}}", kind.plural)),
        [_, "status"] => Some(format!("{}/{{name}}/status", kind.plural)),
        [_, ..] => Some(format!("{}/{{name}}/...", kind.plural)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_holds_no_name_that_somebody_made_up() {
        for (path, expected) in [
            ("/api/v1/namespaces/team/secrets/alice", "secrets/{name}"),
            ("/api/v1/secrets", "secrets"),
            ("/api/v1/namespaces", "namespaces"),
            ("/api/v1/namespaces/team", "namespaces/{name}"),
            ("/api/v1/namespaces/team/finalize", "namespaces/{name}/..."),
            (
                "/apis/gateway.solo.io/v1/namespaces/a/virtualservices/b/status",
                "virtualservices/{name}/status",
            ),
            ("/apis/enterprise.keyward.io/v1/authconfigs/", "authconfigs"),
            ("/apis/enterprise.keyward.io/v1", "/apis/..."),
            ("/apis", "/apis"),
            ("/keyward/v1/sync", "/keyward/v1/sync"),
            ("/keyward/v1/s3cret", "/keyward/v1/..."),
            ("/api/v1/namespaces/team/s3cret/x", "other"),
            ("/s3cret", "other"),
            ("/", "other"),
            ("", "other"),
        ] {
            assert_eq!(route(path), expected, "{path}");
        }
        assert_eq!(verb(&Verb::from_bytes(b"S3CRET").unwrap()), "OTHER");
        assert_eq!(verb(&Verb::PATCH), "PATCH");
    }
}
