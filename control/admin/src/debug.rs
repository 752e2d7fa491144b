//! Port 9091: how the server works, and how much it says of that.

mod logging;
mod metrics;
mod pprof;
mod tasks;
mod zpages;

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use axum::middleware::from_fn_with_state;
use axum::routing::get;

pub use logging::{Change, Level, Levels, Logging};
pub use metrics::Metrics;
pub use pprof::{Form, ProfileFailure, Profiles};
pub use tasks::{Runtime, Task, TaskReport, TaskState, Tasks, Worker};
pub use zpages::Observed;

use crate::gate::{Gate, Guard, Need, check};
use crate::index::{Endpoint, Page, with_fallbacks};
use crate::query::Pretty;
use crate::snapshots::{self, Snapshots};

/// What the port shows.
#[derive(Clone)]
pub struct Debug {
    /// The log levels.
    pub logging: Arc<dyn Logging>,
    /// The metrics.
    pub metrics: Arc<dyn Metrics>,
    /// The profilers.
    pub profiles: Arc<dyn Profiles>,
    /// The tasks.
    pub tasks: Arc<dyn Tasks>,
    /// The spans and calls of late.
    pub observed: Observed,
    /// The snapshots, if they are to be here too.
    pub snapshots: Option<Arc<dyn Snapshots>>,
}

/// Everything on the port.
pub fn router(debug: &Debug, gate: &Arc<dyn Gate>) -> Router {
    let mut endpoints: Vec<Endpoint> = [
        logging::ENDPOINTS.as_slice(),
        &metrics::ENDPOINTS,
        &pprof::ENDPOINTS,
        &tasks::ENDPOINTS,
        &zpages::ENDPOINTS,
    ]
    .concat();
    if debug.snapshots.is_some() {
        endpoints.extend(snapshots::endpoints());
    }
    let page = Page { title: "Keyward control server", endpoints };
    let index = get(async move |headers: HeaderMap, pretty: Pretty| page.show(&headers, pretty));
    let own = Router::new()
        .route("/", index)
        .merge(logging::router(&debug.logging))
        .merge(metrics::router(&debug.metrics))
        .merge(tasks::router(&debug.tasks))
        .merge(zpages::router(&debug.observed))
        .route_layer(from_fn_with_state(Guard::new(gate, Need::Look), check));
    // A profile costs time, and takes some from everybody.
    let profiles = pprof::router(&debug.profiles)
        .route_layer(from_fn_with_state(Guard::new(gate, Need::Operate), check));
    let own = own.merge(profiles);
    let all = match &debug.snapshots {
        Some(snapshots) => own.merge(snapshots::data(snapshots, gate)),
        None => own,
    };
    with_fallbacks(all)
}
