//! What is counted and measured. Nothing that strangers say becomes a label: types, kinds, states, methods and
//! codes are all there is, the proxies that Gateways name, and, where that is asked for, the Secrets that are
//! used most.

mod rest;
mod sources;
mod store;
mod uses;
mod xds;

use std::fmt;
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
pub(crate) use store::MeasuredStore;
pub(crate) use uses::follow as follow_uses;
pub(crate) use xds::CountingSink;

/// One label.
type One = [(&'static str, &'static str); 1];
/// Two labels.
type Two = [(&'static str, &'static str); 2];
/// Three labels.
type Three = [(&'static str, &'static str); 3];
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
    store_seconds: Durations,
    acknowledgement_seconds: Histogram,
    requests: Family<Three, Counter>,
    request_seconds: Family<Two, Histogram, fn() -> Histogram>,
    key_uses: Family<uses::Labels, Counter>,
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

    /// A worker acknowledged keys so long after they were published.
    pub(crate) fn acknowledged(&self, took: Duration) {
        self.0.acknowledgement_seconds.observe(took.as_secs_f64());
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
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
            store_seconds: Family::new_with_constructor(constructor),
            acknowledgement_seconds: durations(),
            requests: Family::default(),
            request_seconds: Family::new_with_constructor(constructor),
            key_uses: Family::default(),
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
        let help = "Reads and writes of the store, until what is written is on the disk";
        registry.register("store_duration_seconds", help, inner.store_seconds.clone());
        let help = "From the publication of keys to a worker that has confirmed them";
        registry.register(
            "key_acknowledgement_duration_seconds",
            help,
            inner.acknowledgement_seconds.clone(),
        );
        let help = "Requests on the REST port, by kind of object where they are about one";
        registry.register("rest_requests", help, inner.requests.clone());
        let help = "Requests that keys of a Secret have let pass, of the Secrets that are used most \
                    (--usage-metrics says how many)";
        registry.register("key_uses", help, inner.key_uses.clone());
        let help = "From a request on the REST port to the head of its answer";
        registry.register("rest_request_duration_seconds", help, inner.request_seconds.clone());
        // What has not happened yet is zero, and not unknown: the first time must be seen as a rise.
        for kind in xds::NAMES {
            let label = [("type", kind)];
            for counter in [&inner.pushes, &inner.acks, &inner.nacks] {
                drop(counter.get_or_create(&label));
            }
        }
        *inner.registry.lock().unwrap_or_else(PoisonError::into_inner) = registry;
        inner
    }
}
