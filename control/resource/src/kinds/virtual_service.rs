//! `VirtualService`: domains, and the routes under them.

use std::collections::BTreeSet;

use crate::kind::{
    API_VERSION, CATEGORIES, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::kinds::options::VirtualHostOptions;
use crate::kinds::route::Route;
use crate::kinds::routing::{Context, Scope, reach, refs, routes, virtual_host_options};
use crate::kinds::ssl::{self, SslConfig};
use crate::meta::{Meta, ObjectRef};
use crate::reader::{Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax;

/// A `VirtualService`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualService {
    /// Its metadata.
    pub meta: Meta,
    /// The host names matched: exact, `*.suffix`, `prefix.*` or `*`. Lower case, no duplicates,
    /// without ports.
    pub domains: Vec<String>,
    /// The routes in order; the first that matches decides.
    pub routes: Vec<Route>,
    /// Options of all routes.
    pub options: VirtualHostOptions,
    /// `VirtualHostOption` objects that fill in what `options` leaves unset, the earlier before the
    /// later.
    pub options_refs: Vec<ObjectRef>,
    /// The certificates it is served with; without, it is served where TLS is not terminated.
    pub ssl_config: Option<SslConfig>,
    /// A name for people.
    pub display_name: Option<String>,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

pub(crate) static KIND: Kind = Kind {
    name: "VirtualService",
    plural: "virtualservices",
    singular: "virtualservice",
    short_names: &["vs"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "gateway.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gateway.solo.io", version: "v1" }],
    alias_short_names: &["gvs"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "VirtualService",
    doc: "Domains, and the routes under them.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "VirtualServiceSpec",
    doc: "One virtual host, and how it is served.",
    fields: &[
        Field::required("virtualHost", Type::Object(&VIRTUAL_HOST), "The domains and their routes."),
        Field::new(
            "sslConfig",
            Type::Object(&ssl::SSL_CONFIG),
            "The certificates with which the virtual host is served, on gateways with `ssl: true` alone. \
             Without it, it is served on the other gateways alone.",
        ),
        Field::new("displayName", Type::String, "A name for people. It has no other meaning."),
    ],
    unsupported: &[],
};

static VIRTUAL_HOST: Message = Message {
    name: "VirtualHost",
    doc: "Domains, the routes under them, and what holds of all these routes.",
    fields: &[
        Field::new(
            "domains",
            Type::STRING_LIST,
            "The host names that are matched: a name, `*.suffix`, `prefix.*` or `*`. None means `*`. Names \
             match in any case and on every port; a port in a name is left out, with a warning. On one gateway a domain belongs to one VirtualService.",
        ),
        Field::new(
            "routes",
            routes::LIST,
            "The routes in order. The first that matches a request decides; a request that none matches is \
             answered with 404.",
        ),
        Field::new(
            "options",
            Type::Object(&virtual_host_options::OPTIONS),
            "What holds of all routes, unless a route says otherwise.",
        ),
        Field::new(
            "optionsConfigRefs",
            Type::Object(&refs::DELEGATE_OPTIONS),
            "VirtualHostOption objects that fill in what `options` leaves unset.",
        ),
    ],
    unsupported: &[],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a VirtualService needs a spec")?.object(&SPEC)?;
    let display_name = spec.text("displayName");
    let ssl_config = spec.maybe("sslConfig", |node| ssl::downstream(node, &meta));
    let host = spec.required("virtualHost", "a VirtualService needs a virtualHost")?;
    let host = host.object(&VIRTUAL_HOST)?;
    let mut warnings = Vec::new();
    let domains = host.or("domains", Vec::new(), |node| domains(node, &mut warnings));
    let routes = host.or("routes", Vec::new(), |node| routes::read(node, Scope::Host(&meta), &mut warnings));
    let options = host.or("options", VirtualHostOptions::default(), |options| {
        virtual_host_options::read(options, &mut Context { meta: &meta, warnings: &mut warnings })
    });
    let options_refs = host.or("optionsConfigRefs", Vec::new(), |node| refs::delegate_options(node, &meta));
    let mut domains = domains?;
    if domains.is_empty() {
        domains.push("*".to_owned());
    }
    let routes = routes?;
    if routes.is_empty() {
        warnings.push("spec.virtualHost has no routes: every request gets 404".to_owned());
    }
    warnings.extend(reach::never_reached(&routes, Scope::Host(&meta)));
    Some(Resource::VirtualService(VirtualService {
        meta,
        domains,
        routes,
        options: options?,
        options_refs: options_refs?,
        ssl_config: ssl_config?,
        display_name: display_name?,
        warnings,
    }))
}

fn domains(node: Node<'_>, warnings: &mut Vec<String>) -> Option<Vec<String>> {
    let list = node.list()?;
    let mut written = BTreeSet::new();
    let mut known = BTreeSet::new();
    let mut domains = Vec::with_capacity(list.len());
    let mut valid = true;
    for item in list.iter() {
        let Some(text) = item.string().map(str::to_ascii_lowercase) else {
            valid = false;
            continue;
        };
        let (domain, port) = split_port(&text);
        if let Err(why) = syntax::domain(domain) {
            item.invalid(why);
            valid = false;
        } else if !written.insert(text.clone()) {
            item.duplicate();
            valid = false;
        } else {
            if let Some(port) = port {
                warnings.push(format!("domain {text}: port {port} is ignored, hosts match on every port"));
            }
            // `a.com` and `a.com:8080` side by side are no mistake: they mean the same here.
            if known.insert(domain.to_owned()) {
                domains.push(domain.to_owned());
            }
        }
    }
    valid.then_some(domains)
}

fn split_port(domain: &str) -> (&str, Option<u16>) {
    match domain.rsplit_once(':') {
        // Not the last part of an IPv6 address.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => match port.parse() {
            Ok(port) => (host, Some(port)),
            Err(_) => (domain, None),
        },
        _ => (domain, None),
    }
}
