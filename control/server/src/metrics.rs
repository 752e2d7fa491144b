//! What is counted and measured. Nothing that strangers say becomes a label: types, kinds, states, methods and
//! classes of codes are all there is.

mod rest;
mod sources;
mod xds;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use keyward_admin::debug;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

pub(crate) use rest::counted;
pub(crate) use sources::Sources;
pub(crate) use xds::CountingSink;

/// One label.
type One = [(&'static str, &'static str); 1];
/// Two labels.
type Two = [(&'static str, &'static str); 2];
type Durations = Family<One, Histogram, fn() -> Histogram>;

/// Everything that is counted and measured. Clones count together.
#[derive(Clone, Default)]
pub(crate) struct Metrics(Arc<Inner>);

struct Inner {
    registry: Mutex<Registry>,
    gauges: sources::Gauges,
    /// What gauges are read from, once that exists.
    sources: OnceLock<Sources>,
    pushes: Family<One, Counter>,
    acks: Family<One, Counter>,
    nacks: Family<One, Counter>,
    push_seconds: Durations,
    translation_seconds: Histogram,
    requests: Family<Two, Counter>,
    request_seconds: Durations,
}

/// From a tenth of a millisecond to some ten seconds.
const BUCKETS: [f64; 14] =
    [0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0];

fn durations() -> Histogram {
    Histogram::new(BUCKETS)
}

// === impl Metrics ===

impl Metrics {
    /// Sets what gauges are read from.
    pub(crate) fn read_from(&self, sources: Sources) {
        // Set once, at the start.
        let _ = self.0.sources.set(sources);
    }

    /// A translation took this long.
    pub(crate) fn translated(&self, took: Duration) {
        self.0.translation_seconds.observe(took.as_secs_f64());
    }
}

impl debug::Metrics for Metrics {
    fn text(&self) -> Result<String, String> {
        // Held while gauges are read, so that two who ask at a time do not see half of them.
        let registry = self.0.registry.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sources) = self.0.sources.get() {
            self.0.gauges.read(sources);
        }
        let mut text = String::new();
        encode(&mut text, &registry).map_err(|_| "the metrics could not be written out".to_owned())?;
        Ok(text)
    }
}

// === impl Inner ===

impl Default for Inner {
    fn default() -> Self {
        let constructor: fn() -> Histogram = durations;
        let mut registry = Registry::with_prefix("keyward");
        let inner = Self {
            registry: Mutex::default(),
            gauges: sources::Gauges::register(&mut registry),
            sources: OnceLock::new(),
            pushes: Family::default(),
            acks: Family::default(),
            nacks: Family::default(),
            push_seconds: Family::new_with_constructor(constructor),
            translation_seconds: durations(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(constructor),
        };
        registry.register(
            "xds_pushes",
            "Responses sent to proxies, by type of resource",
            inner.pushes.clone(),
        );
        registry.register("xds_acks", "Responses that proxies accepted", inner.acks.clone());
        registry.register("xds_nacks", "Responses that proxies refused", inner.nacks.clone());
        let help = "From a response to the proxy's answer to it";
        registry.register("xds_push_duration_seconds", help, inner.push_seconds.clone());
        let help = "Translations of all objects";
        registry.register("translation_duration_seconds", help, inner.translation_seconds.clone());
        registry.register("rest_requests", "Requests on the REST port", inner.requests.clone());
        let help = "From a request on the REST port to the head of its answer";
        registry.register("rest_request_duration_seconds", help, inner.request_seconds.clone());
        *inner.registry.lock().unwrap_or_else(PoisonError::into_inner) = registry;
        inner
    }
}
