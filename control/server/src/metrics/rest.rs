//! Requests on the REST port.

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use tokio::time::Instant;

use super::Metrics;

/// The same API, counted.
pub(crate) fn counted(api: Router, metrics: &Metrics) -> Router {
    api.layer(from_fn_with_state(metrics.clone(), count))
}

async fn count(State(metrics): State<Metrics>, request: Request, next: Next) -> Response {
    let verb = verb(&request);
    let begun = Instant::now();
    let response = next.run(request).await;
    let took = begun.elapsed().as_secs_f64();
    let code = class(response.status());
    metrics.0.requests.get_or_create(&[("verb", verb), ("code", code)]).inc();
    metrics.0.request_seconds.get_or_create(&[("verb", verb)]).observe(took);
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

fn class(code: StatusCode) -> &'static str {
    match code.as_u16() / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        _ => "5xx",
    }
}
