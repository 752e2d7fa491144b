//! Port 10010, the dev mode: what port 9095 shows, under the paths of old. Deprecated from the start, as in
//! the original product; every answer says so.

use std::future::ready;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::http::header::LINK;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::get;

use crate::envelope::{Shown, answer};
use crate::gate::{Gate, Guard, Need, check};
use crate::index::{Endpoint, Page, with_fallbacks};
use crate::query::Pretty;
use crate::snapshots::{Snapshot, Snapshots};

/// Since when (RFC 9745): there was never a version in which it was not. 2026-11-21, as everything else of it.
const DEPRECATION: &str = "@1795219200";

const ENDPOINTS: [Endpoint; 3] = [
    Endpoint { method: "GET", path: "/xds", about: "the roles of proxies" },
    Endpoint { method: "GET", path: "/xds/{key}", about: "what the proxies of a role are told" },
    Endpoint { method: "GET", path: "/api", about: "the objects as they were written, Secrets redacted" },
];

/// Everything on the port. `successor` says where the port is that takes its place.
pub fn router(snapshots: &Arc<dyn Snapshots>, gate: &Arc<dyn Gate>, successor: &str) -> Router {
    let title = "Keyward dev mode (deprecated: /snapshots on port 9095 shows the same)";
    let page = Page { title, endpoints: ENDPOINTS.to_vec() };
    let index = get(async move |headers: HeaderMap, pretty: Pretty| page.show(&headers, pretty));
    let index =
        Router::new().route("/", index).route_layer(from_fn_with_state(Guard::new(gate, Need::Look), check));
    let data = Router::new()
        .route("/xds", get(roles))
        .route("/xds/{key}", get(xds))
        .route("/api", get(input))
        .with_state(Arc::clone(snapshots))
        .route_layer(from_fn_with_state(Guard::new(gate, Need::Operate), check));
    let link = HeaderValue::from_str(&format!("<{successor}>; rel=\"successor-version\"")).ok();
    with_fallbacks(index.merge(data)).layer(map_response(move |mut response: Response| {
        let headers = response.headers_mut();
        headers.insert(HeaderName::from_static("deprecation"), HeaderValue::from_static(DEPRECATION));
        if let Some(link) = link.clone() {
            headers.insert(LINK, link);
        }
        ready(response)
    }))
}

type Source = State<Arc<dyn Snapshots>>;

async fn roles(State(snapshots): Source, Pretty(pretty): Pretty) -> Response {
    let roles = snapshots.roles();
    answer(Ok(Shown { status: format!("{} roles", roles.len()), data: roles.into() }), pretty)
}

async fn xds(State(snapshots): Source, Path(role): Path<String>, Pretty(pretty): Pretty) -> Response {
    answer(snapshots.xds_of(&role), pretty)
}

async fn input(State(snapshots): Source, Pretty(pretty): Pretty) -> Response {
    answer(snapshots.take(Snapshot::Input).await, pretty)
}
