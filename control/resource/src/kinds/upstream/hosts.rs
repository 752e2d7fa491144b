//! `spec.static`: hosts by address or by name.

use std::net::IpAddr;

use crate::kinds::ssl;
use crate::reader::Node;
use crate::schema::{Field, Message, Type};
use crate::syntax;

/// One static host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticHost {
    /// Where it is.
    pub addr: HostAddr,
    /// Its port, not zero.
    pub port: u16,
    /// Its share of the requests, relative to the other hosts; not zero. Unset: 1.
    pub weight: Option<u32>,
    /// The server name (SNI) that this host is sent, before any other.
    pub sni: Option<String>,
}

/// A host by address or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAddr {
    /// An IP address.
    Ip(IpAddr),
    /// A DNS name in lower case, resolved by the proxy.
    Dns(String),
}

/// What `spec.static` says.
pub(super) struct Static {
    pub(super) hosts: Vec<StaticHost>,
    /// Whether TLS is spoken, where it says so.
    pub(super) use_tls: Option<bool>,
    pub(super) auto_sni_rewrite: bool,
}

pub(super) static STATIC: Message = Message {
    name: "UpstreamStatic",
    doc: "Hosts that are known beforehand.",
    fields: &[
        Field::required(
            "hosts",
            Type::List(&Type::Object(&HOST)),
            "The hosts, at least one. Requests are spread over all of them.",
        ),
        Field::new(
            "useTls",
            Type::Boolean,
            "Whether TLS is spoken to the hosts. The default is true when a host has port 443, else false. \
             With sslConfig TLS is always spoken.",
        ),
        Field::new(
            "autoSniRewrite",
            Type::Boolean,
            "Whether each host is sent its own name as the server name (SNI), unless sslConfig.sni names one. \
             Default true; with false all are sent the name of the first host.",
        ),
    ],
    unsupported: &["serviceSpec"],
};

static HOST: Message = Message {
    name: "UpstreamHost",
    doc: "One host.",
    fields: &[
        Field::required(
            "addr",
            Type::String,
            "An IP address, or a host name, which the proxy resolves. Without scheme, port and path.",
        ),
        Field::required("port", Type::PORT, "The TCP port. On 443 TLS is spoken unless useTls is false."),
        Field::new(
            "loadBalancingWeight",
            Type::Integer(1, MAX_WEIGHT as i64),
            "The share of requests that the host gets, relative to the others. Default 1.",
        ),
        Field::new(
            "sniAddr",
            Type::String,
            "The server name (SNI) that this host is sent, instead of its own name.",
        ),
    ],
    unsupported: &["healthCheckConfig", "metadata"],
};

/// The port on which the original product speaks TLS to the upstream unless told otherwise.
const TLS_PORT: u16 = 443;
/// The proxy adds the weights up in 32 bits.
const MAX_WEIGHT: u32 = 65_535;
/// So many hosts of the highest weight still fit.
const MAX_HOSTS: usize = 65_536;

/// Reads `spec.static`.
pub(super) fn read(node: Node<'_>) -> Option<Static> {
    let fields = node.object(&STATIC)?;
    let use_tls = fields.maybe("useTls", |node| node.boolean());
    let auto_sni_rewrite = fields.flag("autoSniRewrite", true);
    let hosts = fields.required("hosts", "must provide at least 1 host in static spec").and_then(hosts);
    Some(Static { hosts: hosts?, use_tls: use_tls?, auto_sni_rewrite: auto_sni_rewrite? })
}

fn hosts(node: Node<'_>) -> Option<Vec<StaticHost>> {
    let list = node.list()?;
    if list.len() == 0 {
        list.node().required("must provide at least 1 host in static spec");
    }
    if list.len() > MAX_HOSTS {
        list.node().invalid(format_args!("must have at most {MAX_HOSTS} hosts"));
    }
    let hosts: Vec<_> = list.iter().map(host).collect();
    hosts.into_iter().collect::<Option<Vec<_>>>().filter(|hosts| !hosts.is_empty())
}

fn host(node: Node<'_>) -> Option<StaticHost> {
    let fields = node.object(&HOST)?;
    let addr = fields.required("addr", "addr cannot be empty for host").and_then(addr);
    let port = fields.required("port", "port cannot be empty for host").and_then(|node| node.port());
    let weight = fields.maybe("loadBalancingWeight", |node| node.unsigned(1..=MAX_WEIGHT));
    let sni = fields.or("sniAddr", None, |node| ssl::sni(&node));
    Some(StaticHost { addr: addr?, port: port?, weight: weight?, sni: sni? })
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

// === impl StaticHost ===

impl StaticHost {
    /// A host with defaults in all the rest.
    #[must_use]
    pub fn new(addr: HostAddr, port: u16) -> Self {
        Self { addr, port, weight: None, sni: None }
    }
}

// === impl Static ===

impl Static {
    /// Whether TLS is spoken when nothing else is said about it.
    pub(super) fn speaks_tls(&self) -> bool {
        self.use_tls.unwrap_or_else(|| self.hosts.iter().any(|host| host.port == TLS_PORT))
    }

    /// Whether only some hosts have the port by which TLS was guessed.
    pub(super) fn guesses_tls(&self) -> bool {
        self.use_tls.is_none() && self.speaks_tls() && self.hosts.iter().any(|host| host.port != TLS_PORT)
    }
}
