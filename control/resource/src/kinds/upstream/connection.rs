//! `spec.connectionConfig` and `spec.circuitBreakers`: how many connections there are, and how they are.

use std::time::Duration;

use super::balancing::{Decimal, decimal};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

/// How connections to the hosts are. What is unset is left to the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConnectionConfig {
    /// A connection is closed after so many requests. Unset: never.
    pub max_requests_per_connection: Option<u32>,
    /// How long a connection may take to be made. Unset: 5 s.
    pub connect_timeout: Option<Duration>,
    /// Keeps silent connections open.
    pub tcp_keepalive: Option<TcpKeepalive>,
    /// At most so many bytes are kept for a connection that is slow.
    pub buffer_limit: Option<u32>,
    /// A connection is closed after so long without a request; zero for never. Unset: 1 h.
    pub idle_timeout: Option<Duration>,
    /// A response with more headers is an error. Unset: 100.
    pub max_headers_count: Option<u32>,
    /// The longest life of a stream. Unset: no limit.
    pub max_stream_duration: Option<Duration>,
    /// HTTP/1.1 alone.
    pub http1: Http1Options,
}

/// Keeps silent connections open. What is unset is left to the system.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpKeepalive {
    /// So many probes without an answer close the connection.
    pub probes: Option<u32>,
    /// The silence before the first probe, whole seconds.
    pub time: Option<Duration>,
    /// The time between probes, whole seconds.
    pub interval: Option<Duration>,
}

/// Options of HTTP/1.1.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Http1Options {
    /// Trailers are passed on.
    pub enable_trailers: bool,
    /// How the names of headers are written.
    pub header_format: HeaderFormat,
    /// A broken message ends its stream and not the connection.
    pub stream_error_on_invalid_message: Option<bool>,
}

/// How the names of headers are written on HTTP/1.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HeaderFormat {
    /// In lower case.
    #[default]
    LowerCase,
    /// `Content-Type`.
    ProperCase,
    /// As they came.
    Preserve,
}

/// How much may be under way at once. What is unset is left to the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CircuitBreakers {
    /// Connections. Unset: 1024.
    pub max_connections: Option<u32>,
    /// Requests that wait for a connection. Unset: 1024.
    pub max_pending_requests: Option<u32>,
    /// Requests. Unset: 1024.
    pub max_requests: Option<u32>,
    /// Retries. Unset: 3.
    pub max_retries: Option<u32>,
    /// Counts what is left in the statistics.
    pub track_remaining: bool,
}

/// Connections that are made before they are needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Preconnect {
    /// So many connections for each stream on a host; 1 to 3.
    pub per_upstream_ratio: Option<Decimal>,
    /// So many connections ahead over all hosts; 1 to 3.
    pub predictive_ratio: Option<Decimal>,
}

pub(super) static CONNECTION_CONFIG: Message = Message {
    name: "ConnectionConfig",
    doc: "How connections to the hosts are.",
    fields: &[
        Field::new(
            "maxRequestsPerConnection",
            Type::COUNT,
            "A connection is closed after so many requests; 0 for no limit. Default 0.",
        ),
        Field::new(
            "connectTimeout",
            Type::Duration,
            "How long a connection may take to be made. More than 0s. Default 5s.",
        ),
        Field::new(
            "tcpKeepalive",
            Type::Object(&TCP_KEEPALIVE),
            "Probes connections that are silent. Without it the system decides.",
        ),
        Field::new(
            "perConnectionBufferLimitBytes",
            Type::COUNT,
            "At most about so many bytes are kept for a connection that is slower than the other side. \
             Default 1 MiB.",
        ),
        Field::new("commonHttpProtocolOptions", Type::Object(&HTTP_OPTIONS), "HTTP of every version."),
        Field::new("http1ProtocolOptions", Type::Object(&HTTP1_OPTIONS), "HTTP/1.1 alone."),
    ],
    unsupported: &[],
};

static TCP_KEEPALIVE: Message = Message {
    name: "TcpKeepAlive",
    doc: "Probes of silent connections.",
    fields: &[
        Field::new(
            "keepaliveProbes",
            Type::COUNT,
            "So many probes without an answer close the connection. 0 leaves it to the system.",
        ),
        Field::new(
            "keepaliveTime",
            Type::Duration,
            "The silence before the first probe, in whole seconds. The default is the system's.",
        ),
        Field::new(
            "keepaliveInterval",
            Type::Duration,
            "The time between probes, in whole seconds. The default is the system's.",
        ),
    ],
    unsupported: &[],
};

static HTTP_OPTIONS: Message = Message {
    name: "HttpProtocolOptions",
    doc: "HTTP of every version.",
    fields: &[
        Field::new(
            "idleTimeout",
            Type::Duration,
            "A connection is closed after so long without a request; 0s for never. Default 1h.",
        ),
        Field::new(
            "maxHeadersCount",
            Type::COUNT,
            "A response with more headers is an error; 0 means the default. Default 100.",
        ),
        Field::new(
            "maxStreamDuration",
            Type::Duration,
            "The longest life of a request with its response. More than 0s. Default: no limit.",
        ),
        Field::new(
            "headersWithUnderscoresAction",
            Type::Enum(&["ALLOW", "REJECT_REQUEST", "DROP_HEADER"]),
            "Only for clients: towards an upstream it has no effect, and anything but `ALLOW` is a warning.",
        ),
    ],
    unsupported: &[],
};

static HTTP1_OPTIONS: Message = Message {
    name: "Http1ProtocolOptions",
    doc: "HTTP/1.1 alone.",
    fields: &[
        Field::new("enableTrailers", Type::Boolean, "Whether trailers are passed on. Default false."),
        Field::new(
            "properCaseHeaderKeyFormat",
            Type::Boolean,
            "Whether names of headers are sent as `Content-Type` instead of `content-type`. Default false.",
        ),
        Field::new(
            "preserveCaseHeaderKeyFormat",
            Type::Boolean,
            "Whether names of headers are sent in the letters in which they came. Not both this and \
             properCaseHeaderKeyFormat. Default false.",
        ),
        Field::new(
            "overrideStreamErrorOnInvalidHttpMessage",
            Type::Boolean,
            "Whether a connection is left open, if possible, after a message that is not valid HTTP. \
             Default false.",
        ),
    ],
    unsupported: &[],
};

pub(crate) static CIRCUIT_BREAKERS: Message = Message {
    name: "CircuitBreakerConfig",
    doc: "How much may be under way to the upstream at once, for each proxy. What comes beyond is answered \
          with 503.",
    fields: &[
        Field::new("maxConnections", Type::COUNT, "Connections. Default 1024."),
        Field::new("maxPendingRequests", Type::COUNT, "Requests that wait for a connection. Default 1024."),
        Field::new("maxRequests", Type::COUNT, "Requests. Default 1024."),
        Field::new("maxRetries", Type::COUNT, "Retries. Default 3."),
        Field::new(
            "trackRemaining",
            Type::Boolean,
            "Whether the statistics of the proxy tell how much is left. Default false.",
        ),
    ],
    unsupported: &[],
};

pub(super) static PRECONNECT_POLICY: Message = Message {
    name: "PreconnectPolicy",
    doc: "Connections that are made before they are needed.",
    fields: &[
        Field::new(
            "perUpstreamPreconnectRatio",
            Type::Number,
            "So many connections are made for each request under way to a host. 1 to 3. Default 1.",
        ),
        Field::new(
            "predictivePreconnectRatio",
            Type::Number,
            "So many requests ahead connections are made to the hosts that are next. 1 to 3. Default: none.",
        ),
    ],
    unsupported: &[],
};

const UNDERSCORES: &[(&str, bool)] = &[("ALLOW", true), ("REJECT_REQUEST", false), ("DROP_HEADER", false)];
/// The system counts in seconds, and not further than this.
const MAX_KEEPALIVE: Duration = Duration::from_secs(32_767);

/// Reads `connectionConfig`.
pub(super) fn read(node: Node<'_>, warnings: &mut Vec<String>) -> Option<ConnectionConfig> {
    let fields = node.object(&CONNECTION_CONFIG)?;
    let max_requests_per_connection = count(&fields, "maxRequestsPerConnection");
    let connect_timeout = fields.maybe("connectTimeout", |node| node.positive_duration());
    let tcp_keepalive = fields.maybe("tcpKeepalive", keepalive);
    let buffer_limit = fields.maybe("perConnectionBufferLimitBytes", |node| node.unsigned(0..=u32::MAX));
    let http = fields.or("commonHttpProtocolOptions", (None, None, None), |node| http(node, warnings));
    let http1 = fields.or("http1ProtocolOptions", Http1Options::default(), http1);
    let (idle_timeout, max_headers_count, max_stream_duration) = http?;
    Some(ConnectionConfig {
        max_requests_per_connection: max_requests_per_connection?,
        connect_timeout: connect_timeout?,
        tcp_keepalive: tcp_keepalive?,
        buffer_limit: buffer_limit?,
        idle_timeout,
        max_headers_count,
        max_stream_duration,
        http1: http1?,
    })
}

/// A number of which zero means that it is not said.
fn count(fields: &Object<'_>, key: &str) -> Option<Option<u32>> {
    let count = fields.or(key, 0, |node| node.unsigned(0..=u32::MAX))?;
    Some(Some(count).filter(|count| *count != 0))
}

fn keepalive(node: Node<'_>) -> Option<TcpKeepalive> {
    let fields = node.object(&TCP_KEEPALIVE)?;
    let seconds = |key: &'static str| {
        fields.maybe(key, |node| {
            let span = node.positive_duration()?;
            let right = span.subsec_nanos() == 0 && span <= MAX_KEEPALIVE;
            if !right {
                node.invalid("must be whole seconds, at most 32767s");
            }
            right.then_some(span)
        })
    };
    let (time, interval) = (seconds("keepaliveTime"), seconds("keepaliveInterval"));
    let probes = count(&fields, "keepaliveProbes");
    Some(TcpKeepalive { probes: probes?, time: time?, interval: interval? })
}

type HttpOptions = (Option<Duration>, Option<u32>, Option<Duration>);

fn http(node: Node<'_>, warnings: &mut Vec<String>) -> Option<HttpOptions> {
    let fields = node.object(&HTTP_OPTIONS)?;
    let idle_timeout = fields.maybe("idleTimeout", |node| node.duration());
    let max_headers_count = count(&fields, "maxHeadersCount");
    let max_stream_duration = fields.maybe("maxStreamDuration", |node| node.positive_duration());
    let allow = fields.or("headersWithUnderscoresAction", true, |node| node.one_of(UNDERSCORES));
    if allow == Some(false) {
        warnings.push(
            "spec.connectionConfig.commonHttpProtocolOptions.headersWithUnderscoresAction has no effect \
             towards an upstream"
                .to_owned(),
        );
    }
    allow?;
    Some((idle_timeout?, max_headers_count?, max_stream_duration?))
}

fn http1(node: Node<'_>) -> Option<Http1Options> {
    let fields = node.object(&HTTP1_OPTIONS)?;
    let enable_trailers = fields.flag("enableTrailers", false);
    let proper = fields.flag("properCaseHeaderKeyFormat", false);
    let preserve = fields.flag("preserveCaseHeaderKeyFormat", false);
    let stream_error = fields.maybe("overrideStreamErrorOnInvalidHttpMessage", |node| node.boolean());
    let header_format = match (proper?, preserve?) {
        (false, false) => HeaderFormat::LowerCase,
        (true, false) => HeaderFormat::ProperCase,
        (false, true) => HeaderFormat::Preserve,
        (true, true) => {
            fields
                .node()
                .invalid("properCaseHeaderKeyFormat and preserveCaseHeaderKeyFormat exclude each other");
            return None;
        }
    };
    Some(Http1Options {
        enable_trailers: enable_trailers?,
        header_format,
        stream_error_on_invalid_message: stream_error?,
    })
}

/// Reads `circuitBreakers`.
pub(crate) fn breakers(node: Node<'_>) -> Option<CircuitBreakers> {
    let fields = node.object(&CIRCUIT_BREAKERS)?;
    let count = |key: &'static str| fields.maybe(key, |node| node.unsigned(0..=u32::MAX));
    let (connections, pending) = (count("maxConnections"), count("maxPendingRequests"));
    let (requests, retries) = (count("maxRequests"), count("maxRetries"));
    let track_remaining = fields.flag("trackRemaining", false);
    Some(CircuitBreakers {
        max_connections: connections?,
        max_pending_requests: pending?,
        max_requests: requests?,
        max_retries: retries?,
        track_remaining: track_remaining?,
    })
}

/// Reads `preconnectPolicy`.
pub(super) fn preconnect(node: Node<'_>) -> Option<Preconnect> {
    let fields = node.object(&PRECONNECT_POLICY)?;
    let ratio = |key: &'static str| fields.maybe(key, |node| decimal(&node, 1.0, 3.0));
    let (per_upstream, predictive) =
        (ratio("perUpstreamPreconnectRatio"), ratio("predictivePreconnectRatio"));
    Some(Preconnect { per_upstream_ratio: per_upstream?, predictive_ratio: predictive? })
}
