//! `Gateway`: an address that a proxy listens on, and the virtual services served there.

use std::net::{IpAddr, Ipv6Addr};

use crate::kind::{
    API_VERSION, CATEGORY, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::meta::{Meta, ObjectRef};
use crate::metadata;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

/// A `Gateway`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Its metadata.
    pub meta: Meta,
    /// The address to listen on.
    pub bind_address: IpAddr,
    /// The port to listen on, not zero.
    pub bind_port: u16,
    /// The proxies that open this gateway; at least one (default `gateway-proxy`).
    pub proxy_names: Vec<String>,
    /// The virtual services served here; none means all.
    pub virtual_services: Vec<ObjectRef>,
}

pub(crate) static KIND: Kind = Kind {
    name: "Gateway",
    plural: "gateways",
    singular: "gateway",
    short_names: &["gw"],
    categories: &[CATEGORY],
    group_version: GroupVersion { group: "gateway.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gateway.solo.io", version: "v1" }],
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
    doc: "",
    fields: &[
        Field::new("bindAddress", Type::Any, ""),
        Field::new("bindPort", Type::Any, ""),
        Field::new("httpGateway", Type::Any, ""),
        Field::new("proxyNames", Type::Any, ""),
        Field::new("ssl", Type::Any, ""),
        Field::new("useProxyProto", Type::Any, ""),
    ],
    unsupported: &["hybridGateway", "options", "routeOptions", "tcpGateway"],
};

static HTTP_GATEWAY: Message = Message {
    name: "GatewayHttpGateway",
    doc: "",
    fields: &[Field::new("virtualServices", Type::Any, "")],
    unsupported: &[
        "options",
        "virtualServiceExpressions",
        "virtualServiceNamespaces",
        "virtualServiceSelector",
    ],
};

/// The proxy that opens a gateway when none is named.
const DEFAULT_PROXY: &str = "gateway-proxy";

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a Gateway needs a spec")?.object(&SPEC)?;
    spec.only("ssl", false);
    spec.only("useProxyProto", false);
    let bind_address = spec.or("bindAddress", Ipv6Addr::UNSPECIFIED.into(), address);
    let bind_port = spec.required("bindPort", "a gateway needs a port").and_then(|port| port.port());
    let proxy_names = spec.or("proxyNames", Vec::new(), proxy_names);
    let http =
        spec.choice("httpGateway", "a gateway needs a type; httpGateway: {} serves all virtual services");
    let virtual_services = http.and_then(|http| virtual_services(http, &meta));
    let mut proxy_names = proxy_names?;
    if proxy_names.is_empty() {
        proxy_names.push(DEFAULT_PROXY.to_owned());
    }
    Some(Resource::Gateway(Gateway {
        meta,
        bind_address: bind_address?,
        bind_port: bind_port?,
        proxy_names,
        virtual_services: virtual_services?,
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

fn virtual_services(node: Node<'_>, meta: &Meta) -> Option<Vec<ObjectRef>> {
    let http = node.object(&HTTP_GATEWAY)?;
    http.or("virtualServices", Vec::new(), |list| metadata::references(&list.list()?, meta))
}
