//! `spec.raw.rateLimits`: how requests become descriptors.

use super::{filled, tables};
use crate::kinds::routing::{all, alternative, matcher};
use crate::reader::{Node, Object};
use crate::syntax;

/// What is done with a request: if every action finds something, together they make one descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateLimitActions {
    /// For the tree of descriptors.
    pub actions: Vec<RateLimitAction>,
    /// For the sets.
    pub set_actions: Vec<RateLimitAction>,
    /// Metadata of the request that say another limit.
    pub limit: Option<MetadataKey>,
}

/// One entry of a descriptor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RateLimitAction {
    /// `source_cluster`.
    SourceCluster,
    /// `destination_cluster`: the upstream.
    DestinationCluster,
    /// A header of the request under this key.
    RequestHeader {
        /// The header, in lower case.
        header: String,
        /// The key.
        key: String,
    },
    /// `remote_address`: the address of the client.
    RemoteAddress,
    /// `generic_key` with this value.
    GenericKey(String),
    /// `header_match` with this value, if headers are so.
    HeaderValueMatch {
        /// The value.
        value: String,
        /// Whether all conditions must hold, or not all.
        expect_match: bool,
        /// The conditions; at least one.
        headers: Vec<HeaderMatch>,
    },
    /// Metadata under this key.
    Metadata {
        /// The key.
        descriptor_key: String,
        /// Where they stand.
        metadata_key: MetadataKey,
        /// What stands for metadata that are not there.
        default: Option<String>,
        /// Whose metadata.
        source: MetadataSource,
    },
}

/// A condition on a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderMatch {
    /// The header, in lower case.
    pub name: String,
    /// What must hold of it.
    pub condition: HeaderCondition,
    /// It must not hold.
    pub invert: bool,
}

/// What must hold of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderCondition {
    /// It is this.
    Exact(String),
    /// All of it matches this regular expression (RE2).
    Regex(String),
    /// It is a whole number from the first to before the second.
    Range(i64, i64),
    /// It is there, or not.
    Present(bool),
    /// It begins with this.
    Prefix(String),
    /// It ends with this.
    Suffix(String),
}

/// Where metadata stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetadataKey {
    /// The namespace of the metadata.
    pub key: String,
    /// The way from there; at least one step.
    pub path: Vec<String>,
}

/// Whose metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetadataSource {
    /// Those that filters have given the request.
    #[default]
    Dynamic,
    /// Those of the route.
    RouteEntry,
}

const SOURCES: &[(&str, MetadataSource)] =
    &[("DYNAMIC", MetadataSource::Dynamic), ("ROUTE_ENTRY", MetadataSource::RouteEntry)];

/// Reads an entry of `rateLimits`.
pub(super) fn read(node: Node<'_>) -> Option<RateLimitActions> {
    let fields = node.object(&tables::RATE_LIMIT_ACTIONS)?;
    let actions = fields.or("actions", Vec::new(), |node| all(node, action));
    let set_actions = fields.or("setActions", Vec::new(), |node| all(node, action));
    let limit = fields.or("limit", None, limit);
    let (actions, set_actions) = (actions?, set_actions?);
    if actions.is_empty() && set_actions.is_empty() {
        fields.node().required("must have actions or setActions");
        return None;
    }
    Some(RateLimitActions { actions, set_actions, limit: limit? })
}

fn limit(node: Node<'_>) -> Option<Option<MetadataKey>> {
    let fields = node.object(&tables::OVERRIDE)?;
    let metadata = fields.required("dynamicMetadata", "says where the other limit stands")?;
    let metadata = metadata.object(&tables::DYNAMIC_METADATA)?;
    metadata_key(metadata.required("metadataKey", "says where the other limit stands")?).map(Some)
}

fn action(node: Node<'_>) -> Option<RateLimitAction> {
    const KINDS: &[&str] = &[
        "sourceCluster",
        "destinationCluster",
        "requestHeaders",
        "remoteAddress",
        "genericKey",
        "headerValueMatch",
        "metadata",
    ];
    let fields = node.object(&tables::ACTION)?;
    let action = alternative(&fields, KINDS, action_of)?;
    if action.is_none() {
        fields.node().required("an action needs one of its fields");
    }
    action
}

fn action_of(kind: &str, node: Node<'_>) -> Option<RateLimitAction> {
    let empty = |action| node.object(&tables::EMPTY_ACTION).map(|_| action);
    match kind {
        "sourceCluster" => empty(RateLimitAction::SourceCluster),
        "destinationCluster" => empty(RateLimitAction::DestinationCluster),
        "remoteAddress" => empty(RateLimitAction::RemoteAddress),
        "requestHeaders" => request_header(&node.object(&tables::REQUEST_HEADERS)?),
        "genericKey" => {
            let fields = node.object(&tables::GENERIC_KEY)?;
            filled(&fields, "descriptorValue", "a generic key needs its value")
                .map(RateLimitAction::GenericKey)
        }
        "headerValueMatch" => header_value_match(&node.object(&tables::HEADER_VALUE_MATCH)?),
        _ => metadata(&node.object(&tables::METADATA_ACTION)?),
    }
}

/// The name of a header in lower case, pseudo headers such as `:path` included. The identity is one
/// too: limits are looked at behind authentication.
fn header_name(node: Node<'_>) -> Option<String> {
    let name = node.string()?.to_ascii_lowercase();
    match syntax::header_token(name.strip_prefix(':').unwrap_or(&name)) {
        Ok(()) => Some(name),
        Err(why) => {
            node.invalid(why);
            None
        }
    }
}

fn request_header(fields: &Object<'_>) -> Option<RateLimitAction> {
    let header = fields.required("headerName", "names the header").and_then(header_name);
    let key = filled(fields, "descriptorKey", "the key of the descriptor");
    Some(RateLimitAction::RequestHeader { header: header?, key: key? })
}

fn header_value_match(fields: &Object<'_>) -> Option<RateLimitAction> {
    let value = filled(fields, "descriptorValue", "the value of the descriptor");
    let expect_match = fields.flag("expectMatch", true);
    let headers = fields.required("headers", "at least one condition").and_then(|node| {
        let headers = all(node, header_match)?;
        if headers.is_empty() {
            node.required("at least one condition");
            return None;
        }
        Some(headers)
    });
    Some(RateLimitAction::HeaderValueMatch { value: value?, expect_match: expect_match?, headers: headers? })
}

fn header_match(node: Node<'_>) -> Option<HeaderMatch> {
    const CONDITIONS: &[&str] =
        &["exactMatch", "regexMatch", "rangeMatch", "presentMatch", "prefixMatch", "suffixMatch"];
    let fields = node.object(&tables::HEADER_MATCHER)?;
    let name = fields.required("name", "names the header").and_then(header_name);
    let invert = fields.flag("invertMatch", false);
    let text = |node: Node<'_>| node.string().map(str::to_owned);
    let condition = alternative(&fields, CONDITIONS, |kind, node| match kind {
        "exactMatch" => text(node).map(HeaderCondition::Exact),
        "regexMatch" => matcher::regex(node).map(|(expression, _)| HeaderCondition::Regex(expression)),
        "rangeMatch" => range(node),
        "presentMatch" => node.boolean().map(HeaderCondition::Present),
        "prefixMatch" => text(node).map(HeaderCondition::Prefix),
        _ => text(node).map(HeaderCondition::Suffix),
    });
    let condition = condition?.unwrap_or(HeaderCondition::Present(true));
    Some(HeaderMatch { name: name?, condition, invert: invert? })
}

fn range(node: Node<'_>) -> Option<HeaderCondition> {
    let fields = node.object(&tables::RANGE)?;
    let number = |key: &'static str| fields.or(key, 0, |node| node.long(i64::MIN..=i64::MAX));
    let (start, end) = (number("start"), number("end"));
    let (start, end) = (start?, end?);
    if start >= end {
        fields.node().invalid("the end must be behind the start");
        return None;
    }
    Some(HeaderCondition::Range(start, end))
}

fn metadata(fields: &Object<'_>) -> Option<RateLimitAction> {
    let descriptor_key = filled(fields, "descriptorKey", "the key of the descriptor");
    let metadata_key = fields.required("metadataKey", "says where the metadata stand").and_then(metadata_key);
    let default = fields.text("defaultValue");
    let source = fields.or("source", MetadataSource::Dynamic, |node| node.one_of(SOURCES));
    Some(RateLimitAction::Metadata {
        descriptor_key: descriptor_key?,
        metadata_key: metadata_key?,
        default: default?,
        source: source?,
    })
}

fn metadata_key(node: Node<'_>) -> Option<MetadataKey> {
    let fields = node.object(&tables::METADATA_KEY)?;
    let key = filled(&fields, "key", "the namespace of the metadata");
    let path = fields.required("path", "the way to the value").and_then(|node| {
        let path = all(node, |item| {
            let segment = item.object(&tables::PATH_SEGMENT)?;
            filled(&segment, "key", "a step of the way")
        })?;
        if path.is_empty() {
            node.required("the way to the value");
            return None;
        }
        Some(path)
    });
    Some(MetadataKey { key: key?, path: path? })
}
