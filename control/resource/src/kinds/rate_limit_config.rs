//! `RateLimitConfig`: limits by descriptors, and how requests become descriptors.

mod actions;
mod tables;

use crate::kind::{CATEGORIES, GroupVersion, Kind, as_written};
use crate::kinds::Resource;
use crate::kinds::routing::all;
use crate::meta::Meta;
use crate::reader::{Node, Object};

pub use actions::{
    HeaderCondition, HeaderMatch, MetadataKey, MetadataSource, RateLimitAction, RateLimitActions,
};

/// A `RateLimitConfig`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimitConfig {
    /// Its metadata.
    pub meta: Meta,
    /// Limits as a tree.
    pub descriptors: Vec<Descriptor>,
    /// Limits by sets.
    pub set_descriptors: Vec<SetDescriptor>,
    /// How requests become descriptors.
    pub rate_limits: Vec<RateLimitActions>,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

/// A limit in a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Descriptor {
    /// The key that a request must have.
    pub key: String,
    /// The value that it must have; without one each value is counted for itself.
    pub value: Option<String>,
    /// The limit, if there is one at this place.
    pub rate_limit: Option<RateLimit>,
    /// What the next key must be.
    pub descriptors: Vec<Descriptor>,
    /// Of all limits that a request meets only those of the highest weight count.
    pub weight: u32,
    /// Counts whatever its weight.
    pub always_apply: bool,
}

/// A limit by a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetDescriptor {
    /// What a request must have, in any order; nothing means every request.
    pub simple: Vec<SimpleDescriptor>,
    /// The limit; none means that requests are let through.
    pub rate_limit: Option<RateLimit>,
    /// Counts even if an earlier one counts already.
    pub always_apply: bool,
}

/// A key that a request must have.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimpleDescriptor {
    /// The key.
    pub key: String,
    /// Its value; without one each value is counted for itself.
    pub value: Option<String>,
}

/// A limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The time in which requests are counted.
    pub unit: RateLimitUnit,
    /// So many requests are let through in that time; zero for none.
    pub requests_per_unit: u32,
}

/// The time in which requests are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitUnit {
    /// A second.
    Second,
    /// A minute.
    Minute,
    /// An hour.
    Hour,
    /// A day.
    Day,
}

pub(crate) static KIND: Kind = Kind {
    name: "RateLimitConfig",
    plural: "ratelimitconfigs",
    singular: "ratelimitconfig",
    short_names: &["rlc"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "ratelimit.keyward.io", version: "v1alpha1" },
    aliases: &[GroupVersion { group: "ratelimit.solo.io", version: "v1alpha1" }],
    alias_short_names: &["grlc"],
    fields: &tables::FIELDS,
    normalize: as_written,
    read,
};

/// Deeper trees are refused.
const MAX_DEPTH: usize = 10;

const UNITS: &[(&str, RateLimitUnit)] = &[
    ("SECOND", RateLimitUnit::Second),
    ("MINUTE", RateLimitUnit::Minute),
    ("HOUR", RateLimitUnit::Hour),
    ("DAY", RateLimitUnit::Day),
];

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a RateLimitConfig needs a spec")?.object(&tables::SPEC)?;
    let raw = spec.required("raw", "a RateLimitConfig needs its limits")?.object(&tables::RAW)?;
    let descriptors = raw.or("descriptors", Vec::new(), |node| descriptors(node, 0));
    let set_descriptors = raw.or("setDescriptors", Vec::new(), |node| all(node, set_descriptor));
    let rate_limits = raw.or("rateLimits", Vec::new(), |node| all(node, actions::read));
    let (descriptors, set_descriptors, rate_limits) = (descriptors?, set_descriptors?, rate_limits?);
    let mut warnings = vec!["stored and shown: rate limiting takes effect in a later version".to_owned()];
    if descriptors.is_empty() && set_descriptors.is_empty() {
        warnings.push("spec.raw has neither descriptors nor setDescriptors: nothing is limited".to_owned());
    }
    if rate_limits.is_empty() {
        warnings.push("spec.raw has no rateLimits: no request is ever counted".to_owned());
    }
    Some(Resource::RateLimitConfig(RateLimitConfig {
        meta,
        descriptors,
        set_descriptors,
        rate_limits,
        warnings,
    }))
}

fn descriptors(node: Node<'_>, depth: usize) -> Option<Vec<Descriptor>> {
    if depth >= MAX_DEPTH {
        node.invalid(format_args!("nested deeper than {MAX_DEPTH} levels"));
        return None;
    }
    let found = all(node, |item| descriptor(item, depth))?;
    let list = node.list()?;
    for (index, item) in list.iter().enumerate() {
        let (earlier, later) = found.split_at_checked(index)?;
        let this = later.first()?;
        if earlier.iter().any(|other| other.key == this.key && other.value == this.value) {
            item.invalid("has the same key and value as an earlier one");
        }
    }
    Some(found)
}

fn descriptor(node: Node<'_>, depth: usize) -> Option<Descriptor> {
    let fields = node.object(&tables::DESCRIPTOR)?;
    let key = filled(&fields, "key", "a descriptor needs a key");
    let value = fields.text("value");
    let rate_limit = fields.maybe("rateLimit", rate_limit);
    let descriptors = fields.or("descriptors", Vec::new(), |node| descriptors(node, depth.saturating_add(1)));
    let weight = fields.or("weight", 0, |node| node.unsigned(0..=u32::MAX));
    let always_apply = fields.flag("alwaysApply", false);
    Some(Descriptor {
        key: key?,
        value: value?,
        rate_limit: rate_limit?,
        descriptors: descriptors?,
        weight: weight?,
        always_apply: always_apply?,
    })
}

fn set_descriptor(node: Node<'_>) -> Option<SetDescriptor> {
    let fields = node.object(&tables::SET_DESCRIPTOR)?;
    let simple = fields.or("simpleDescriptors", Vec::new(), |node| all(node, simple_descriptor));
    let rate_limit = fields.maybe("rateLimit", rate_limit);
    let always_apply = fields.flag("alwaysApply", false);
    Some(SetDescriptor { simple: simple?, rate_limit: rate_limit?, always_apply: always_apply? })
}

fn simple_descriptor(node: Node<'_>) -> Option<SimpleDescriptor> {
    let fields = node.object(&tables::SIMPLE_DESCRIPTOR)?;
    let key = filled(&fields, "key", "a descriptor needs a key");
    let value = fields.text("value");
    Some(SimpleDescriptor { key: key?, value: value? })
}

fn rate_limit(node: Node<'_>) -> Option<RateLimit> {
    let fields = node.object(&tables::RATE_LIMIT)?;
    let unit = fields.required("unit", "a limit needs its unit").and_then(|node| node.one_of(UNITS));
    let requests = fields.or("requestsPerUnit", 0, |node| node.unsigned(0..=u32::MAX));
    Some(RateLimit { unit: unit?, requests_per_unit: requests? })
}

/// A string that must be there and not empty.
fn filled(fields: &Object<'_>, key: &str, why: &str) -> Option<String> {
    let node = fields.required(key, why)?;
    let text = node.string()?;
    if text.is_empty() {
        node.required(why);
        return None;
    }
    Some(text.to_owned())
}
