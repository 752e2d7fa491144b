//! The host calls: the only place where the filter talks to its proxy.

use keyward_filter_abi::call::{self, Buffer, Failed, Map};
use keyward_filter_core::capability::ANONYMOUS;
use keyward_filter_core::decisions::{Decisions, Row};
use keyward_filter_core::event::{Event, Level};
use keyward_filter_core::header_list;
use keyward_filter_core::host::{HostError, Note, Reply, RequestHost, WorkerHost};
use keyward_filter_core::metric::{Kind, Metric};
use keyward_filter_core::wire;

/// What Envoy makes
/// [`ANONYMOUS_STATE`](keyward_filter_core::capability::ANONYMOUS_STATE) of.
const ANONYMOUS_KEY: &[u8] = b"keyward_anonymous";
/// Begins the path of the property that a request header is, all its values joined with commas.
const REQUEST_HEADERS: &[u8] = b"request\0headers\0";
/// Begins the details of a response that the filter makes: `%RESPONSE_CODE_DETAILS%` in an access log.
const WHOSE: &str = "keyward_";
const NANOSECONDS_PER_MILLISECOND: u64 = 1_000_000;

/// The proxy, as seen from one VM.
pub(crate) struct Proxy {
    /// The proxy's numbers of [`Metric::ALL`].
    metrics: [Option<u32>; Metric::ALL.len()],
    decisions: Decisions,
    /// Where the path of a property is put together, so that no request pays for its memory.
    path: Vec<u8>,
}

/// The message that came over a gRPC stream, in its callback; whole or not at all.
pub(crate) fn grpc_message(size: usize) -> Option<Vec<u8>> {
    buffer(Buffer::GrpcMessage, size)
}

/// The plugin configuration, in its callback; whole or not at all.
pub(crate) fn plugin_configuration(size: usize) -> Option<Vec<u8>> {
    buffer(Buffer::PluginConfiguration, size)
}

fn buffer(which: Buffer, size: usize) -> Option<Vec<u8>> {
    if size == 0 { Some(Vec::new()) } else { call::buffer(which, size) }
}

fn done(result: Result<(), Failed>) -> Result<(), HostError> {
    result.map_err(|Failed| HostError)
}

// === impl Proxy ===

impl Proxy {
    /// Makes the metrics known.
    pub(crate) fn start() -> Self {
        let define = |metric: Metric| {
            let kind = match metric.kind() {
                Kind::Counter => call::Kind::Counter,
                Kind::Gauge => call::Kind::Gauge,
            };
            call::define_metric(kind, metric.name())
        };
        Self { metrics: Metric::ALL.map(define), decisions: Decisions::new(), path: Vec::new() }
    }

    /// A number that no other VM has: workers start at the same nanosecond, so the clock will do only where
    /// the proxy has nothing better.
    pub(crate) fn random(&self) -> u64 {
        call::random().or_else(call::nanoseconds).unwrap_or_default()
    }

    /// Tells the proxy what was counted.
    pub(crate) fn show_counts(&mut self) {
        let Self { metrics, decisions, .. } = self;
        decisions.show(
            |name| call::define_metric(call::Kind::Counter, name),
            call::add,
            |reason, count| {
                if let Some(number) = metrics.get(reason as usize).copied().flatten() {
                    call::add(number, count);
                }
            },
        );
    }

    fn number(&self, metric: Metric) -> Option<u32> {
        self.metrics.get(metric as usize).copied().flatten()
    }
}

impl RequestHost for Proxy {
    fn route_name(&mut self) -> Option<Vec<u8>> {
        call::property(b"xds\0route_name")
    }

    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        call::header(Map::Request, name)
    }

    fn request_values(&mut self, name: &str) -> Vec<Vec<u8>> {
        let all = call::headers(Map::Request).unwrap_or_default();
        header_list::values(&all, name).unwrap_or_default()
    }

    fn joined_values(&mut self, name: &str) -> Option<Vec<u8>> {
        self.path.clear();
        self.path.extend_from_slice(REQUEST_HEADERS);
        self.path.extend_from_slice(name.as_bytes());
        call::property(&self.path)
    }

    fn set_request_header(&mut self, name: &str, value: &[u8]) -> Result<(), HostError> {
        done(call::set_header(Map::Request, name, value))
    }

    fn remove_request_header(&mut self, name: &str) -> Result<(), HostError> {
        done(call::remove_header(Map::Request, name))
    }

    fn remove_response_header(&mut self, name: &str) -> Result<(), HostError> {
        done(call::remove_header(Map::Response, name))
    }

    fn wall_clock(&mut self) -> Option<u64> {
        call::nanoseconds()?.checked_div(NANOSECONDS_PER_MILLISECOND)
    }

    fn pass_anonymously(&mut self) -> Result<(), HostError> {
        done(call::set_property(ANONYMOUS_KEY, ANONYMOUS.as_bytes()))
    }

    fn reply(&mut self, reply: &Reply, why: &'static str) -> Result<(), HostError> {
        done(call::reply(reply.status, &[WHOSE, why].concat(), reply.headers))
    }

    fn note(&mut self, note: Note, value: &[u8]) {
        let name: &[u8] = match note {
            Note::Reason => b"keyward_reason",
            Note::AuthConfig => b"keyward_auth_config",
            Note::Identity => b"keyward_identity",
            Note::KeyId => b"keyward_key_id",
        };
        let _ = call::set_property(name, value);
    }

    fn row(&mut self, auth_config: &str) -> Row {
        self.decisions.row(auth_config)
    }

    fn count(&mut self, row: Row, reason: Metric) {
        self.decisions.count(row, reason);
    }

    fn add(&mut self, metric: Metric, change: i64) {
        if let Some(number) = self.number(metric) {
            call::add(number, change);
        }
    }
}

impl WorkerHost for Proxy {
    fn node_id(&mut self) -> String {
        let id = call::property(b"xds\0node\0id").unwrap_or_default();
        String::from_utf8_lossy(&id).into_owned()
    }

    fn set_tick(&mut self, milliseconds: u32) {
        call::set_tick(milliseconds);
    }

    fn enter(&mut self, context: u32) -> Result<(), HostError> {
        done(call::enter(context))
    }

    fn resume_request(&mut self) -> Result<(), HostError> {
        done(call::resume_request())
    }

    fn open_stream(&mut self, cluster: &str) -> Result<u32, HostError> {
        let service = wire::grpc_service(cluster).ok_or(HostError)?;
        call::open_stream(service.as_bytes(), wire::SERVICE, wire::METHOD).map_err(|Failed| HostError)
    }

    fn send(&mut self, stream: u32, message: &[u8]) -> Result<(), HostError> {
        done(call::send(stream, message))
    }

    fn cancel(&mut self, stream: u32) {
        call::cancel(stream);
    }

    fn set(&mut self, metric: Metric, value: u64) {
        if let Some(number) = self.number(metric) {
            call::set(number, value);
        }
    }

    fn log(&mut self, event: &Event<'_>) {
        let level = match event.level() {
            Level::Warn => call::Level::Warn,
            Level::Info => call::Level::Info,
        };
        call::log(level, &event.to_string());
    }
}
