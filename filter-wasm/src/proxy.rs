//! The host calls: the only place where the filter talks to its proxy.
//!
//! Values are read as bytes only: the SDK's text getters panic on what is not UTF-8, and a client
//! may send anything.

use std::time::{Duration, UNIX_EPOCH};

use keyward_filter_core::capability::ANONYMOUS;
use keyward_filter_core::event::{Event, Level};
use keyward_filter_core::host::{HostError, Reply, RequestHost, WorkerHost};
use keyward_filter_core::metric::{Kind, Metric};
use keyward_filter_core::wire;
use proxy_wasm::hostcalls;
use proxy_wasm::types::{BufferType, MapType, MetricType, Status};

/// Where the access log finds why a request was denied: `%FILTER_STATE(wasm.keyward_denied:PLAIN)%`.
const DENIAL: &str = "keyward_denied";

/// What Envoy makes
/// [`ANONYMOUS_STATE`](keyward_filter_core::capability::ANONYMOUS_STATE) of.
const ANONYMOUS_KEY: &str = "keyward_anonymous";

/// The proxy, as seen from one VM.
pub(crate) struct Proxy {
    /// The proxy's numbers of [`Metric::ALL`].
    metrics: [Option<u32>; Metric::ALL.len()],
}

/// The message that came over a gRPC stream, in its callback; whole or not at all.
pub(crate) fn grpc_message(size: usize) -> Option<Vec<u8>> {
    buffer(BufferType::GrpcReceiveBuffer, size)
}

/// The plugin configuration, in its callback; whole or not at all.
pub(crate) fn plugin_configuration(size: usize) -> Option<Vec<u8>> {
    buffer(BufferType::PluginConfiguration, size)
}

fn buffer(which: BufferType, size: usize) -> Option<Vec<u8>> {
    if size == 0 {
        return Some(Vec::new());
    }
    hostcalls::get_buffer(which, 0, size).ok().flatten().filter(|bytes| bytes.len() == size)
}

fn done(result: Result<(), Status>) -> Result<(), HostError> {
    result.map_err(|_| HostError)
}

// === impl Proxy ===

impl Proxy {
    /// Makes the metrics known.
    pub(crate) fn start() -> Self {
        let define = |metric: Metric| {
            let kind = match metric.kind() {
                Kind::Counter => MetricType::Counter,
                Kind::Gauge => MetricType::Gauge,
            };
            hostcalls::define_metric(kind, metric.name()).ok()
        };
        Self { metrics: Metric::ALL.map(define) }
    }

    /// The wall clock in nanoseconds, as far as they fit.
    pub(crate) fn nanoseconds(&self) -> u64 {
        let nanoseconds = since_epoch().unwrap_or_default().as_nanos();
        u64::try_from(nanoseconds).unwrap_or(u64::MAX)
    }

    fn number(&self, metric: Metric) -> Option<u32> {
        self.metrics.get(metric as usize).copied().flatten()
    }
}

impl RequestHost for Proxy {
    fn route_name(&mut self) -> Option<Vec<u8>> {
        hostcalls::get_property(vec!["xds", "route_name"]).ok().flatten()
    }

    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        hostcalls::get_map_value_bytes(MapType::HttpRequestHeaders, name).ok().flatten()
    }

    fn set_request_header(&mut self, name: &str, value: &[u8]) -> Result<(), HostError> {
        done(hostcalls::set_map_value_bytes(MapType::HttpRequestHeaders, name, Some(value)))
    }

    fn remove_request_header(&mut self, name: &str) -> Result<(), HostError> {
        done(hostcalls::remove_map_value(MapType::HttpRequestHeaders, name))
    }

    fn remove_response_header(&mut self, name: &str) -> Result<(), HostError> {
        done(hostcalls::remove_map_value(MapType::HttpResponseHeaders, name))
    }

    fn wall_clock(&mut self) -> Option<u64> {
        u64::try_from(since_epoch()?.as_millis()).ok()
    }

    fn note_denial(&mut self, why: &'static str) {
        let _ = hostcalls::set_property(vec![DENIAL], Some(why.as_bytes()));
    }

    fn pass_anonymously(&mut self) -> Result<(), HostError> {
        done(hostcalls::set_property(vec![ANONYMOUS_KEY], Some(ANONYMOUS.as_bytes())))
    }

    fn reply(&mut self, reply: &Reply) -> Result<(), HostError> {
        done(hostcalls::send_http_response(u32::from(reply.status), reply.headers.to_vec(), None))
    }

    fn add(&mut self, metric: Metric, change: i64) {
        if let Some(number) = self.number(metric) {
            let _ = hostcalls::increment_metric(number, change);
        }
    }
}

impl WorkerHost for Proxy {
    fn node_id(&mut self) -> String {
        let id = hostcalls::get_property(vec!["xds", "node", "id"]).ok().flatten().unwrap_or_default();
        String::from_utf8_lossy(&id).into_owned()
    }

    fn set_tick(&mut self, milliseconds: u32) {
        let _ = hostcalls::set_tick_period(Duration::from_millis(u64::from(milliseconds)));
    }

    fn enter(&mut self, context: u32) -> Result<(), HostError> {
        done(hostcalls::set_effective_context(context))
    }

    fn resume_request(&mut self) -> Result<(), HostError> {
        done(hostcalls::resume_http_request())
    }

    fn open_stream(&mut self, cluster: &str) -> Result<u32, HostError> {
        let service = wire::grpc_service(cluster).ok_or(HostError)?;
        hostcalls::open_grpc_stream(&service, wire::SERVICE, wire::METHOD, Vec::new()).map_err(|_| HostError)
    }

    fn send(&mut self, stream: u32, message: &[u8]) -> Result<(), HostError> {
        done(hostcalls::send_grpc_stream_message(stream, Some(message), false))
    }

    fn cancel(&mut self, stream: u32) {
        let _ = hostcalls::cancel_grpc_stream(stream);
    }

    fn set(&mut self, metric: Metric, value: u64) {
        if let Some(number) = self.number(metric) {
            let _ = hostcalls::record_metric(number, value);
        }
    }

    fn log(&mut self, event: &Event<'_>) {
        match event.level() {
            Level::Warn => log::warn!("{event}"),
            Level::Info => log::info!("{event}"),
        }
    }
}

fn since_epoch() -> Option<Duration> {
    hostcalls::get_current_time().ok()?.duration_since(UNIX_EPOCH).ok()
}
