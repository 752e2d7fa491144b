//! `Gateway`: an address that a proxy listens on, and the virtual services served there.

mod access_log;
mod http;
mod selection;

use std::net::{IpAddr, Ipv6Addr};

use crate::kind::{
    API_VERSION, CATEGORIES, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::meta::Meta;
use crate::metadata;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

pub use access_log::{AccessLog, LogFormat, Part, parts};
pub use http::{HttpOptions, ServerHeader};
pub use selection::{SelectBy, Selection};

/// A `Gateway`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Its metadata.
    pub meta: Meta,
    /// The address to listen on.
    pub bind_address: IpAddr,
    /// The port to listen on, not zero.
    pub bind_port: u16,
    /// TLS is spoken here: virtual services with `sslConfig` are served and no others.
    pub ssl: bool,
    /// The proxies that open this gateway; at least one (default `gateway-proxy`).
    pub proxy_names: Vec<String>,
    /// The virtual services served here.
    pub selection: Selection,
    /// How HTTP is spoken.
    pub http: HttpOptions,
    /// The listener itself.
    pub listener: ListenerOptions,
    /// All routes together.
    pub routes: RouteConfigurationOptions,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

/// Options of the listener itself.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListenerOptions {
    /// At most so many bytes are kept for a connection that is slow. Unset: 1 MiB.
    pub buffer_limit: Option<u32>,
    /// Spreads connections evenly over the threads of the proxy.
    pub exact_balance: bool,
    /// The logs of requests. Unset: what holds for all gateways.
    pub access_logs: Option<Vec<AccessLog>>,
}

/// Options of all routes of a listener together.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RouteConfigurationOptions {
    /// The longest body of a direct response, in bytes. Unset: 4096.
    pub max_direct_response_body_size: Option<u32>,
    /// Where several places change one header, the most specific place wins.
    pub most_specific_header_mutations_wins: bool,
}

pub(crate) static KIND: Kind = Kind {
    name: "Gateway",
    plural: "gateways",
    singular: "gateway",
    short_names: &["gw"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "gateway.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gateway.solo.io", version: "v1" }],
    alias_short_names: &["ggw"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "Gateway",
    doc: "An address that proxies listen on, and the virtual services that are served there.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "GatewaySpec",
    doc: "An address, and what is served there. While no gateway exists, one on port 8080 serves everything.",
    fields: &[
        Field::new("bindAddress", Type::String, "The IP address to listen on. Default `::`, which is all."),
        Field::required(
            "bindPort",
            Type::PORT,
            "The TCP port to listen on. An address with its port belongs to one gateway of a proxy.",
        ),
        Field::new(
            "ssl",
            Type::Boolean,
            "Whether TLS is spoken. With true the VirtualServices with `sslConfig` are served, with false \
             those without. Default false.",
        ),
        Field::required("httpGateway", Type::Object(&selection::HTTP_GATEWAY), "Serves HTTP."),
        Field::new(
            "proxyNames",
            Type::STRING_LIST,
            "The proxies that open this gateway. Default: `gateway-proxy` alone.",
        ),
        Field::new("options", Type::Object(&LISTENER_OPTIONS), "The listener itself."),
        Field::new("routeOptions", Type::Object(&ROUTE_OPTIONS), "All routes together."),
        Field::new("useProxyProto", Type::Boolean, "Only false is supported. Default false."),
    ],
    unsupported: &["hybridGateway", "tcpGateway"],
};

static LISTENER_OPTIONS: Message = Message {
    name: "ListenerOptions",
    doc: "The listener itself.",
    fields: &[
        Field::new(
            "perConnectionBufferLimitBytes",
            Type::COUNT,
            "At most about so many bytes are kept for a connection that is slower than the other side. \
             Default 1 MiB.",
        ),
        Field::new(
            "connectionBalanceConfig",
            Type::Object(&BALANCE),
            "How connections are spread over the threads of the proxy. Default: as the system does.",
        ),
        Field::new(
            "accessLoggingService",
            Type::Object(&access_log::SERVICE),
            "Logs of requests. Default: what `keyward serve --access-log` says.",
        ),
    ],
    unsupported: &[
        "extensions",
        "listenerAccessLoggingService",
        "proxyProtocol",
        "socketOptions",
        "tcpStats",
    ],
};

static BALANCE: Message = Message {
    name: "ConnectionBalanceConfig",
    doc: "How connections are spread over the threads of the proxy.",
    fields: &[Field::new(
        "exactBalance",
        Type::Object(&EXACT_BALANCE),
        "Every thread gets equally many connections, for a little more work at each.",
    )],
    unsupported: &[],
};

static EXACT_BALANCE: Message =
    Message { name: "ExactBalance", doc: "Equally many connections.", fields: &[], unsupported: &[] };

static ROUTE_OPTIONS: Message = Message {
    name: "RouteConfigurationOptions",
    doc: "All routes of a gateway together.",
    fields: &[
        Field::new(
            "maxDirectResponseBodySizeBytes",
            Type::COUNT,
            "The longest body of a directResponseAction, in bytes. Default 4096.",
        ),
        Field::new(
            "mostSpecificHeaderMutationsWins",
            Type::Boolean,
            "Whether the route wins where route and virtual host change the same header. Default false: the \
             virtual host comes last.",
        ),
    ],
    unsupported: &[],
};

/// The proxy that opens a gateway when none is named.
const DEFAULT_PROXY: &str = "gateway-proxy";

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a Gateway needs a spec")?.object(&SPEC)?;
    let mut warnings = Vec::new();
    spec.only("useProxyProto", false);
    let ssl = spec.flag("ssl", false);
    let bind_address = spec.or("bindAddress", Ipv6Addr::UNSPECIFIED.into(), address);
    let bind_port = spec.required("bindPort", "a gateway needs a port").and_then(|port| port.port());
    let proxy_names = spec.or("proxyNames", Vec::new(), proxy_names);
    let http =
        spec.choice("httpGateway", "a gateway needs a type; httpGateway: {} serves all virtual services");
    let http = http.and_then(|http| http_gateway(http, &meta, &mut warnings));
    let listener = spec.or("options", ListenerOptions::default(), listener_options);
    let routes = spec.or("routeOptions", RouteConfigurationOptions::default(), route_options);
    let mut proxy_names = proxy_names?;
    if proxy_names.is_empty() {
        proxy_names.push(DEFAULT_PROXY.to_owned());
    }
    let (selection, http) = http?;
    Some(Resource::Gateway(Gateway {
        meta,
        bind_address: bind_address?,
        bind_port: bind_port?,
        ssl: ssl?,
        proxy_names,
        selection,
        http,
        listener: listener?,
        routes: routes?,
        warnings,
    }))
}

fn address(node: Node<'_>) -> Option<IpAddr> {
    let text = node.string()?;
    if text.is_empty() {
        return Some(Ipv6Addr::UNSPECIFIED.into());
    }
    let address = text.parse().ok();
    if address.is_none() {
        node.invalid("must be an IP address, such as \"::\" or \"127.0.0.1\"");
    }
    address
}

fn proxy_names(node: Node<'_>) -> Option<Vec<String>> {
    let list = node.list()?;
    let mut names = Some(Vec::with_capacity(list.len()));
    for item in list.iter() {
        match (metadata::word(&item, syntax::subdomain), &mut names) {
            (Some(name), Some(names)) if names.contains(&name) => item.duplicate(),
            (Some(name), Some(names)) => names.push(name),
            (Some(_), None) => {}
            (None, _) => names = None,
        }
    }
    names
}

fn http_gateway(node: Node<'_>, meta: &Meta, warnings: &mut Vec<String>) -> Option<(Selection, HttpOptions)> {
    let fields = node.object(&selection::HTTP_GATEWAY)?;
    let selection = selection::read(&fields, meta, warnings);
    let options = fields.or("options", HttpOptions::default(), http::read);
    Some((selection?, options?))
}

fn listener_options(node: Node<'_>) -> Option<ListenerOptions> {
    let fields = node.object(&LISTENER_OPTIONS)?;
    let buffer_limit = fields.maybe("perConnectionBufferLimitBytes", |node| node.unsigned(0..=u32::MAX));
    let exact_balance = fields.or("connectionBalanceConfig", false, |node| {
        node.object(&BALANCE)?.or("exactBalance", false, |node| node.object(&EXACT_BALANCE).map(|_| true))
    });
    let access_logs = fields.maybe("accessLoggingService", access_log::read);
    Some(ListenerOptions {
        buffer_limit: buffer_limit?,
        exact_balance: exact_balance?,
        access_logs: access_logs?,
    })
}

fn route_options(node: Node<'_>) -> Option<RouteConfigurationOptions> {
    let fields = node.object(&ROUTE_OPTIONS)?;
    let size = fields.maybe("maxDirectResponseBodySizeBytes", |node| node.unsigned(0..=u32::MAX));
    let wins = fields.flag("mostSpecificHeaderMutationsWins", false);
    Some(RouteConfigurationOptions {
        max_direct_response_body_size: size?,
        most_specific_header_mutations_wins: wins?,
    })
}

// === impl Gateway ===

impl Gateway {
    /// A gateway with defaults in all the rest: plain HTTP on `gateway-proxy`, for all virtual services.
    #[must_use]
    pub fn new(meta: Meta, bind_address: IpAddr, bind_port: u16) -> Self {
        Self {
            meta,
            bind_address,
            bind_port,
            ssl: false,
            proxy_names: vec![DEFAULT_PROXY.to_owned()],
            selection: Selection::all(),
            http: HttpOptions::default(),
            listener: ListenerOptions::default(),
            routes: RouteConfigurationOptions::default(),
            warnings: Vec::new(),
        }
    }
}
