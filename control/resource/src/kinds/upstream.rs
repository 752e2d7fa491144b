//! `Upstream`: where requests go.

use std::net::IpAddr;

use crate::kind::{
    API_VERSION, CATEGORY, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::meta::Meta;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

/// An `Upstream` with static hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its metadata.
    pub meta: Meta,
    /// `spec.static.hosts`, at least one.
    pub hosts: Vec<StaticHost>,
}

/// One static host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticHost {
    /// Where it is.
    pub addr: HostAddr,
    /// Its port, not zero.
    pub port: u16,
}

/// A host by address or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAddr {
    /// An IP address.
    Ip(IpAddr),
    /// A DNS name in lower case, resolved by the proxy.
    Dns(String),
}

pub(crate) static KIND: Kind = Kind {
    name: "Upstream",
    plural: "upstreams",
    singular: "upstream",
    short_names: &["us"],
    categories: &[CATEGORY],
    group_version: GroupVersion { group: "service.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gloo.solo.io", version: "v1" }],
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
    doc: "",
    fields: &[Field::new("static", Type::Any, "")],
    unsupported: &[
        "ai",
        "aws",
        "awsEc2",
        "azure",
        "circuitBreakers",
        "connectionConfig",
        "consul",
        "disableIstioAutoMtls",
        "discoveryMetadata",
        "dnsRefreshRate",
        "failover",
        "gcp",
        "healthChecks",
        "httpConnectHeaders",
        "httpConnectSslConfig",
        "httpProxyHostname",
        "ignoreHealthOnHostRemoval",
        "initialConnectionWindowSize",
        "initialStreamWindowSize",
        "kube",
        "loadBalancerConfig",
        "maxConcurrentStreams",
        "outlierDetection",
        "overrideStreamErrorOnInvalidHttpMessage",
        "pipe",
        "preconnectPolicy",
        "protocolSelection",
        "proxyProtocolVersion",
        "respectDnsTtl",
        "sslConfig",
        "useHttp2",
    ],
};

static STATIC: Message = Message {
    name: "UpstreamStatic",
    doc: "",
    fields: &[Field::new("hosts", Type::Any, ""), Field::new("useTls", Type::Any, "")],
    unsupported: &["autoSniRewrite", "serviceSpec"],
};

static HOST: Message = Message {
    name: "UpstreamHost",
    doc: "",
    fields: &[Field::new("addr", Type::Any, ""), Field::new("port", Type::Any, "")],
    unsupported: &["healthCheckConfig", "loadBalancingWeight", "metadata", "sniAddr"],
};

/// The port on which the original product speaks TLS to the upstream unless told otherwise.
const TLS_PORT: u16 = 443;

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "an Upstream needs a spec")?.object(&SPEC)?;
    let fixed = spec.choice("static", "an upstream needs a type, such as static with its hosts")?;
    let fixed = fixed.object(&STATIC)?;
    fixed.only("useTls", false);
    let list = fixed.required("hosts", "must provide at least 1 host in static spec")?.list()?;
    if list.len() == 0 {
        list.node().required("must provide at least 1 host in static spec");
    }
    let plain = fixed.optional("useTls").is_some();
    let hosts: Vec<_> = list.iter().map(|node| host(node, plain)).collect();
    let hosts = hosts.into_iter().collect::<Option<Vec<_>>>().filter(|hosts| !hosts.is_empty())?;
    Some(Resource::Upstream(Upstream { meta, hosts }))
}

fn host(node: Node<'_>, plain: bool) -> Option<StaticHost> {
    let fields = node.object(&HOST)?;
    let addr = fields.required("addr", "addr cannot be empty for host").and_then(addr);
    let port = fields.required("port", "port cannot be empty for host").and_then(|node| {
        let port = node.port()?;
        if port == TLS_PORT && !plain {
            node.unsupported("TLS to an upstream is not supported yet; useTls: false speaks plain HTTP here");
        }
        Some(port)
    });
    Some(StaticHost { addr: addr?, port: port? })
}

fn addr(node: Node<'_>) -> Option<HostAddr> {
    let text = node.string()?;
    if text.is_empty() {
        node.required("addr cannot be empty for host");
        return None;
    }
    if let Ok(ip) = text.parse() {
        return Some(HostAddr::Ip(ip));
    }
    match syntax::host_name(text) {
        Ok(()) => Some(HostAddr::Dns(text.to_ascii_lowercase())),
        Err(_) if text.contains("://") => {
            node.invalid("must be an IP address or a host name alone, without scheme and path");
            None
        }
        Err(_) if text.contains(':') => {
            node.invalid("must be an IP address or a host name alone; the port goes into port");
            None
        }
        Err(why) => {
            node.invalid(why);
            None
        }
    }
}
