//! `spec.httpGateway.options`: how HTTP is spoken with clients.

use std::time::Duration;

use crate::reader::Node;
use crate::schema::{Field, Message, Type};

/// How HTTP is spoken with clients. What is unset is left to the translation or to the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpOptions {
    /// The address of the client is that of the connection, and not what a header says.
    pub use_remote_address: Option<bool>,
    /// So many proxies in front are trusted to tell the client's address.
    pub xff_num_trusted_hops: Option<u32>,
    /// Leaves `x-forwarded-for` as it came.
    pub skip_xff_append: Option<bool>,
    /// Put into the `via` header.
    pub via: Option<String>,
    /// Gives a request an `x-request-id`.
    pub generate_request_id: Option<bool>,
    /// Keeps the `x-request-id` that a client sends.
    pub preserve_external_request_id: Option<bool>,
    /// How long a stream may be silent; zero for no limit.
    pub stream_idle_timeout: Option<Duration>,
    /// How long a connection may be without a request; zero for no limit.
    pub idle_timeout: Option<Duration>,
    /// How long a client may take to send a whole request; zero for no limit.
    pub request_timeout: Option<Duration>,
    /// How long a client may take to send the headers of a request; zero for no limit.
    pub request_headers_timeout: Option<Duration>,
    /// How long a connection that is being closed may finish its requests.
    pub drain_timeout: Option<Duration>,
    /// How long a closed connection waits for the client.
    pub delayed_close_timeout: Option<Duration>,
    /// The longest life of a connection; zero for no limit.
    pub max_connection_duration: Option<Duration>,
    /// The longest life of a stream; zero for no limit.
    pub max_stream_duration: Option<Duration>,
    /// The most that the headers of a request may have, in KiB; 1 to 8192.
    pub max_request_headers_kb: Option<u32>,
    /// The most headers of a request; not zero.
    pub max_headers_count: Option<u32>,
    /// What the `server` header of a response says.
    pub server_name: Option<String>,
    /// What becomes of the `server` header of the upstream.
    pub server_header: Option<ServerHeader>,
    /// HTTP/1.0 is spoken too.
    pub accept_http_10: Option<bool>,
    /// The host of a request of HTTP/1.0 that names none.
    pub default_host_for_http_10: Option<String>,
}

/// What becomes of the `server` header of the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerHeader {
    /// It is replaced.
    Overwrite,
    /// It stays; where there is none, one is added.
    AppendIfAbsent,
    /// It stays, and none is added.
    PassThrough,
}

pub(super) static HTTP_LISTENER_OPTIONS: Message = Message {
    name: "HttpListenerOptions",
    doc: "How HTTP is spoken with clients.",
    fields: &[Field::new(
        "httpConnectionManagerSettings",
        Type::Object(&SETTINGS),
        "Connections, limits and headers.",
    )],
    unsupported: &[
        "buffer",
        "caching",
        "connectionLimit",
        "csrf",
        "disableExtProc",
        "disableExtProcEarly",
        "disableExtProcLate",
        "dlp",
        "dynamicForwardProxy",
        "extProc",
        "extProcEarly",
        "extProcLate",
        "extauth",
        "extensions",
        "grpcJsonTranscoder",
        "grpcWeb",
        "gzip",
        "headerValidationSettings",
        "healthCheck",
        "httpLocalRatelimit",
        "leftmostXffAddress",
        "networkLocalRatelimit",
        "proxyLatency",
        "ratelimitServer",
        "router",
        "sanitizeClusterHeader",
        "statefulSession",
        "tap",
        "waf",
        "wasm",
    ],
};

static SETTINGS: Message = Message {
    name: "HttpConnectionManagerSettings",
    doc: "Connections with clients, limits and headers.",
    fields: &[
        Field::new(
            "useRemoteAddress",
            Type::Boolean,
            "Whether the address of the client is that of its connection, and not what `x-forwarded-for` says. \
             Default true.",
        ),
        Field::new(
            "xffNumTrustedHops",
            Type::COUNT,
            "So many proxies in front of this one are trusted to tell the client's address in \
             `x-forwarded-for`. Default 0.",
        ),
        Field::new(
            "skipXffAppend",
            Type::Boolean,
            "Whether `x-forwarded-for` is left as it came. Default false: the client's address is added.",
        ),
        Field::new(
            "via",
            Type::String,
            "Added to the `via` header of requests and responses. Default: nothing.",
        ),
        Field::new(
            "generateRequestId",
            Type::Boolean,
            "Whether each request is given an `x-request-id`. Default true.",
        ),
        Field::new(
            "preserveExternalRequestId",
            Type::Boolean,
            "Whether the `x-request-id` that a client sends is kept. Default false: it is replaced.",
        ),
        Field::new(
            "streamIdleTimeout",
            Type::Duration,
            "How long a request with its response may be silent; 0s for no limit. Default 5m.",
        ),
        Field::new(
            "idleTimeout",
            Type::Duration,
            "How long a connection may be without a request; 0s for no limit. Default 1h.",
        ),
        Field::new(
            "requestTimeout",
            Type::Duration,
            "How long a client may take to send a whole request; 0s for no limit. Default 0s.",
        ),
        Field::new(
            "requestHeadersTimeout",
            Type::Duration,
            "How long a client may take to send the headers of a request; 0s for no limit. Default 0s.",
        ),
        Field::new(
            "drainTimeout",
            Type::Duration,
            "How long the requests of a connection that is about to be closed may take. Default 5s.",
        ),
        Field::new(
            "delayedCloseTimeout",
            Type::Duration,
            "How long a closed connection waits for the client to have read everything. Default 1s.",
        ),
        Field::new(
            "maxConnectionDuration",
            Type::Duration,
            "The longest life of a connection; 0s for no limit. Default 0s.",
        ),
        Field::new(
            "maxStreamDuration",
            Type::Duration,
            "The longest life of a request with its response; 0s for no limit. Default 0s.",
        ),
        Field::new(
            "maxRequestHeadersKb",
            Type::Integer(1, 8192),
            "The most that the headers of a request may have together, in KiB. More is answered with 431. \
             Default 60.",
        ),
        Field::new(
            "maxHeadersCount",
            Type::Integer(1, 4_294_967_295),
            "The most headers of a request. More is answered with 431. Default 100.",
        ),
        Field::new(
            "serverName",
            Type::String,
            "What the `server` header of a response says. Default `envoy`.",
        ),
        Field::new(
            "serverHeaderTransformation",
            Type::Enum(&["OVERWRITE", "APPEND_IF_ABSENT", "PASS_THROUGH"]),
            "What becomes of the `server` header of the upstream: it is replaced, or it stays and one is added \
             where there is none, or it stays and none is added. Default `OVERWRITE`.",
        ),
        Field::new("acceptHttp10", Type::Boolean, "Whether HTTP/1.0 is spoken too. Default false."),
        Field::new(
            "defaultHostForHttp10",
            Type::String,
            "The host of a request of HTTP/1.0 that names none. Without it such a request is refused.",
        ),
    ],
    unsupported: &[
        "allowChunkedLength",
        "appendXForwardedPort",
        "codecType",
        "commonHttpProtocolOptions",
        "earlyHeaderManipulation",
        "enableTrailers",
        "forwardClientCertDetails",
        "headersWithUnderscoresAction",
        "http2ProtocolOptions",
        "internalAddressConfig",
        "mergeSlashes",
        "normalizePath",
        "pathWithEscapedSlashesAction",
        "preserveCaseHeaderKeyFormat",
        "properCaseHeaderKeyFormat",
        "proxy100Continue",
        "setCurrentClientCertDetails",
        "stripAnyHostPort",
        "tracing",
        "upgrades",
        "uuidRequestIdConfig",
    ],
};

const SERVER_HEADERS: &[(&str, ServerHeader)] = &[
    ("OVERWRITE", ServerHeader::Overwrite),
    ("APPEND_IF_ABSENT", ServerHeader::AppendIfAbsent),
    ("PASS_THROUGH", ServerHeader::PassThrough),
];

/// Reads `options` of a gateway for HTTP.
pub(super) fn read(node: Node<'_>) -> Option<HttpOptions> {
    let options = node.object(&HTTP_LISTENER_OPTIONS)?;
    options.or("httpConnectionManagerSettings", HttpOptions::default(), settings)
}

fn settings(node: Node<'_>) -> Option<HttpOptions> {
    let fields = node.object(&SETTINGS)?;
    let flag = |key: &'static str| fields.maybe(key, |node| node.boolean());
    let span = |key: &'static str| fields.maybe(key, |node| node.duration());
    // Names and values go into headers.
    let visible = |key: &'static str| {
        fields.or(key, None, |node| {
            let text = node.string()?;
            let right = text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
            if !right {
                node.invalid("must consist of visible ASCII characters and spaces");
            }
            right.then(|| (!text.is_empty()).then(|| text.to_owned()))
        })
    };
    let use_remote_address = flag("useRemoteAddress");
    let xff_num_trusted_hops = fields.maybe("xffNumTrustedHops", |node| node.unsigned(0..=u32::MAX));
    let skip_xff_append = flag("skipXffAppend");
    let via = visible("via");
    let generate_request_id = flag("generateRequestId");
    let preserve_external_request_id = flag("preserveExternalRequestId");
    let (stream_idle_timeout, idle_timeout) = (span("streamIdleTimeout"), span("idleTimeout"));
    let (request_timeout, headers_timeout) = (span("requestTimeout"), span("requestHeadersTimeout"));
    let (drain_timeout, close_timeout) = (span("drainTimeout"), span("delayedCloseTimeout"));
    let (connection_duration, stream_duration) = (span("maxConnectionDuration"), span("maxStreamDuration"));
    let max_request_headers_kb = fields.maybe("maxRequestHeadersKb", |node| node.unsigned(1..=8192));
    let max_headers_count = fields.maybe("maxHeadersCount", |node| node.unsigned(1..=u32::MAX));
    let server_name = visible("serverName");
    let server_header = fields.maybe("serverHeaderTransformation", |node| node.one_of(SERVER_HEADERS));
    let accept_http_10 = flag("acceptHttp10");
    let default_host_for_http_10 = visible("defaultHostForHttp10");
    Some(HttpOptions {
        use_remote_address: use_remote_address?,
        xff_num_trusted_hops: xff_num_trusted_hops?,
        skip_xff_append: skip_xff_append?,
        via: via?,
        generate_request_id: generate_request_id?,
        preserve_external_request_id: preserve_external_request_id?,
        stream_idle_timeout: stream_idle_timeout?,
        idle_timeout: idle_timeout?,
        request_timeout: request_timeout?,
        request_headers_timeout: headers_timeout?,
        drain_timeout: drain_timeout?,
        delayed_close_timeout: close_timeout?,
        max_connection_duration: connection_duration?,
        max_stream_duration: stream_duration?,
        max_request_headers_kb: max_request_headers_kb?,
        max_headers_count: max_headers_count?,
        server_name: server_name?,
        server_header: server_header?,
        accept_http_10: accept_http_10?,
        default_host_for_http_10: default_host_for_http_10?,
    })
}
