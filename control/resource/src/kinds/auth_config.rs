//! `AuthConfig`: what a secured route demands.

mod api_key;
mod key_source;
mod rule;

use crate::error::FieldErrorReason;
use crate::kind::{
    API_VERSION, CATEGORIES, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::meta::Meta;
use crate::reader::{List, Node, Object};
use crate::schema::{Field, Message, Type};
use crate::syntax::headers;

pub use api_key::{ApiKeyAuth, MetadataEntry};
pub use key_source::KeyPlace;
pub use rule::AuthRule;

/// An `AuthConfig`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// Its metadata.
    pub meta: Meta,
    /// The entries of `spec.configs` in order; at least one.
    pub steps: Vec<AuthStep>,
    /// Which of them must succeed; without a rule all, in order. With a rule nobody passes without a
    /// valid key.
    pub rule: Option<AuthRule>,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

/// One entry of `spec.configs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthStep {
    /// Its name, unique in the `AuthConfig`.
    pub name: String,
    /// The key that it looks at.
    pub api_key_auth: ApiKeyAuth,
}

/// The most entries of `spec.configs`: with a rule every combination of them is looked at.
pub const MAX_STEPS: usize = 10;

pub(crate) static KIND: Kind = Kind {
    name: "AuthConfig",
    plural: "authconfigs",
    singular: "authconfig",
    short_names: &["ac"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "enterprise.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "enterprise.gloo.solo.io", version: "v1" }],
    alias_short_names: &["gac"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "AuthConfig",
    doc: "What a secured route demands of a request.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "AuthConfigSpec",
    doc: "The configs, and which of them must succeed.",
    fields: &[
        Field::required(
            "configs",
            Type::List(&Type::Object(&CONFIG)),
            "What is asked of a request, in this order; 1 to 10 entries. Without booleanExpr all must succeed, \
             and the first that does not ends it. The identity is that of the last key that was valid.",
        ),
        Field::new(
            "booleanExpr",
            Type::String,
            "Which configs must succeed, by their names: `a && (b || !c)`. `!` binds tighter than `&&`, and \
             that tighter than `||`. It is evaluated from left to right, and no further than needed. An \
             expression that lets a request pass without any valid key is refused. Where it does not hold by \
             valid keys alone, it is evaluated once more with every config that has `anonymous` and finds no \
             key as one that succeeds; who then passes without any valid key must have brought none at all, \
             for none of the configs.",
        ),
        Field::new(
            "failOnRedirect",
            Type::Boolean,
            "Only false is supported: no method here redirects. Default false.",
        ),
    ],
    unsupported: &[],
};

static CONFIG: Message = Message {
    name: "AuthConfigConfig",
    doc: "One method of authentication.",
    fields: &[
        Field::new(
            "name",
            Type::String,
            "The name for booleanExpr: letters, digits, '_', '-' and '.'. Unique here. Default `config_` and \
             the place in the list, from 0.",
        ),
        Field::required("apiKeyAuth", Type::Object(&api_key::API_KEY_AUTH), "An API key."),
    ],
    unsupported: &[
        "basicAuth",
        "hmacAuth",
        "jwt",
        "ldap",
        "oauth",
        "oauth2",
        "opaAuth",
        "opaServerAuth",
        "passThroughAuth",
        "pluginAuth",
        "portalAuth",
    ],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "an AuthConfig needs a spec")?.object(&SPEC)?;
    spec.only("failOnRedirect", false);
    let mut warnings = Vec::new();
    let configs = spec.required("configs", "must have an entry, such as apiKeyAuth");
    let (names, steps) = match configs.and_then(|configs| configs.list()) {
        Some(list) => steps(&list, &meta, &mut warnings),
        None => (Vec::new(), None),
    };
    // Without the names it cannot be read, but it can still be of a wrong type.
    let rule = spec.maybe("booleanExpr", |node| rule(&node, &names));
    let (steps, rule) = (steps?, rule?);
    warnings.extend(open_warning(&steps, rule.as_ref()));
    if let Some(rule) = &rule {
        for (at, step) in steps.iter().enumerate().filter(|(at, _)| !rule.names(*at)) {
            warnings
                .push(format!("spec.configs[{at}] has no effect: booleanExpr does not name {:?}", step.name));
        }
    }
    Some(Resource::AuthConfig(AuthConfig { meta, steps, rule, warnings }))
}

/// What there is to say of an `AuthConfig` that lets requests without any key pass.
fn open_warning(steps: &[AuthStep], rule: Option<&AuthRule>) -> Option<String> {
    let anonymous = |at: usize| steps.get(at).is_some_and(|step| step.api_key_auth.anonymous);
    let open = match rule {
        Some(rule) => rule.holds(&mut |at| anonymous(at)),
        None => (0..steps.len()).all(anonymous),
    };
    let first = (0..steps.len()).find(|at| anonymous(*at)).filter(|_| open)?;
    Some(format!(
        "open to requests without a key, because of spec.configs[{first}].apiKeyAuth.anonymous: on every route \
         that uses it they pass without an identity, unless the route has extauth.allowed"
    ))
}

/// The names of all entries, and the entries if they are right.
fn steps(list: &List<'_>, meta: &Meta, warnings: &mut Vec<String>) -> (Vec<String>, Option<Vec<AuthStep>>) {
    if list.len() == 0 {
        list.node().required("must have an entry, such as apiKeyAuth");
    }
    if list.len() > MAX_STEPS {
        list.node().invalid(format_args!("must have at most {MAX_STEPS} entries"));
    }
    let mut names: Vec<String> = Vec::with_capacity(list.len());
    let mut steps = Some(Vec::with_capacity(list.len()));
    for (index, item) in list.iter().enumerate() {
        let (name, api_key_auth) = step(item, index, meta, warnings);
        if names.contains(&name) {
            let message = format!("Duplicate value: the name {name:?} stands there twice");
            item.error(FieldErrorReason::Duplicate, message);
        }
        match (api_key_auth, &mut steps) {
            (Some(api_key_auth), Some(steps)) => steps.push(AuthStep { name: name.clone(), api_key_auth }),
            (Some(_), None) => {}
            (None, _) => steps = None,
        }
        names.push(name);
    }
    if let Some(steps) = &steps {
        check_headers(list, steps);
    }
    (names, steps)
}

fn step(
    node: Node<'_>,
    index: usize,
    meta: &Meta,
    warnings: &mut Vec<String>,
) -> (String, Option<ApiKeyAuth>) {
    let unnamed = format!("config_{index}");
    let Some(config) = node.object(&CONFIG) else { return (unnamed, None) };
    let name = config.text("name").flatten().unwrap_or(unnamed);
    let auth = config.choice("apiKeyAuth", "an entry needs a method, such as apiKeyAuth");
    let mut said = Vec::new();
    let auth = auth.and_then(|auth| api_key::read(auth, meta, &mut said));
    warnings.extend(said.into_iter().map(|warning| format!("spec.configs[{index}].apiKeyAuth.{warning}")));
    (name, auth)
}

/// A header that a step sets must not be one in which a step looks for a key: it would find what an
/// earlier one has put there.
fn check_headers(list: &List<'_>, steps: &[AuthStep]) {
    for (item, step) in list.iter().zip(steps) {
        for header in step.api_key_auth.headers_from_metadata.keys() {
            if steps
                .iter()
                .any(|other| other.api_key_auth.key_headers().any(|name| headers::same(name, header)))
            {
                item.invalid(format_args!(
                    "the header {header:?} carries a key, so no metadata can go there"
                ));
            }
        }
    }
}

fn rule(node: &Node<'_>, names: &[String]) -> Option<AuthRule> {
    let text = node.string()?;
    if names.is_empty() || names.len() > MAX_STEPS {
        return None;
    }
    match rule::parse(text, names) {
        Err(error) => {
            node.invalid(error);
            None
        }
        Ok(rule) if !demands_a_key(&rule, names.len()) => {
            node.invalid("would let a request pass without any valid key");
            None
        }
        Ok(rule) => Some(rule),
    }
}

/// Whether nobody passes without a valid key, whichever keys are valid. Only then can everybody who
/// passes be given an identity.
fn demands_a_key(rule: &AuthRule, steps: usize) -> bool {
    let combinations =
        u32::try_from(steps).ok().and_then(|steps| 1_u32.checked_shl(steps)).unwrap_or(u32::MAX);
    (0..combinations).all(|valid| {
        let mut found = false;
        let holds = rule.holds(&mut |step| {
            let valid = u32::try_from(step)
                .is_ok_and(|step| valid.checked_shr(step).is_some_and(|bits| bits & 1 == 1));
            found |= valid;
            valid
        });
        !holds || found
    })
}

// === impl AuthConfig ===

impl AuthConfig {
    /// An `AuthConfig` that demands one key.
    #[must_use]
    pub fn of(meta: Meta, api_key_auth: ApiKeyAuth) -> Self {
        let step = AuthStep { name: "config_0".to_owned(), api_key_auth };
        Self { meta, steps: vec![step], rule: None, warnings: Vec::new() }
    }
}
