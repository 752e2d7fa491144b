//! `Upstream`: where requests go.

mod balancing;
mod connection;
mod health;
mod hosts;
mod outliers;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::kind::{
    API_VERSION, CATEGORIES, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::kinds::ssl::{self, UPSTREAM_SSL_CONFIG, UpstreamSslConfig};
use crate::meta::Meta;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

pub use balancing::{Decimal, LbPolicy, LoadBalancer, SlowStart};
pub(crate) use connection::{CIRCUIT_BREAKERS, breakers};
pub use connection::{
    CircuitBreakers, ConnectionConfig, HeaderFormat, Http1Options, Preconnect, TcpKeepalive,
};
pub use health::{
    GrpcHealthCheck, HealthCheck, HealthChecker, HealthMethod, HttpHealthCheck, TcpHealthCheck,
};
pub use hosts::{HostAddr, StaticHost};
pub use outliers::OutlierDetection;

/// An `Upstream` with static hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its metadata.
    pub meta: Meta,
    /// `spec.static.hosts`, at least one.
    pub hosts: Vec<StaticHost>,
    /// How TLS is spoken to the hosts; None for plain HTTP.
    pub tls: Option<UpstreamSslConfig>,
    /// Each host is sent its own name as server name, where `tls` names none.
    pub auto_sni_rewrite: bool,
    /// Which version of HTTP is spoken.
    pub protocol: Protocol,
    /// HTTP/2 alone.
    pub http2: Http2Options,
    /// Asks the hosts how they are.
    pub health_checks: Vec<HealthCheck>,
    /// Judges the hosts by their answers.
    pub outlier_detection: Option<OutlierDetection>,
    /// How much may be under way at once.
    pub circuit_breakers: CircuitBreakers,
    /// Which host gets which request.
    pub load_balancer: LoadBalancer,
    /// How connections are.
    pub connection: ConnectionConfig,
    /// Connections that are made before they are needed.
    pub preconnect: Option<Preconnect>,
    /// How often host names are resolved; not zero. Unset: 5 s.
    pub dns_refresh_rate: Option<Duration>,
    /// Host names are resolved again when the answer of DNS expires.
    pub respect_dns_ttl: bool,
    /// A host that is gone from DNS gets no more requests, even if its health checks succeed.
    pub ignore_health_on_host_removal: bool,
    /// The header of the PROXY protocol in front of each connection.
    pub proxy_protocol: Option<ProxyProtocol>,
    /// `spec.discoveryMetadata.labels`: kept for people.
    pub discovery_labels: BTreeMap<String, String>,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

/// Which version of HTTP is spoken to the hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2.
    Http2,
    /// The version that the client speaks.
    Downstream,
}

/// Options of HTTP/2. What is unset is left to the proxy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Http2Options {
    /// Bytes that may be under way in a stream.
    pub initial_stream_window_size: Option<u32>,
    /// Bytes that may be under way in a connection.
    pub initial_connection_window_size: Option<u32>,
    /// Streams in a connection.
    pub max_concurrent_streams: Option<u32>,
    /// A broken message ends its stream and not the connection.
    pub stream_error_on_invalid_message: Option<bool>,
}

/// The header of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// The text form.
    V1,
    /// The binary form.
    V2,
}

pub(crate) static KIND: Kind = Kind {
    name: "Upstream",
    plural: "upstreams",
    singular: "upstream",
    short_names: &["us"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "service.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gloo.solo.io", version: "v1" }],
    alias_short_names: &["gus"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "Upstream",
    doc: "Where requests go.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "UpstreamSpec",
    doc: "The hosts of an upstream, and how to speak to them.",
    fields: &[
        Field::required("static", Type::Object(&hosts::STATIC), "Hosts that are known beforehand."),
        Field::new(
            "sslConfig",
            Type::Object(&UPSTREAM_SSL_CONFIG),
            "How TLS is spoken to the hosts. Without it, TLS is spoken where `static` says so or a host has \
             port 443, and then nothing is verified.",
        ),
        Field::new("useHttp2", Type::Boolean, "Whether HTTP/2 is spoken instead of HTTP/1.1. Default false."),
        Field::new(
            "protocolSelection",
            Type::Enum(&["USE_CONFIGURED_PROTOCOL", "USE_DOWNSTREAM_PROTOCOL"]),
            "`USE_DOWNSTREAM_PROTOCOL` speaks the version of HTTP that the client speaks. Default \
             `USE_CONFIGURED_PROTOCOL`: as useHttp2 says.",
        ),
        Field::new(
            "healthChecks",
            Type::List(&Type::Object(&health::HEALTH_CHECK)),
            "Checks of the hosts. A host must pass all of them.",
        ),
        Field::new(
            "outlierDetection",
            Type::Object(&outliers::OUTLIER_DETECTION),
            "Ejects hosts that fail requests. Without it none is ejected.",
        ),
        Field::new("circuitBreakers", Type::Object(&CIRCUIT_BREAKERS), "How much may be under way at once."),
        Field::new(
            "loadBalancerConfig",
            Type::Object(&balancing::LOAD_BALANCER_CONFIG),
            "Which host gets which request. Default: one after the other.",
        ),
        Field::new("connectionConfig", Type::Object(&connection::CONNECTION_CONFIG), "How connections are."),
        Field::new(
            "preconnectPolicy",
            Type::Object(&connection::PRECONNECT_POLICY),
            "Connections that are made before they are needed. Without it none is.",
        ),
        Field::new(
            "dnsRefreshRate",
            Type::Duration,
            "How often host names are resolved, unless respectDnsTtl is set. More than 0s. Default 5s.",
        ),
        Field::new(
            "respectDnsTtl",
            Type::Boolean,
            "Whether host names are resolved again when the answer of DNS expires. Default false.",
        ),
        Field::new(
            "ignoreHealthOnHostRemoval",
            Type::Boolean,
            "Whether a host that is gone from DNS gets no more requests although its health checks succeed. \
             Default false.",
        ),
        Field::new(
            "proxyProtocolVersion",
            Type::Enum(&["V1", "V2"]),
            "Puts the header of the PROXY protocol in front of each connection, which tells the host the \
             address of the client. Without it there is none.",
        ),
        Field::new(
            "initialStreamWindowSize",
            WINDOW,
            "Bytes that may be under way in a stream of HTTP/2. 65535 to 2147483647. Default 16 MiB.",
        ),
        Field::new(
            "initialConnectionWindowSize",
            WINDOW,
            "Bytes that may be under way in a connection of HTTP/2. 65535 to 2147483647. Default 24 MiB.",
        ),
        Field::new(
            "maxConcurrentStreams",
            Type::Integer(1, MAX_WINDOW as i64),
            "Requests at once in a connection of HTTP/2. Default 1024.",
        ),
        Field::new(
            "overrideStreamErrorOnInvalidHttpMessage",
            Type::Boolean,
            "Whether a message that is not valid HTTP/2 ends its stream and not the connection. Default false.",
        ),
        Field::new(
            "discoveryMetadata",
            Type::Object(&DISCOVERY_METADATA),
            "What a discovery found out. Kept for people, without an effect.",
        ),
    ],
    unsupported: &[
        "ai",
        "aws",
        "awsEc2",
        "azure",
        "consul",
        "disableIstioAutoMtls",
        "failover",
        "gcp",
        "httpConnectHeaders",
        "httpConnectSslConfig",
        "httpProxyHostname",
        "kube",
        "pipe",
    ],
};

static DISCOVERY_METADATA: Message = Message {
    name: "DiscoveryMetadata",
    doc: "What a discovery found out.",
    fields: &[Field::new("labels", Type::STRINGS, "Labels of what was discovered.")],
    unsupported: &[],
};

/// The bounds of a window of HTTP/2.
const MIN_WINDOW: u32 = 65_535;
const MAX_WINDOW: u32 = 2_147_483_647;
const WINDOW: Type = Type::Integer(MIN_WINDOW as i64, MAX_WINDOW as i64);

const SELECTIONS: &[(&str, bool)] = &[("USE_CONFIGURED_PROTOCOL", false), ("USE_DOWNSTREAM_PROTOCOL", true)];
const PROXY_PROTOCOLS: &[(&str, ProxyProtocol)] = &[("V1", ProxyProtocol::V1), ("V2", ProxyProtocol::V2)];

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "an Upstream needs a spec")?.object(&SPEC)?;
    let mut warnings = Vec::new();
    let fixed = spec.choice("static", "an upstream needs a type, such as static with its hosts");
    let fixed = fixed.and_then(hosts::read);
    let ssl = spec.maybe("sslConfig", |node| ssl::upstream(node, &meta));
    let protocol = protocol(&spec);
    let http2 = http2(&spec);
    let health_checks = spec.or("healthChecks", Vec::new(), health::checks);
    if let (Some(checks), Some(Protocol::Http1)) = (&health_checks, protocol)
        && checks.iter().any(|check| matches!(check.checker, HealthChecker::Grpc(_)))
    {
        spec.node().invalid("a grpcHealthCheck needs useHttp2: true");
    }
    let outlier_detection = spec.maybe("outlierDetection", outliers::read);
    let circuit_breakers = spec.or("circuitBreakers", CircuitBreakers::default(), breakers);
    let load_balancer = spec.or("loadBalancerConfig", LoadBalancer::default(), balancing::read);
    let connection = spec
        .or("connectionConfig", ConnectionConfig::default(), |node| connection::read(node, &mut warnings));
    let preconnect = spec.maybe("preconnectPolicy", connection::preconnect);
    let dns_refresh_rate = spec.maybe("dnsRefreshRate", |node| node.positive_duration());
    let respect_dns_ttl = spec.flag("respectDnsTtl", false);
    let ignore_health = spec.flag("ignoreHealthOnHostRemoval", false);
    let proxy_protocol = spec.maybe("proxyProtocolVersion", |node| node.one_of(PROXY_PROTOCOLS));
    let discovery_labels = spec.or("discoveryMetadata", BTreeMap::new(), discovery_labels);
    let (fixed, ssl) = (fixed?, ssl?);
    let tls = tls(&fixed, ssl, &mut warnings);
    Some(Resource::Upstream(Upstream {
        tls,
        auto_sni_rewrite: fixed.auto_sni_rewrite,
        protocol: protocol?,
        http2: http2?,
        health_checks: health_checks?,
        outlier_detection: outlier_detection?,
        circuit_breakers: circuit_breakers?,
        load_balancer: load_balancer?,
        connection: connection?,
        preconnect: preconnect?,
        dns_refresh_rate: dns_refresh_rate?,
        respect_dns_ttl: respect_dns_ttl?,
        ignore_health_on_host_removal: ignore_health?,
        proxy_protocol: proxy_protocol?,
        discovery_labels: discovery_labels?,
        warnings,
        ..Upstream::new(meta, fixed.hosts)
    }))
}

fn tls(
    fixed: &hosts::Static,
    ssl: Option<UpstreamSslConfig>,
    warnings: &mut Vec<String>,
) -> Option<UpstreamSslConfig> {
    if ssl.is_some() {
        if fixed.use_tls == Some(false) {
            warnings.push("spec.static.useTls: false has no effect beside spec.sslConfig".to_owned());
        }
        return ssl;
    }
    if fixed.guesses_tls() {
        warnings.push(
            "TLS is spoken to all hosts because one of them has port 443: say useTls to make it clear"
                .to_owned(),
        );
    }
    fixed.speaks_tls().then(UpstreamSslConfig::default)
}

fn protocol(spec: &Object<'_>) -> Option<Protocol> {
    let http2 = spec.flag("useHttp2", false);
    let downstream = spec.or("protocolSelection", false, |node| node.one_of(SELECTIONS));
    Some(match (http2?, downstream?) {
        (_, true) => Protocol::Downstream,
        (true, false) => Protocol::Http2,
        (false, false) => Protocol::Http1,
    })
}

fn http2(spec: &Object<'_>) -> Option<Http2Options> {
    let window = |key: &'static str| spec.maybe(key, |node| node.unsigned(MIN_WINDOW..=MAX_WINDOW));
    let (stream, connection) = (window("initialStreamWindowSize"), window("initialConnectionWindowSize"));
    let streams = spec.maybe("maxConcurrentStreams", |node| node.unsigned(1..=MAX_WINDOW));
    let stream_error = spec.maybe("overrideStreamErrorOnInvalidHttpMessage", |node| node.boolean());
    Some(Http2Options {
        initial_stream_window_size: stream?,
        initial_connection_window_size: connection?,
        max_concurrent_streams: streams?,
        stream_error_on_invalid_message: stream_error?,
    })
}

/// Labels that another system has given: they keep no rule of ours.
fn discovery_labels(node: Node<'_>) -> Option<BTreeMap<String, String>> {
    let fields = node.object(&DISCOVERY_METADATA)?;
    fields.or("labels", BTreeMap::new(), |node| {
        let entries = node.entries()?;
        let labels: Vec<_> =
            entries.iter().map(|(key, value)| Some((key.to_owned(), value.string()?.to_owned()))).collect();
        labels.into_iter().collect()
    })
}

// === impl Upstream ===

impl Upstream {
    /// An upstream with defaults in all the rest: plain HTTP/1.1, one host after the other.
    #[must_use]
    pub fn new(meta: Meta, hosts: Vec<StaticHost>) -> Self {
        Self {
            meta,
            hosts,
            tls: None,
            auto_sni_rewrite: true,
            protocol: Protocol::default(),
            http2: Http2Options::default(),
            health_checks: Vec::new(),
            outlier_detection: None,
            circuit_breakers: CircuitBreakers::default(),
            load_balancer: LoadBalancer::default(),
            connection: ConnectionConfig::default(),
            preconnect: None,
            dns_refresh_rate: None,
            respect_dns_ttl: false,
            ignore_health_on_host_removal: false,
            proxy_protocol: None,
            discovery_labels: BTreeMap::new(),
            warnings: Vec::new(),
        }
    }
}
