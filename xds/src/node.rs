//! Reading what a client says about itself.

use envoy_types::pb::{envoy::config::core::v3::Node, google::protobuf::value::Kind};

/// The string under `key` in the node's metadata.
pub fn metadata_string<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    match node.metadata.as_ref()?.fields.get(key)?.kind.as_ref()? {
        Kind::StringValue(text) => Some(text),
        _ => None,
    }
}
