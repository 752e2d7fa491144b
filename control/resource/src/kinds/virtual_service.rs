//! `VirtualService`: domains, and the routes under them.

use std::collections::{BTreeMap, BTreeSet};

use crate::kind::{
    API_VERSION, CATEGORY, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::meta::{Meta, ObjectRef};
use crate::metadata;
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
    /// `spec.virtualHost.options.extauth`: inherited by every route that has none of its own.
    pub extauth: Option<ExtAuth>,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

/// One route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Its own name, for people.
    pub name: Option<String>,
    /// It matches when one of these does; at least one.
    pub matchers: Vec<Matcher>,
    /// Where matching requests go: `routeAction.single.upstream`.
    pub upstream: ObjectRef,
    /// Rewrites the host header to the upstream's host name.
    pub auto_host_rewrite: bool,
    /// `options.extauth`: decides instead of the virtual host's.
    pub extauth: Option<ExtAuth>,
}

/// A condition on a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matcher {
    /// The path starts with this.
    pub prefix: String,
}

/// Authentication of a virtual host or of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExtAuth {
    /// No authentication.
    Disable,
    /// As this `AuthConfig` says.
    ConfigRef(ObjectRef),
}

pub(crate) static KIND: Kind = Kind {
    name: "VirtualService",
    plural: "virtualservices",
    singular: "virtualservice",
    short_names: &["vs"],
    categories: &[CATEGORY],
    group_version: GroupVersion { group: "gateway.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gateway.solo.io", version: "v1" }],
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
    doc: "",
    fields: &[Field::new("virtualHost", Type::Any, ""), Field::new("displayName", Type::Any, "")],
    unsupported: &["sslConfig"],
};

static VIRTUAL_HOST: Message = Message {
    name: "VirtualServiceVirtualHost",
    doc: "",
    fields: &[
        Field::new("domains", Type::Any, ""),
        Field::new("routes", Type::Any, ""),
        Field::new("options", Type::Any, ""),
    ],
    unsupported: &["optionsConfigRefs"],
};

static VIRTUAL_HOST_OPTIONS: Message = Message {
    name: "VirtualServiceVirtualHostOptions",
    doc: "",
    fields: &[Field::new("extauth", Type::Any, "")],
    unsupported: &[
        "bufferPerRoute",
        "cors",
        "corsPolicyMergeSettings",
        "csrf",
        "dlp",
        "extProc",
        "extProcEarly",
        "extProcLate",
        "extensions",
        "headerManipulation",
        "includeAttemptCountInResponse",
        "includeRequestAttemptCount",
        "jwt",
        "jwtStaged",
        "rateLimitConfigs",
        "rateLimitEarlyConfigs",
        "rateLimitRegularConfigs",
        "ratelimit",
        "ratelimitBasic",
        "ratelimitEarly",
        "ratelimitRegular",
        "rbac",
        "retries",
        "stagedTransformations",
        "stats",
        "transformations",
        "waf",
    ],
};

static ROUTE: Message = Message {
    name: "VirtualServiceRoute",
    doc: "",
    fields: &[
        Field::new("name", Type::Any, ""),
        Field::new("matchers", Type::Any, ""),
        Field::new("routeAction", Type::Any, ""),
        Field::new("options", Type::Any, ""),
    ],
    unsupported: &[
        "delegateAction",
        "directResponseAction",
        "inheritableMatchers",
        "inheritablePathMatchers",
        "optionsConfigRefs",
        "redirectAction",
    ],
};

static MATCHER: Message = Message {
    name: "VirtualServiceMatcher",
    doc: "",
    fields: &[Field::new("prefix", Type::Any, ""), Field::new("caseSensitive", Type::Any, "")],
    unsupported: &["connectMatcher", "exact", "headers", "methods", "queryParameters", "regex"],
};

static ROUTE_ACTION: Message = Message {
    name: "VirtualServiceRouteAction",
    doc: "",
    fields: &[Field::new("single", Type::Any, "")],
    unsupported: &["clusterHeader", "dynamicForwardProxy", "multi", "upstreamGroup"],
};

static SINGLE: Message = Message {
    name: "VirtualServiceSingle",
    doc: "",
    fields: &[Field::new("upstream", Type::Any, "")],
    unsupported: &["consul", "destinationSpec", "kube", "subset"],
};

static ROUTE_OPTIONS: Message = Message {
    name: "VirtualServiceRouteOptions",
    doc: "",
    fields: &[Field::new("autoHostRewrite", Type::Any, ""), Field::new("extauth", Type::Any, "")],
    unsupported: &[
        "ai",
        "appendXForwardedHost",
        "bufferPerRoute",
        "cors",
        "csrf",
        "dlp",
        "envoyMetadata",
        "extProc",
        "extProcEarly",
        "extProcLate",
        "extensions",
        "faults",
        "headerManipulation",
        "hostRewrite",
        "hostRewriteHeader",
        "hostRewritePathRegex",
        "idleTimeout",
        "jwt",
        "jwtProvidersStaged",
        "jwtStaged",
        "lbHash",
        "maxStreamDuration",
        "prefixRewrite",
        "rateLimitConfigs",
        "rateLimitEarlyConfigs",
        "rateLimitRegularConfigs",
        "ratelimit",
        "ratelimitBasic",
        "ratelimitEarly",
        "ratelimitRegular",
        "rbac",
        "regexRewrite",
        "retries",
        "shadowing",
        "stagedTransformations",
        "timeout",
        "tracing",
        "transformations",
        "upgrades",
        "waf",
    ],
};

static EXT_AUTH: Message = Message {
    name: "VirtualServiceExtAuth",
    doc: "",
    fields: &[Field::new("disable", Type::Any, ""), Field::new("configRef", Type::Any, "")],
    unsupported: &["customAuth"],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a VirtualService needs a spec")?.object(&SPEC)?;
    spec.optional("displayName").and_then(|name| name.string());
    let host = spec.required("virtualHost", "a VirtualService needs a virtualHost")?;
    let host = host.object(&VIRTUAL_HOST)?;
    let mut warnings = Vec::new();
    let domains = host.or("domains", Vec::new(), |node| domains(node, &mut warnings));
    let routes = host.or("routes", Vec::new(), |node| routes(node, &meta));
    let extauth = host.or("options", None, |options| extauth(&options.object(&VIRTUAL_HOST_OPTIONS)?, &meta));
    let mut domains = domains?;
    if domains.is_empty() {
        domains.push("*".to_owned());
    }
    let routes = routes?;
    if routes.is_empty() {
        warnings.push("spec.virtualHost has no routes: every request gets 404".to_owned());
    }
    warnings.extend(never_reached(&routes));
    Some(Resource::VirtualService(VirtualService { meta, domains, routes, extauth: extauth?, warnings }))
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

fn routes(node: Node<'_>, meta: &Meta) -> Option<Vec<Route>> {
    let list = node.list()?;
    // All are read before the first failure counts, so that every mistake is found.
    let routes: Vec<_> = list.iter().map(|item| route(item, meta)).collect();
    routes.into_iter().collect()
}

fn route(node: Node<'_>, meta: &Meta) -> Option<Route> {
    let fields = node.object(&ROUTE)?;
    let name = fields.or("name", "", |name| name.string());
    let matchers = fields.or("matchers", Vec::new(), matchers);
    let action = fields.choice("routeAction", "invalid route: route must specify an action");
    let upstream = action.and_then(|action| destination(action, meta));
    let options = fields.or("options", (false, None), |options| route_options(options, meta));
    let mut matchers = matchers?;
    if matchers.is_empty() {
        matchers.push(Matcher { prefix: "/".to_owned() });
    }
    let (auto_host_rewrite, extauth) = options?;
    let name = Some(name?).filter(|name| !name.is_empty()).map(str::to_owned);
    Some(Route { name, matchers, upstream: upstream?, auto_host_rewrite, extauth })
}

fn route_options(node: Node<'_>, meta: &Meta) -> Option<(bool, Option<ExtAuth>)> {
    let options = node.object(&ROUTE_OPTIONS)?;
    let auto_host_rewrite = options.or("autoHostRewrite", false, |node| node.boolean());
    let extauth = extauth(&options, meta);
    Some((auto_host_rewrite?, extauth?))
}

fn matchers(node: Node<'_>) -> Option<Vec<Matcher>> {
    let list = node.list()?;
    let matchers: Vec<_> = list.iter().map(matcher).collect();
    matchers.into_iter().collect()
}

fn matcher(node: Node<'_>) -> Option<Matcher> {
    let fields = node.object(&MATCHER)?;
    fields.only("caseSensitive", true);
    let prefix = fields.choice("prefix", "no path specifier provided")?;
    Some(Matcher { prefix: metadata::word(&prefix, syntax::path_prefix)? })
}

fn destination(node: Node<'_>, meta: &Meta) -> Option<ObjectRef> {
    let action = node.object(&ROUTE_ACTION)?;
    let single = action.choice("single", "a route action needs a destination")?.object(&SINGLE)?;
    metadata::reference(single.choice("upstream", "a destination needs an upstream")?, meta)
}

/// `options.extauth`. `disable: false` alone says nothing: what is above is inherited.
fn extauth(options: &Object<'_>, meta: &Meta) -> Option<Option<ExtAuth>> {
    let Some(node) = options.optional("extauth") else { return Some(None) };
    let fields = node.object(&EXT_AUTH)?;
    let disable = fields.or("disable", None, |disable| disable.boolean().map(Some));
    let config = fields.or("configRef", None, |config| metadata::reference(config, meta).map(Some));
    match (disable?, config?) {
        (Some(true), Some(_)) => {
            fields.node().invalid("disable and configRef exclude each other: leave one of them out");
            None
        }
        (Some(true), None) => Some(Some(ExtAuth::Disable)),
        (_, Some(config)) => Some(Some(ExtAuth::ConfigRef(config))),
        (Some(false), None) => Some(None),
        (None, None) => {
            // Nothing at all is more likely a slip than the wish to inherit.
            fields.choice("configRef", "must have configRef, or disable: true");
            None
        }
    }
}

/// Warns of routes that stand behind others that match all their requests.
fn never_reached(routes: &[Route]) -> Vec<String> {
    let mut earlier: BTreeMap<&str, usize> = BTreeMap::new();
    let mut warnings = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        let hidden_by = |matcher: &Matcher| {
            let prefix = matcher.prefix.as_str();
            (1..=prefix.len()).find_map(|end| earlier.get(prefix.get(..end)?).copied())
        };
        let hiding: Option<Vec<usize>> = route.matchers.iter().map(hidden_by).collect();
        if let Some(first) = hiding.and_then(|hiding| hiding.first().copied()) {
            warnings.push(format!(
                "spec.virtualHost.routes[{index}] is never reached: routes[{first}] matches all its requests"
            ));
        }
        for matcher in &route.matchers {
            earlier.entry(&matcher.prefix).or_insert(index);
        }
    }
    warnings
}
