//! Policies: one config, or several and which of them must succeed.

use std::collections::{BTreeMap, BTreeSet};

use super::read::{Fields, Node};
use crate::config::{DEFAULT_KEY_HEADER, MAX_STEPS, MetadataHeader, Policy, Step, table_name};
use crate::place::Place;
use crate::{header_name, rule};

/// The longest name of a policy.
const MAX_NAME_LEN: usize = 253;
/// The longest prefix in a key header.
const MAX_PREFIX_LEN: usize = 64;
/// A header with more has too many spellings to take each out of a request.
const MAX_SEPARATORS: usize = 4;

/// Separates the name of a policy from that of one of its configs.
pub(super) const OF: char = '#';
/// What a config says, or a policy of one.
const CONFIG_FIELDS: &[&str] = &["headerName", "keySource", "forwardKey", "headersFromMetadata", "anonymous"];
/// What a policy says.
const POLICY_FIELDS: &[&str] =
    &["headerName", "keySource", "forwardKey", "headersFromMetadata", "anonymous", "configs", "booleanExpr"];
/// What a config of several says.
const NAMED_FIELDS: &[&str] =
    &["headerName", "keySource", "forwardKey", "headersFromMetadata", "anonymous", "name"];

/// A policy as it is written.
pub(super) struct Written {
    pub(super) policy: Policy,
    /// For each step what else is written of it.
    pub(super) configs: Vec<Config>,
}

/// What is written of a step of a policy, and is none of its.
pub(super) struct Config {
    /// Its name; none in a policy of one.
    pub(super) name: Option<String>,
    /// The metadata without which a key is not valid.
    pub(super) required: Vec<String>,
}

/// Reads `identityHeader`, in lower case.
pub(super) fn identity_header(node: &Node<'_>) -> Option<String> {
    set_header(node, node.text()?, header_name::identity_header)
}

/// Reads `policies`.
#[inline(never)]
pub(super) fn policies(node: &Node<'_>, identity_header: &str) -> BTreeMap<String, Written> {
    let mut policies = BTreeMap::new();
    for (name, node) in node.entries() {
        if name.is_empty() || name.len() > MAX_NAME_LEN || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            node.wrong("the name of a policy must be 1 to 253 visible ASCII characters");
        }
        if let Some(written) = policy(name, &node, identity_header) {
            policies.insert(name.to_owned(), written);
        }
    }
    if policies.values().any(Written::has_configs) {
        for (_, node) in node.entries().filter(|(name, _)| name.contains(OF)) {
            node.wrong(
                "has a # in its name, which stands before the names of configs where a policy has some",
            );
        }
    }
    policies
}

/// A header that carries a key must not be one that some policy sets: it is taken out of all requests.
#[inline(never)]
pub(super) fn check_together(node: &Node<'_>, policies: &BTreeMap<String, Written>) {
    let told: BTreeSet<&str> = policies.values().flat_map(Written::told).collect();
    for (name, node) in node.entries() {
        let steps = policies.get(name).into_iter().flat_map(|written| &written.policy.steps);
        let mut headers = steps.flat_map(Step::key_headers);
        if headers.any(|header| told.iter().any(|told| header_name::same(told, header))) {
            node.wrong("looks for its key in a header that a policy fills with metadata");
        }
    }
}

#[inline(never)]
fn policy(name: &str, node: &Node<'_>, identity_header: &str) -> Option<Written> {
    let fields = node.fields(POLICY_FIELDS)?;
    let expression = fields.get("booleanExpr");
    let Some(list) = fields.get("configs") else {
        if let Some(expression) = expression {
            expression.wrong("stands without configs, whose names are in it");
        }
        let (step, required) = step(&fields, name.to_owned(), identity_header);
        return Some(Written { policy: Policy::of(step), configs: vec![Config { name: None, required }] });
    };
    if CONFIG_FIELDS.iter().any(|name| fields.get(name).is_some()) {
        node.wrong("has configs: what it asks for stands in each of them");
    }
    let (mut steps, mut configs, mut names) = (Vec::new(), Vec::new(), Vec::new());
    for (at, node) in list.items().enumerate() {
        let Some(fields) = node.fields(NAMED_FIELDS) else { continue };
        let name_of = fields.get("name").and_then(|node| config_name(&node));
        let name_of = name_of.unwrap_or_else(|| format!("config_{at}"));
        if names.contains(&name_of) {
            node.wrong("has the name of one that stands before it");
        }
        let (step, required) = step(&fields, table_name(name, at), identity_header);
        steps.push(step);
        names.push(name_of.clone());
        configs.push(Config { name: Some(name_of), required });
    }
    if !(1..=MAX_STEPS).contains(&steps.len()) {
        list.wrong(format_args!("must have 1 to {MAX_STEPS} configs"));
        return None;
    }
    let rule = expression.as_ref().and_then(|node| match rule::parse(node.text()?, &names) {
        Ok(rule) => Some(rule),
        // What stands there is not told, as everywhere.
        Err(error) => {
            node.wrong(format_args!(
                "is no expression over the names of configs from character {} on",
                error.at()
            ));
            None
        }
    });
    let policy = Policy::new(steps, rule);
    if let Some(node) = expression.filter(|_| !policy.demands_a_key()) {
        node.wrong("would let a request pass without any valid key");
    }
    Some(Written { policy, configs })
}

#[inline(never)]
fn config_name(node: &Node<'_>) -> Option<String> {
    let name = node.text()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte) || !byte.is_ascii();
    if !(1..=MAX_NAME_LEN).contains(&name.len()) || !name.bytes().all(plain) {
        node.wrong("must consist of letters, digits and any of _-., at most 253 bytes");
        return None;
    }
    Some(name.to_owned())
}

/// One config, and the metadata that it requires.
#[inline(never)]
fn step(fields: &Fields<'_>, table: String, identity_header: &str) -> (Step, Vec<String>) {
    let key_header = |node: &Node<'_>| key_header(node, identity_header);
    let header = fields.get("headerName");
    let source = fields.get("keySource");
    if let (Some(header), Some(_)) = (&header, &source) {
        header.wrong("stands beside keySource, which names all headers: give only one of them");
    }
    let header = header.and_then(|node| key_header(&node));
    let places = source.map(|node| places(&node, identity_header));
    let forward_key = fields.get("forwardKey").and_then(|node| node.flag()).unwrap_or_default();
    let anonymous = fields.get("anonymous").and_then(|node| node.flag()).unwrap_or_default();
    let mut headers: Vec<MetadataHeader> = Vec::new();
    let mut required = Vec::new();
    if let Some(node) = fields.get("headersFromMetadata") {
        for (header, node) in node.entries() {
            let told = |name: &str| header_name::told_header(name, identity_header);
            let header = set_header(&node, header, told);
            let entry = metadata_entry(&node);
            let (Some(header), Some((entry, is_required))) = (header, entry) else { continue };
            if headers.iter().any(|other| header_name::same(&other.header, &header)) {
                node.wrong("names a header that stands there in another spelling too");
            }
            if is_required {
                required.push(entry.clone());
            }
            headers.push(MetadataHeader { header, entry });
        }
    }
    let key_header = match &places {
        Some(_) => String::new(),
        None => header.unwrap_or_else(|| DEFAULT_KEY_HEADER.to_owned()),
    };
    let places = places.unwrap_or_default();
    (Step { places, forward_key, headers, anonymous, ..Step::new(key_header, table) }, required)
}

/// Reads `keySource`: the same as in an `AuthConfig`.
#[inline(never)]
fn places(node: &Node<'_>, identity_header: &str) -> Vec<Place> {
    let Some(fields) = node.fields(&["headers", "queryParams", "cookies"]) else { return Vec::new() };
    let mut places = Vec::new();
    if let Some(headers) = fields.get("headers") {
        for node in headers.items() {
            let Some(fields) = node.fields(&["header", "prefix"]) else { continue };
            let name = fields.required("header").and_then(|node| key_header(&node, identity_header));
            let prefix = fields.get("prefix").and_then(|node| prefix(&node));
            let Some(name) = name else { continue };
            let clashes = |other: &Place| match other {
                Place::Header { name: same, prefix: other } => {
                    *same == name && (*other == prefix || prefix.is_some() != other.is_some())
                }
                _ => false,
            };
            if places.iter().any(clashes) {
                node.wrong("names a header that stands there already, whole or behind the same prefix");
            }
            places.push(Place::Header { name, prefix });
        }
    }
    words(&fields, "queryParams", Place::Query, &mut places);
    words(&fields, "cookies", Place::Cookie, &mut places);
    if places.is_empty() {
        node.wrong("must name a header, a query parameter or a cookie");
    }
    places
}

#[inline(never)]
fn words<'a>(fields: &Fields<'a>, name: &'a str, place: fn(String) -> Place, places: &mut Vec<Place>) {
    let Some(list) = fields.get(name) else { return };
    for node in list.items() {
        let Some(word) = node.text() else { continue };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if !(1..=256).contains(&word.len()) || !word.bytes().all(plain) {
            node.wrong("must consist of letters, digits and any of -._~, at most 256");
            continue;
        }
        let place = place(word.to_owned());
        if places.contains(&place) {
            node.wrong("stands there twice");
        }
        places.push(place);
    }
}

#[inline(never)]
fn key_header(node: &Node<'_>, identity_header: &str) -> Option<String> {
    let name = node.text()?.to_ascii_lowercase();
    match header_name::key_header(&name, identity_header) {
        Ok(()) => Some(name),
        Err(why) => {
            node.wrong(why);
            None
        }
    }
}

/// A header that the filter fills.
#[inline(never)]
fn set_header(node: &Node<'_>, name: &str, check: impl Fn(&str) -> header_name::Check) -> Option<String> {
    let name = name.to_ascii_lowercase();
    let few = name.matches(['-', '_']).count() <= MAX_SEPARATORS;
    let few = || if few { Ok(()) } else { Err("must have at most 4 hyphens and underscores".to_owned()) };
    match check(&name).and_then(|()| few()) {
        Ok(()) => Some(name),
        Err(why) => {
            node.wrong(why);
            None
        }
    }
}

#[inline(never)]
fn prefix(node: &Node<'_>) -> Option<String> {
    let prefix = node.text()?;
    if prefix.is_empty()
        || prefix.len() > MAX_PREFIX_LEN
        || !prefix.bytes().all(|byte| byte.is_ascii_graphic())
    {
        node.wrong("must be one word of at most 64 visible ASCII characters, such as Bearer");
        return None;
    }
    Some(prefix.to_owned())
}

/// The name of metadata, and whether a key without them is not valid.
#[inline(never)]
fn metadata_entry(node: &Node<'_>) -> Option<(String, bool)> {
    let fields = node.fields(&["name", "required"])?;
    let name = fields.required("name").and_then(|node| metadata_name(&node, node.text()?));
    let required = fields.get("required").map_or(Some(false), |node| node.flag());
    Some((name?, required?))
}

/// The name of an entry of the metadata of a key.
pub(super) fn metadata_name(node: &Node<'_>, name: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if (1..=MAX_NAME_LEN).contains(&name.len()) && name.bytes().all(plain) {
        return Some(name.to_owned());
    }
    node.wrong("the name of metadata must consist of letters, digits, '-', '_' and '.', at most 253");
    None
}

/// Reads the name of a policy that is there.
pub(super) fn known(node: &Node<'_>, policies: &BTreeMap<String, Written>) -> Option<String> {
    let name = node.text()?;
    if policies.contains_key(name) {
        return Some(name.to_owned());
    }
    node.wrong("names no policy of policies");
    None
}

// === impl Written ===

impl Written {
    /// Whether it is written with configs, which have names.
    fn has_configs(&self) -> bool {
        self.configs.iter().any(|config| config.name.is_some())
    }

    /// The headers that it fills.
    pub(super) fn told(&self) -> impl Iterator<Item = &str> {
        self.policy.steps.iter().flat_map(|step| &step.headers).map(|told| told.header.as_str())
    }
}
