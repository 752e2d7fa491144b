//! `Settings`: what holds for the whole installation. The one named `default` in the namespace of the
//! installation counts.

mod tables;

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::kind::{CATEGORY, GroupVersion, Kind, as_written};
use crate::kinds::Resource;
use crate::kinds::upstream::{CircuitBreakers, breakers};
use crate::meta::Meta;
use crate::metadata;
use crate::reader::{Node, Object};
use crate::syntax::{self, headers};

/// The name of the `Settings` that count.
pub const SETTINGS_NAME: &str = "default";

/// The `Settings`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Their metadata.
    pub meta: Meta,
    /// Objects of other namespaces are not looked at; none means all.
    pub watch_namespaces: Vec<String>,
    /// What becomes of routes whose destination is missing.
    pub invalid_config_policy: InvalidConfigPolicy,
    /// Circuit breakers of upstreams that say nothing of their own.
    pub circuit_breakers: CircuitBreakers,
    /// What is refused when it is written.
    pub validation: Validation,
    /// A delegated route may switch off or replace the authentication of its parent.
    pub allow_auth_override: bool,
    /// Clients are asked for no certificate where `oneWayTls` is not said.
    pub one_way_tls: bool,
    /// The request header that carries the identity, in lower case. Unset: `x-user-id`.
    pub user_id_header: Option<String>,
    /// A CORS preflight needs a key too.
    pub preflight_needs_key: bool,
    /// How often proxies report which keys were used, in milliseconds. Unset: every ten seconds.
    pub usage_report_ms: Option<u32>,
    /// There is a port for developers.
    pub dev_mode: bool,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

/// What becomes of routes whose destination is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidConfigPolicy {
    /// They are answered as below; otherwise with 503.
    pub replace_invalid_routes: bool,
    /// The status, 200 to 599; 404 by default.
    pub response_code: u16,
    /// The body.
    pub response_body: String,
}

/// What is refused when it is written, beyond what can never be right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validation {
    /// An object that would be rejected is stored all the same, and reported.
    pub always_accept: bool,
    /// An object that would stand with a warning is stored.
    pub allow_warnings: bool,
}

pub(crate) static KIND: Kind = Kind {
    name: "Settings",
    plural: "settings",
    singular: "settings",
    short_names: &["st"],
    categories: &[CATEGORY],
    group_version: GroupVersion { group: "service.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gloo.solo.io", version: "v1" }],
    alias_short_names: &["gst"],
    fields: &tables::FIELDS,
    normalize: as_written,
    read,
};

/// What is said of the dev mode while it is on.
const DEV_MODE: &str = "spec.devMode is deprecated: the admin port shows the same (9095, /snapshots)";
const DEFAULT_CODE: u16 = 404;
/// How often uses of keys may be reported: proxies look at the time once a second.
const REPORT_INTERVALS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3_600);
const DEFAULT_BODY: &str = "this route has no valid destination: `keyward check` tells which";

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "Settings need a spec")?.object(&tables::SPEC)?;
    let mut inert = Inert::default();
    inert.look(&spec, "spec", tables::INERT);
    let dev_mode = spec.flag("devMode", false);
    let watch_namespaces = spec.or("watchNamespaces", Vec::new(), watch_namespaces);
    let gloo = spec.or("gloo", Gloo::default(), |node| gloo(node, &mut inert));
    let gateway = spec.or("gateway", Gateway::default(), |node| gateway(node, &mut inert));
    let extauth = spec.or("extauth", Extauth::default(), |node| extauth(node, &mut inert));
    let (gloo, gateway, extauth) = (gloo?, gateway?, extauth?);
    let mut warnings = inert.warnings();
    if dev_mode == Some(true) {
        warnings.push(DEV_MODE.to_owned());
    }
    if meta.name != SETTINGS_NAME {
        warnings.push(format!("only the Settings named {SETTINGS_NAME:?} have an effect"));
    }
    Some(Resource::Settings(Settings {
        meta,
        watch_namespaces: watch_namespaces?,
        invalid_config_policy: gloo.policy,
        circuit_breakers: gloo.circuit_breakers,
        validation: gateway.validation,
        allow_auth_override: gateway.allow_auth_override,
        one_way_tls: gateway.one_way_tls,
        user_id_header: extauth.user_id_header,
        preflight_needs_key: extauth.preflight_needs_key,
        usage_report_ms: extauth.usage_report_ms,
        dev_mode: dev_mode?,
        warnings,
    }))
}

/// Namespaces; an empty name stands for all, as in the original product.
fn watch_namespaces(node: Node<'_>) -> Option<Vec<String>> {
    let list = node.list()?;
    let word = |item: Node<'_>| {
        metadata::word(&item, |text| if text.is_empty() { Ok(()) } else { syntax::label(text) })
    };
    let found: Vec<_> = list.iter().map(word).collect();
    let mut found = found.into_iter().collect::<Option<Vec<_>>>()?;
    if found.iter().any(String::is_empty) {
        found.clear();
    }
    found.sort_unstable();
    found.dedup();
    Some(found)
}

/// What `spec.gloo` says.
#[derive(Default)]
struct Gloo {
    policy: InvalidConfigPolicy,
    circuit_breakers: CircuitBreakers,
}

fn gloo(node: Node<'_>, inert: &mut Inert) -> Option<Gloo> {
    let fields = node.object(&tables::GLOO)?;
    inert.look(&fields, "spec.gloo", tables::GLOO_INERT);
    let policy = fields.or("invalidConfigPolicy", InvalidConfigPolicy::default(), policy);
    fields.maybe("regexMaxProgramSize", |node| node.unsigned(1..=u32::MAX));
    let circuit_breakers = fields.or("circuitBreakers", CircuitBreakers::default(), breakers);
    Some(Gloo { policy: policy?, circuit_breakers: circuit_breakers? })
}

fn policy(node: Node<'_>) -> Option<InvalidConfigPolicy> {
    let fields = node.object(&tables::INVALID_CONFIG_POLICY)?;
    let replace_invalid_routes = fields.flag("replaceInvalidRoutes", false);
    let code = fields.or("invalidRouteResponseCode", i64::from(DEFAULT_CODE), |node| node.integer(200..=599));
    let body = fields.text("invalidRouteResponseBody");
    Some(InvalidConfigPolicy {
        replace_invalid_routes: replace_invalid_routes?,
        response_code: u16::try_from(code?).ok()?,
        response_body: body?.unwrap_or_else(|| DEFAULT_BODY.to_owned()),
    })
}

/// What `spec.gateway` says.
struct Gateway {
    validation: Validation,
    allow_auth_override: bool,
    one_way_tls: bool,
}

fn gateway(node: Node<'_>, inert: &mut Inert) -> Option<Gateway> {
    let fields = node.object(&tables::GATEWAY)?;
    inert.look(&fields, "spec.gateway", tables::GATEWAY_INERT);
    let validation = fields.or("validation", Validation::default(), |node| validation(node, inert));
    let allow_auth_override = fields
        .or("delegation", true, |node| node.object(&tables::DELEGATION)?.flag("allowAuthOverride", true));
    fields.flag("translateEmptyGateways", false);
    fields.flag("readGatewaysFromAllNamespaces", false);
    let one_way_tls = fields.or("virtualServiceOptions", false, |node| {
        node.object(&tables::VIRTUAL_SERVICE_OPTIONS)?.flag("oneWayTls", false)
    });
    Some(Gateway {
        validation: validation?,
        allow_auth_override: allow_auth_override?,
        one_way_tls: one_way_tls?,
    })
}

fn validation(node: Node<'_>, inert: &mut Inert) -> Option<Validation> {
    let fields = node.object(&tables::VALIDATION)?;
    inert.look(&fields, "spec.gateway.validation", tables::VALIDATION_INERT);
    let always_accept = fields.flag("alwaysAccept", true);
    let allow_warnings = fields.flag("allowWarnings", true);
    fields.flag("warnMissingTlsSecret", true);
    Some(Validation { always_accept: always_accept?, allow_warnings: allow_warnings? })
}

/// What `spec.extauth` says.
#[derive(Default)]
struct Extauth {
    user_id_header: Option<String>,
    preflight_needs_key: bool,
    usage_report_ms: Option<u32>,
}

fn extauth(node: Node<'_>, inert: &mut Inert) -> Option<Extauth> {
    let fields = node.object(&tables::EXTAUTH)?;
    inert.look(&fields, "spec.extauth", tables::EXTAUTH_INERT);
    fields.only("failureModeAllow", false);
    let user_id_header = fields.or("userIdHeader", None, |node| {
        let name = node.string()?.to_ascii_lowercase();
        if name.is_empty() {
            return Some(None);
        }
        match headers::identity_header(&name) {
            Ok(()) => Some(Some(name)),
            Err(why) => {
                node.invalid(why);
                None
            }
        }
    });
    let preflight_needs_key = fields.flag("preflightNeedsKey", false);
    let usage_report_ms = fields.or("usageReportInterval", None, |node| {
        let interval = node.duration()?;
        if !REPORT_INTERVALS.contains(&interval) {
            node.invalid("must be from 1s to 1h");
            return None;
        }
        Some(u32::try_from(interval.as_millis()).ok())
    });
    Some(Extauth {
        user_id_header: user_id_header?,
        preflight_needs_key: preflight_needs_key?,
        usage_report_ms: usage_report_ms?,
    })
}

/// Fields that mean something in the original product and nothing here, as far as they are set.
#[derive(Default)]
struct Inert(Vec<String>);

// === impl Inert ===

impl Inert {
    fn look(&mut self, fields: &Object<'_>, path: &str, names: &[&str]) {
        let set = names.iter().filter(|name| fields.optional(name).is_some());
        self.0.extend(set.map(|name| format!("{path}.{name}")));
    }

    fn warnings(self) -> Vec<String> {
        if self.0.is_empty() {
            self.0
        } else {
            vec![format!("without an effect here: {}", self.0.join(", "))]
        }
    }
}

// === impl InvalidConfigPolicy ===

impl Default for InvalidConfigPolicy {
    fn default() -> Self {
        Self {
            replace_invalid_routes: false,
            response_code: DEFAULT_CODE,
            response_body: DEFAULT_BODY.to_owned(),
        }
    }
}

// === impl Gateway ===

impl Default for Gateway {
    fn default() -> Self {
        Self { validation: Validation::default(), allow_auth_override: true, one_way_tls: false }
    }
}

// === impl Validation ===

impl Default for Validation {
    fn default() -> Self {
        Self { always_accept: true, allow_warnings: true }
    }
}

// === impl Settings ===

impl Settings {
    /// What holds where nothing is said.
    #[must_use]
    pub fn new(meta: Meta) -> Self {
        let (gloo, gateway) = (Gloo::default(), Gateway::default());
        Self {
            meta,
            watch_namespaces: Vec::new(),
            invalid_config_policy: gloo.policy,
            circuit_breakers: gloo.circuit_breakers,
            validation: gateway.validation,
            allow_auth_override: gateway.allow_auth_override,
            one_way_tls: gateway.one_way_tls,
            user_id_header: None,
            preflight_needs_key: false,
            usage_report_ms: None,
            dev_mode: false,
            warnings: Vec::new(),
        }
    }
}
