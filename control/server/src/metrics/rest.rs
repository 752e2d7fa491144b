//! Requests on the REST port.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use keyward_resource::KINDS;
use tokio::time::Instant;

use super::Metrics;

/// The kind of requests that are about no object.
const NO_KIND: &str = "none";

/// The same API, counted.
pub(crate) fn counted(api: Router, metrics: &Metrics) -> Router {
    api.layer(from_fn_with_state(metrics.clone(), count))
}

async fn count(State(metrics): State<Metrics>, request: Request, next: Next) -> Response {
    let (verb, kind) = (verb(&request), kind(request.uri().path()));
    let begun = Instant::now();
    let response = next.run(request).await;
    let took = begun.elapsed().as_secs_f64();
    let code = code(response.status());
    metrics.0.requests.get_or_create(&[("verb", verb), ("kind", kind), ("code", code)]).inc();
    metrics.0.request_seconds.get_or_create(&[("verb", verb), ("kind", kind)]).observe(took);
    response
}

fn verb(request: &Request) -> &'static str {
    let watches = || {
        let query = request.uri().query().unwrap_or_default();
        query.split('&').any(|pair| matches!(pair, "watch" | "watch=" | "watch=1" | "watch=true"))
    };
    match *request.method() {
        Method::GET if watches() => "WATCH",
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        // A client may make up any method.
        _ => "OTHER",
    }
}

/// The kind of object that a request is about; none if it is about none that there is.
fn kind(path: &str) -> &'static str {
    let mut parts = path.split('/').filter(|part| !part.is_empty());
    let skipped = match parts.next() {
        // /api/v1
        Some("api") => 1,
        // /apis/<group>/<version>
        Some("apis") => 2,
        _ => return NO_KIND,
    };
    let parts: Vec<&str> = parts.skip(skipped).collect();
    let plural = match parts.as_slice() {
        ["namespaces", _, plural, ..] | [plural, ..] => plural,
        [] => return NO_KIND,
    };
    KINDS.iter().find(|kind| kind.plural == *plural).map_or(NO_KIND, |kind| kind.name)
}

/// A code that this server answers with, and of others the class.
fn code(code: StatusCode) -> &'static str {
    match code.as_u16() {
        200 => "200",
        201 => "201",
        202 => "202",
        400 => "400",
        401 => "401",
        403 => "403",
        404 => "404",
        405 => "405",
        406 => "406",
        409 => "409",
        410 => "410",
        413 => "413",
        415 => "415",
        422 => "422",
        429 => "429",
        500 => "500",
        503 => "503",
        504 => "504",
        _ => class(code),
    }
}

fn class(code: StatusCode) -> &'static str {
    match code.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_about_a_kind_that_there_is_or_about_none() {
        for (path, expected) in [
            ("/api/v1/namespaces/team/secrets/alice", "Secret"),
            ("/api/v1/secrets", "Secret"),
            ("/api/v1/namespaces", "Namespace"),
            ("/api/v1/namespaces/team", "Namespace"),
            ("/apis/gateway.solo.io/v1/namespaces/a/virtualservices/b/status", "VirtualService"),
            ("/apis/enterprise.keyward.io/v1/authconfigs", "AuthConfig"),
            ("/apis", "none"),
            ("/api/v1/namespaces/team/made-up-by-a-stranger", "none"),
            ("/keyward/v1/sync", "none"),
            ("/", "none"),
        ] {
            assert_eq!(kind(path), expected, "{path}");
        }
    }

    #[test]
    fn codes_are_bounded() {
        let labels: std::collections::BTreeSet<_> =
            (100..1000).filter_map(|of| StatusCode::from_u16(of).ok()).map(code).collect();
        assert!(labels.len() < 30, "{labels:?}");
        assert_eq!(code(StatusCode::CONFLICT), "409");
        assert_eq!(code(StatusCode::IM_A_TEAPOT), "4xx");
    }
}
