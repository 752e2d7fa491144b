//! `Proxy`: what a proxy is told to do, as far as people can read it. Written by the control server.

use std::net::IpAddr;

use serde_json::Value;

use crate::kind::{
    API_VERSION, CATEGORY, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::kinds::routing::all;
use crate::meta::Meta;
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};

/// A `Proxy`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its metadata; the name is that of the proxy.
    pub meta: Meta,
    /// What it listens on.
    pub listeners: Vec<ProxyListener>,
}

/// An address that a proxy listens on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyListener {
    /// Its name.
    pub name: String,
    /// The address.
    pub bind_address: IpAddr,
    /// The port, not zero.
    pub bind_port: u16,
    /// The virtual hosts, as they are written.
    pub virtual_hosts: Vec<ProxyVirtualHost>,
}

/// A virtual host of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyVirtualHost {
    /// Its name.
    pub name: String,
    /// Its domains.
    pub domains: Vec<String>,
    /// Its routes, as they are written: only people read them.
    pub routes: Vec<Value>,
}

pub(crate) static KIND: Kind = Kind {
    name: "Proxy",
    plural: "proxies",
    singular: "proxy",
    short_names: &["px"],
    categories: &[CATEGORY],
    group_version: GroupVersion { group: "service.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gloo.solo.io", version: "v1" }],
    alias_short_names: &["gpx"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "Proxy",
    doc: "What a proxy is told to do. Written by the control server; people read it.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "ProxySpec",
    doc: "What a proxy is told to do.",
    fields: &[Field::new("listeners", Type::List(&Type::Object(&LISTENER)), "What it listens on.")],
    unsupported: &["compressedSpec"],
};

static LISTENER: Message = Message {
    name: "ProxyListener",
    doc: "An address that a proxy listens on.",
    fields: &[
        Field::required("name", Type::String, "The name: `listener-`, the address, `-` and the port."),
        Field::required("bindAddress", Type::String, "The IP address."),
        Field::required("bindPort", Type::PORT, "The TCP port."),
        Field::new("httpListener", Type::Object(&HTTP_LISTENER), "What is served there."),
        Field::new("sslConfigurations", Type::List(&Type::Any), "TLS, as the VirtualServices declare it."),
        Field::new("options", Type::Any, "Options of the listener, as the Gateway declares them."),
        Field::new("routeOptions", Type::Any, "Options of all routes, as the Gateway declares them."),
        Field::new("metadataStatic", Type::Any, "Which objects the listener comes from."),
    ],
    unsupported: &["aggregateListener", "hybridListener", "metadata", "tcpListener", "useProxyProto"],
};

static HTTP_LISTENER: Message = Message {
    name: "ProxyHttpListener",
    doc: "What is served by HTTP.",
    fields: &[
        Field::new("virtualHosts", Type::List(&Type::Object(&VIRTUAL_HOST)), "The virtual hosts."),
        Field::new("options", Type::Any, "How HTTP is spoken, as the Gateway declares it."),
        Field::new("statPrefix", Type::String, "The name in statistics."),
    ],
    unsupported: &["customHttpFilters", "customNetworkFilters", "metadata", "metadataStatic"],
};

static VIRTUAL_HOST: Message = Message {
    name: "ProxyVirtualHost",
    doc: "A virtual host: domains and routes, delegated ones included.",
    fields: &[
        Field::required("name", Type::String, "The name: namespace and name of the VirtualService."),
        Field::new("domains", Type::STRING_LIST, "The domains."),
        Field::new(
            "routes",
            Type::List(&Type::Any),
            "The routes in order, with every option that holds for each.",
        ),
        Field::new("options", Type::Any, "Options of the virtual host."),
        Field::new("metadataStatic", Type::Any, "Which objects the virtual host comes from."),
    ],
    unsupported: &["metadata"],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a Proxy needs a spec")?.object(&SPEC)?;
    let listeners = spec.or("listeners", Vec::new(), |node| all(node, listener))?;
    Some(Resource::Proxy(Proxy { meta, listeners }))
}

fn listener(node: Node<'_>) -> Option<ProxyListener> {
    let fields = node.object(&LISTENER)?;
    let name = text(&fields, "name");
    let bind_address = fields.required("bindAddress", "a listener needs an address").and_then(|node| {
        let address = node.string()?.parse().ok();
        if address.is_none() {
            node.invalid("must be an IP address");
        }
        address
    });
    let bind_port = fields.required("bindPort", "a listener needs a port").and_then(|node| node.port());
    fields.optional("sslConfigurations").and_then(|node| node.list().map(|_| ()));
    let virtual_hosts = fields.or("httpListener", Vec::new(), |node| {
        let http = node.object(&HTTP_LISTENER)?;
        let prefix = http.text("statPrefix");
        let hosts = http.or("virtualHosts", Vec::new(), |node| all(node, virtual_host));
        prefix.and(hosts)
    });
    Some(ProxyListener {
        name: name?,
        bind_address: bind_address?,
        bind_port: bind_port?,
        virtual_hosts: virtual_hosts?,
    })
}

fn virtual_host(node: Node<'_>) -> Option<ProxyVirtualHost> {
    let fields = node.object(&VIRTUAL_HOST)?;
    let name = text(&fields, "name");
    let domains = fields.or("domains", Vec::new(), |node| all(node, |item| item.string().map(str::to_owned)));
    let routes = fields.or("routes", Vec::new(), |node| all(node, |item| Some(item.value().clone())));
    Some(ProxyVirtualHost { name: name?, domains: domains?, routes: routes? })
}

fn text(fields: &Object<'_>, key: &str) -> Option<String> {
    fields.required(key, "a name is needed")?.string().map(str::to_owned)
}
