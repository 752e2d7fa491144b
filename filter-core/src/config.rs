//! The plugin configuration: what the control server tells a filter through xDS.
//!
//! It names policies, never keys. Keys arrive on the key stream ([`crate::wire`]).

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::decisions::Row;
use crate::place::{COOKIE, Place, PlaceRef};
use crate::standalone::{self, Problems, Standalone};

/// The identity header when the settings name no other.
pub const DEFAULT_IDENTITY_HEADER: &str = "x-user-id";
/// The API-key header when an `AuthConfig` names no other.
pub const DEFAULT_KEY_HEADER: &str = "api-key";
/// How long a request waits for the first snapshot of its key table, in milliseconds.
pub const DEFAULT_WAIT_FOR_KEYS_MS: u32 = 5_000;
/// How often a worker reports which keys were used, in milliseconds.
pub const DEFAULT_USAGE_REPORT_MS: u32 = 10_000;
/// What the key tables of one worker may occupy, in bytes. A VM has 1 GiB, and one that runs out of it
/// dies; the rest is room for messages in flight and fragmentation.
pub const DEFAULT_MAX_TABLE_BYTES: u32 = 768 * 1024 * 1024;
/// The longest name of the control cluster: see [`crate::wire::grpc_service`].
pub const MAX_CLUSTER_LEN: usize = 125;
/// The most steps of a policy with a rule.
pub const MAX_STEPS: usize = 10;
/// Separates the auth id from the rest of a generated route name: `<namespace>/<name>|<route>`.
pub const AUTH_ID_SEPARATOR: u8 = b'|';

/// Separates the auth id from the name of a list of who is allowed.
const ALLOWING: char = '@';

/// The whole plugin configuration, JSON in a `google.protobuf.StringValue`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilterConfig {
    /// Names this content: a hash of 53 bits, the same for the same configuration also after a
    /// restart of the control server. Exported as a metric and reported on the key stream, because
    /// neither an xDS ACK nor a config dump proves that a configuration is in force.
    pub version: u64,
    /// The node role that this configuration was made for: `<namespace>~<proxy>`.
    pub role: String,
    /// The Envoy cluster of the control server, for the key stream.
    pub control_cluster: String,
    /// The request header that carries the identity to the upstream, in lower case.
    pub identity_header: String,
    /// How long a request waits for keys after a start, in milliseconds; then it gets 503.
    pub wait_for_keys_ms: u32,
    /// How often a worker reports which keys were used, in milliseconds.
    #[serde(default = "default_usage_report_ms", skip_serializing_if = "is_default_usage_report_ms")]
    pub usage_report_ms: u32,
    /// What the key tables of one worker may occupy, those being loaded included, in bytes. What does not
    /// fit is refused, and what is held stays.
    #[serde(default = "default_max_table_bytes", skip_serializing_if = "is_default_max_table_bytes")]
    pub max_table_bytes: u32,
    /// An access log shows what was decided, so it is told. That costs some calls for each request.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub access_log: bool,
    /// The policies by auth id (`<namespace>/<name>` of the `AuthConfig`). A route whose auth id
    /// is not here is denied with 403.
    pub policies: BTreeMap<String, Policy>,
    /// What there is besides without a control server. Read from another form: see [`standalone`].
    #[serde(skip)]
    pub standalone: Option<Box<Standalone>>,
}

/// What one accepted `AuthConfig` demands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Policy {
    /// The keys that it may look at, in order.
    pub steps: Vec<Step>,
    /// What must hold of them; without a rule, all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<Rule>,
    /// Where its decisions are counted; no part of the configuration.
    #[serde(skip)]
    pub row: Row,
    /// Of whoever it names, only these pass; ascending. Without a control server: else see [`Step::allowed`].
    #[serde(skip)]
    pub only: Option<Vec<Vec<u8>>>,
}

/// One key that a policy looks at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// The request header that carries the key, in lower case. Void where there are `places`.
    pub key_header: String,
    /// Where the key may stand, looked at in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<Place>,
    /// The key table that decides.
    pub table: String,
    /// Keeps the verified value of the key header for the upstream instead of removing it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forward_key: bool,
    /// Headers that tell the upstream metadata of the key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<MetadataHeader>,
    /// Succeeds without a key too, and then gives no identity.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub anonymous: bool,
    /// Of whoever this step names, only those of this key table pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
}

/// A header that tells the upstream metadata of the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetadataHeader {
    /// The request header, in lower case. A key without these metadata leaves it unset.
    pub header: String,
    /// The name of the metadata.
    pub entry: String,
}

/// What must hold of the steps of a policy. Evaluated from left to right, and no further than needed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Rule {
    /// The step at this place holds a valid key.
    Step(usize),
    /// This does not hold.
    Not(Box<Rule>),
    /// All of these hold.
    All(Vec<Rule>),
    /// One of these holds.
    Any(Vec<Rule>),
}

/// A plugin configuration that the filter does not take. The message tells nothing of its content.
#[derive(Debug, thiserror::Error)]
pub enum InvalidConfig {
    /// It is not JSON of exactly this shape.
    #[error("the plugin configuration is not valid at line {} column {}", .0.line(), .0.column())]
    Json(#[from] serde_json::Error),
    /// The name of the control cluster cannot be given to Envoy.
    #[error("the name of the control cluster is empty or longer than {MAX_CLUSTER_LEN} bytes")]
    ControlCluster,
    /// It is one without a control server, and there are mistakes in it.
    #[error("the plugin configuration is not valid: {0}")]
    Standalone(Problems),
}

/// Tells a configuration that a control server made from one that people wrote.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kind {
    #[serde(default)]
    version: Option<IgnoredAny>,
    #[serde(default)]
    role: Option<IgnoredAny>,
    #[serde(default)]
    control_cluster: Option<IgnoredAny>,
}

fn default_usage_report_ms() -> u32 {
    DEFAULT_USAGE_REPORT_MS
}

fn default_max_table_bytes() -> u32 {
    DEFAULT_MAX_TABLE_BYTES
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_default_max_table_bytes(limit: &u32) -> bool {
    *limit == DEFAULT_MAX_TABLE_BYTES
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_default_usage_report_ms(interval: &u32) -> bool {
    *interval == DEFAULT_USAGE_REPORT_MS
}

// === impl FilterConfig ===

impl FilterConfig {
    /// Reads a plugin configuration, whoever made it.
    ///
    /// # Errors
    ///
    /// When it is not valid.
    pub fn read(bytes: &[u8]) -> Result<Self, InvalidConfig> {
        let kind: Kind = serde_json::from_slice(bytes)?;
        if kind.version.is_some() || kind.role.is_some() || kind.control_cluster.is_some() {
            Self::from_json(bytes)
        } else {
            standalone::from_json(bytes).map_err(InvalidConfig::Standalone)
        }
    }

    /// Whether keys come over a stream.
    #[must_use]
    pub fn has_stream(&self) -> bool {
        !self.control_cluster.is_empty()
    }

    /// Reads a plugin configuration that a control server made.
    ///
    /// # Errors
    ///
    /// When the bytes are not JSON of exactly this shape, or the control cluster's name is empty or
    /// longer than [`MAX_CLUSTER_LEN`].
    pub fn from_json(bytes: &[u8]) -> Result<Self, InvalidConfig> {
        let config: Self = serde_json::from_slice(bytes)?;
        if (1..=MAX_CLUSTER_LEN).contains(&config.control_cluster.len()) {
            Ok(config)
        } else {
            Err(InvalidConfig::ControlCluster)
        }
    }
}

// === impl Policy ===

impl Policy {
    /// A policy that demands one key.
    #[must_use]
    pub fn of(step: Step) -> Self {
        Self::new(vec![step], None)
    }

    /// A policy of several steps.
    #[must_use]
    pub fn new(steps: Vec<Step>, rule: Option<Rule>) -> Self {
        Self { steps, rule, row: Row::NONE, only: None }
    }

    /// The key tables that it needs.
    pub fn tables(&self) -> impl Iterator<Item = &str> {
        let tables = self.steps.iter().flat_map(|step| [Some(&step.table), step.allowed.as_ref()]);
        tables.flatten().map(String::as_str)
    }

    /// Whether a request without any key passes.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let anonymous = |at: usize| self.steps.get(at).is_some_and(|step| step.anonymous);
        let holds = match &self.rule {
            Some(rule) => rule.holds(&mut |at| anonymous(at)),
            None => self.steps.iter().all(|step| step.anonymous),
        };
        holds && self.steps.iter().any(|step| step.anonymous)
    }

    /// Whether nobody passes without a valid key, whatever the keys are, but for steps that are anonymous:
    /// only then can a request that passes be given an identity. Looks at every combination, so it gives up, with no, beyond
    /// [`MAX_STEPS`].
    #[must_use]
    pub fn demands_a_key(&self) -> bool {
        let steps = self.steps.len();
        let Some(rule) = &self.rule else { return steps > 0 };
        if steps > MAX_STEPS {
            return false;
        }
        (0_u32..1 << steps).all(|valid| {
            let mut held = false;
            let holds = rule.holds(&mut |step| {
                let valid = valid.checked_shr(u32::try_from(step).unwrap_or(u32::MAX)).unwrap_or(0) & 1 == 1;
                held |= valid;
                valid
            });
            !holds || held
        })
    }
}

// === impl Step ===

impl Step {
    /// A step that takes the key off and tells no metadata.
    #[must_use]
    pub fn new(key_header: impl Into<String>, table: impl Into<String>) -> Self {
        Self {
            key_header: key_header.into(),
            places: Vec::new(),
            table: table.into(),
            forward_key: false,
            headers: Vec::new(),
            anonymous: false,
            allowed: None,
        }
    }

    /// Where the key may stand, in order.
    pub fn places(&self) -> impl Iterator<Item = PlaceRef<'_>> {
        let header = self.places.is_empty().then_some(PlaceRef::Header(&self.key_header, None));
        header.into_iter().chain(self.places.iter().map(Place::as_ref))
    }

    /// The headers in which it looks for a key.
    pub fn key_headers(&self) -> impl Iterator<Item = &str> {
        self.places().filter_map(|place| match place {
            PlaceRef::Header(name, _) => Some(name),
            PlaceRef::Cookie(_) => Some(COOKIE),
            PlaceRef::Query(_) => None,
        })
    }

    /// The query parameters in which it looks for a key.
    pub fn key_parameters(&self) -> impl Iterator<Item = &str> {
        self.places().filter_map(|place| match place {
            PlaceRef::Query(name) => Some(name),
            PlaceRef::Header(..) | PlaceRef::Cookie(_) => None,
        })
    }
}

// === impl Rule ===

impl Rule {
    /// Whether it holds, if `step` tells what holds of one step.
    pub fn holds(&self, step: &mut impl FnMut(usize) -> bool) -> bool {
        match self {
            Self::Step(at) => step(*at),
            Self::Not(rule) => !rule.holds(step),
            Self::All(rules) => rules.iter().all(|rule| rule.holds(step)),
            Self::Any(rules) => rules.iter().any(|rule| rule.holds(step)),
        }
    }
}

/// The auth id of an `AuthConfig` on routes that allow only some of its identities; `list` names them.
#[must_use]
pub fn allowing(auth_id: &str, list: &str) -> String {
    format!("{auth_id}{ALLOWING}{list}")
}

/// An auth id without the list of who is allowed.
#[must_use]
pub fn without_list(auth_id: &str) -> &str {
    auth_id.split_once(ALLOWING).map_or(auth_id, |(auth_id, _)| auth_id)
}

/// The key table of a step of a policy: the auth id, and from the second step on `#` and the place.
#[must_use]
pub fn table_name(auth_id: &str, step: usize) -> String {
    if step == 0 { auth_id.to_owned() } else { format!("{auth_id}#{step}") }
}

/// The auth id in a generated route name, if there is one.
#[must_use]
pub fn auth_id_of_route(route_name: &[u8]) -> Option<&str> {
    let end = route_name.iter().position(|byte| *byte == AUTH_ID_SEPARATOR)?;
    std::str::from_utf8(route_name.get(..end)?).ok()
}

#[cfg(test)]
mod tests;
