//! Port 9095: what the control server holds and serves at this moment.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use futures::future::BoxFuture;

use crate::envelope::{Failure, Shown, answer};
use crate::gate::{Gate, Guard, Need, check};
use crate::index::{Endpoint, Page, with_fallbacks};
use crate::query::Pretty;

/// A view of what is going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Snapshot {
    /// The objects as they were written.
    Input,
    /// What translation made of each.
    Edge,
    /// What each proxy is told, in the words of the objects.
    Proxies,
    /// What each proxy is told, in Envoy's words, and what it made of it.
    Xds,
    /// The key tables, and who holds them.
    Keys,
}

/// Takes snapshots. Whatever it gives is sorted and holds no secret.
pub trait Snapshots: Send + Sync + 'static {
    /// Takes one.
    fn take(&self, which: Snapshot) -> BoxFuture<'_, Result<Shown, Failure>>;

    /// The roles of proxies that are told anything.
    fn roles(&self) -> Vec<String>;

    /// What the proxies of one role are told.
    ///
    /// # Errors
    ///
    /// When there is no such role.
    fn xds_of(&self, role: &str) -> Result<Shown, Failure>;
}

/// The data, which need an operator.
const ENDPOINTS: [(Snapshot, Endpoint); 5] = [
    (Snapshot::Input, endpoint("/snapshots/input", "the objects as they were written, Secrets redacted")),
    (Snapshot::Edge, endpoint("/snapshots/edge", "what translation made of each object: state and reasons")),
    (Snapshot::Proxies, endpoint("/snapshots/proxies", "what each proxy is told, as Proxy objects")),
    (Snapshot::Xds, endpoint("/snapshots/xds", "what each proxy is told as xDS, and what it made of it")),
    (
        Snapshot::Keys,
        endpoint(
            "/snapshots/keys",
            "the key tables by the first 8 digits of each digest, and who holds them",
        ),
    ),
];

const fn endpoint(path: &'static str, about: &'static str) -> Endpoint {
    Endpoint { method: "GET", path, about }
}

/// Everything on the port.
pub fn router(snapshots: &Arc<dyn Snapshots>, gate: &Arc<dyn Gate>) -> Router {
    let page = Page { title: "Keyward snapshots (?pretty for people)", endpoints: endpoints().collect() };
    let index = get(async move |headers: HeaderMap, pretty: Pretty| page.show(&headers, pretty));
    let index =
        Router::new().route("/", index).route_layer(from_fn_with_state(Guard::new(gate, Need::Look), check));
    with_fallbacks(index.merge(data(snapshots, gate)))
}

pub(crate) fn endpoints() -> impl Iterator<Item = Endpoint> {
    ENDPOINTS.into_iter().map(|(_, endpoint)| endpoint)
}

/// The endpoints with data, for any port.
pub(crate) fn data(snapshots: &Arc<dyn Snapshots>, gate: &Arc<dyn Gate>) -> Router {
    let mut router = Router::new();
    for (which, endpoint) in ENDPOINTS {
        let show = async move |State(snapshots): State<Arc<dyn Snapshots>>, Pretty(pretty): Pretty| {
            answer(snapshots.take(which).await, pretty)
        };
        router = router.route(endpoint.path, get(show));
    }
    router
        .with_state(Arc::clone(snapshots))
        .route_layer(from_fn_with_state(Guard::new(gate, Need::Operate), check))
}
