//! `spec.healthChecks`: asks the hosts how they are.

mod tables;

use std::time::Duration;

use crate::kinds::options::HeaderToAdd;
use crate::kinds::routing::alternative;
use crate::reader::{Node, Object};
use crate::syntax;

pub(super) use tables::HEALTH_CHECK;
use tables::{GRPC, HEADER, HEADER_OPTION, HTTP, PAYLOAD, STATUS_RANGE, TCP};

/// Asks the hosts how they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthCheck {
    /// How long an answer may take; not zero.
    pub timeout: Duration,
    /// The time from one question to the next; not zero.
    pub interval: Duration,
    /// The first question waits up to this long.
    pub initial_jitter: Option<Duration>,
    /// Each question waits up to this much longer.
    pub interval_jitter: Option<Duration>,
    /// And up to this much of the interval longer, in percent.
    pub interval_jitter_percent: Option<u32>,
    /// So many failures in a row make a host unhealthy; not zero.
    pub unhealthy_threshold: u32,
    /// So many successes in a row make it healthy again; not zero.
    pub healthy_threshold: u32,
    /// Keeps the connection from one question to the next.
    pub reuse_connection: bool,
    /// The interval while the upstream has not been used yet.
    pub no_traffic_interval: Option<Duration>,
    /// The interval for unhealthy hosts.
    pub unhealthy_interval: Option<Duration>,
    /// The first interval after a host became unhealthy.
    pub unhealthy_edge_interval: Option<Duration>,
    /// The first interval after a host became healthy.
    pub healthy_edge_interval: Option<Duration>,
    /// Logs every failure and not only the first.
    pub always_log_failures: bool,
    /// What is asked.
    pub checker: HealthChecker,
}

/// What a health check asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HealthChecker {
    /// An HTTP request.
    Http(HttpHealthCheck),
    /// A TCP connection.
    Tcp(TcpHealthCheck),
    /// A call of the health service of gRPC.
    Grpc(GrpcHealthCheck),
}

/// A health check by HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpHealthCheck {
    /// The path, with its `/`.
    pub path: String,
    /// The host header. None: the name of the cluster.
    pub host: Option<String>,
    /// The method; `GET` by default.
    pub method: HealthMethod,
    /// Speaks HTTP/2.
    pub http2: bool,
    /// The answer must name a service with this prefix in `x-envoy-upstream-healthchecked-cluster`.
    pub service_name: Option<String>,
    /// Headers of the request.
    pub headers: Vec<HeaderToAdd>,
    /// Headers that the request must not have, in lower case.
    pub headers_to_remove: Vec<String>,
    /// The healthy statuses, each range from its start to before its end; none means 200 alone.
    pub expected_statuses: Vec<(u16, u16)>,
}

/// The methods of a health check that are of use: the body of an answer is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HealthMethod {
    /// GET
    #[default]
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// DELETE
    Delete,
    /// OPTIONS
    Options,
    /// TRACE
    Trace,
    /// PATCH
    Patch,
}

/// A health check by TCP. Without payloads the connection alone counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TcpHealthCheck {
    /// What is sent.
    pub send: Option<Vec<u8>>,
    /// What must come back, in this order, with anything between.
    pub receive: Vec<Vec<u8>>,
}

/// A health check by gRPC.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GrpcHealthCheck {
    /// The service that is asked about. None: the server as a whole.
    pub service_name: Option<String>,
    /// The authority. None: the name of the cluster.
    pub authority: Option<String>,
}

const MAX_HEADERS: usize = 1000;
const METHODS: &[(&str, HealthMethod)] = &[
    ("METHOD_UNSPECIFIED", HealthMethod::Get),
    ("GET", HealthMethod::Get),
    ("HEAD", HealthMethod::Head),
    ("POST", HealthMethod::Post),
    ("PUT", HealthMethod::Put),
    ("DELETE", HealthMethod::Delete),
    ("OPTIONS", HealthMethod::Options),
    ("TRACE", HealthMethod::Trace),
    ("PATCH", HealthMethod::Patch),
];

/// Reads `healthChecks`.
pub(super) fn checks(node: Node<'_>) -> Option<Vec<HealthCheck>> {
    let list = node.list()?;
    let checks: Vec<_> = list.iter().map(check).collect();
    checks.into_iter().collect()
}

fn check(node: Node<'_>) -> Option<HealthCheck> {
    let fields = node.object(&HEALTH_CHECK)?;
    let span = |key: &'static str| fields.maybe(key, |node| node.positive_duration());
    let jitter = |key: &'static str| fields.maybe(key, |node| node.duration());
    let threshold = |key, default| fields.or(key, default, |node| node.unsigned(1..=u32::MAX));
    let timeout = fields.required("timeout", "a health check needs a timeout");
    let timeout = timeout.and_then(|node| node.positive_duration());
    let interval = fields.required("interval", "a health check needs an interval");
    let interval = interval.and_then(|node| node.positive_duration());
    let (initial_jitter, interval_jitter) = (jitter("initialJitter"), jitter("intervalJitter"));
    let percent = fields.maybe("intervalJitterPercent", |node| node.unsigned(0..=u32::MAX));
    let (unhealthy, healthy) = (threshold("unhealthyThreshold", 3), threshold("healthyThreshold", 2));
    let reuse_connection = fields.flag("reuseConnection", true);
    let no_traffic_interval = span("noTrafficInterval");
    let unhealthy_interval = span("unhealthyInterval");
    let unhealthy_edge_interval = span("unhealthyEdgeInterval");
    let healthy_edge_interval = span("healthyEdgeInterval");
    let always_log_failures = fields.flag("alwaysLogHealthCheckFailures", false);
    let checker = checker(&fields);
    Some(HealthCheck {
        timeout: timeout?,
        interval: interval?,
        initial_jitter: initial_jitter?,
        interval_jitter: interval_jitter?,
        interval_jitter_percent: percent?,
        unhealthy_threshold: unhealthy?,
        healthy_threshold: healthy?,
        reuse_connection: reuse_connection?,
        no_traffic_interval: no_traffic_interval?,
        unhealthy_interval: unhealthy_interval?,
        unhealthy_edge_interval: unhealthy_edge_interval?,
        healthy_edge_interval: healthy_edge_interval?,
        always_log_failures: always_log_failures?,
        checker: checker?,
    })
}

fn checker(fields: &Object<'_>) -> Option<HealthChecker> {
    const ONE: &str = "exactly one of httpHealthCheck, tcpHealthCheck and grpcHealthCheck must be there";
    let kinds = ["httpHealthCheck", "tcpHealthCheck", "grpcHealthCheck"];
    let checker = alternative(fields, &kinds, |kind, node| match kind {
        "httpHealthCheck" => http(node).map(HealthChecker::Http),
        "tcpHealthCheck" => tcp(node).map(HealthChecker::Tcp),
        _ => grpc(node).map(HealthChecker::Grpc),
    })?;
    if checker.is_none() {
        fields.choice("httpHealthCheck", ONE);
    }
    checker
}

fn http(node: Node<'_>) -> Option<HttpHealthCheck> {
    let fields = node.object(&HTTP)?;
    let path = fields.required("path", "a check by HTTP needs a path").and_then(|node| {
        let path = node.string()?;
        let right = path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_graphic());
        if !right {
            node.invalid("must begin with '/' and consist of visible ASCII characters");
        }
        right.then(|| path.to_owned())
    });
    let (host, service_name) = (fields.text("host"), fields.text("serviceName"));
    let method = fields.or("method", HealthMethod::Get, |node| node.one_of(METHODS));
    let http2 = fields.flag("useHttp2", false);
    let headers = fields.or("requestHeadersToAdd", Vec::new(), headers);
    let headers_to_remove = fields.or("requestHeadersToRemove", Vec::new(), |node| {
        let list = node.list()?;
        let names: Vec<_> = list.iter().map(|item| header_name(&item)).collect();
        names.into_iter().collect()
    });
    let expected_statuses = fields.or("expectedStatuses", Vec::new(), statuses);
    Some(HttpHealthCheck {
        path: path?,
        host: host?,
        method: method?,
        http2: http2?,
        service_name: service_name?,
        headers: headers?,
        headers_to_remove: headers_to_remove?,
        expected_statuses: expected_statuses?,
    })
}

fn headers(node: Node<'_>) -> Option<Vec<HeaderToAdd>> {
    let list = node.list()?;
    if list.len() > MAX_HEADERS {
        list.node().invalid(format_args!("must have at most {MAX_HEADERS} entries"));
    }
    let headers: Vec<_> = list.iter().map(header).collect();
    headers.into_iter().collect()
}

fn header(node: Node<'_>) -> Option<HeaderToAdd> {
    let fields = node.object(&HEADER_OPTION)?;
    let append = fields.flag("append", true);
    let header = fields.required("header", "name and value of the header").and_then(|node| {
        let header = node.object(&HEADER)?;
        let name = header.required("key", "a header needs a name").and_then(|node| header_name(&node));
        let value = header.text("value");
        Some((name?, value?.unwrap_or_default()))
    });
    let (name, value) = header?;
    Some(HeaderToAdd { name, value, append: append? })
}

fn header_name(node: &Node<'_>) -> Option<String> {
    let name = node.string()?.to_ascii_lowercase();
    match syntax::header_token(&name) {
        Ok(()) => Some(name),
        Err(why) => {
            node.invalid(why);
            None
        }
    }
}

fn statuses(node: Node<'_>) -> Option<Vec<(u16, u16)>> {
    let list = node.list()?;
    let ranges: Vec<_> = list.iter().map(status_range).collect();
    ranges.into_iter().collect()
}

fn status_range(node: Node<'_>) -> Option<(u16, u16)> {
    let fields = node.object(&STATUS_RANGE)?;
    let start = fields.required("start", "a range needs a start").and_then(|node| node.integer(100..=599));
    let end = fields.required("end", "a range needs an end").and_then(|node| node.integer(101..=600));
    let (start, end) = (u16::try_from(start?).ok()?, u16::try_from(end?).ok()?);
    if start >= end {
        fields.node().invalid("the end must be behind the start");
        return None;
    }
    Some((start, end))
}

fn tcp(node: Node<'_>) -> Option<TcpHealthCheck> {
    let fields = node.object(&TCP)?;
    let send = fields.maybe("send", payload);
    let receive = fields.or("receive", Vec::new(), |node| {
        let list = node.list()?;
        let payloads: Vec<_> = list.iter().map(payload).collect();
        payloads.into_iter().collect()
    });
    Some(TcpHealthCheck { send: send?, receive: receive? })
}

fn payload(node: Node<'_>) -> Option<Vec<u8>> {
    let fields = node.object(&PAYLOAD)?;
    let text = fields.choice("text", "a payload needs its bytes")?;
    let digits = text.string()?;
    let bytes = hex(digits).filter(|bytes| !bytes.is_empty());
    if bytes.is_none() {
        text.invalid("must be pairs of hexadecimal digits, such as \"000000FF\"");
    }
    bytes
}

fn hex(digits: &str) -> Option<Vec<u8>> {
    let nibble = |digit: &u8| char::from(*digit).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let pair = |pair: &[u8]| match pair {
        [high, low] => Some((nibble(high)? << 4) | nibble(low)?),
        _ => None,
    };
    digits.as_bytes().chunks(2).map(pair).collect()
}

fn grpc(node: Node<'_>) -> Option<GrpcHealthCheck> {
    let fields = node.object(&GRPC)?;
    let (service_name, authority) = (fields.text("serviceName"), fields.text("authority"));
    Some(GrpcHealthCheck { service_name: service_name?, authority: authority? })
}

// === impl HealthMethod ===

impl HealthMethod {
    /// The word on the wire: `GET`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Options => "OPTIONS",
            Self::Trace => "TRACE",
            Self::Patch => "PATCH",
        }
    }
}
