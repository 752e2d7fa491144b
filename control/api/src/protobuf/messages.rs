//! The messages. Numbers that are left out are fields without a use here; they are read over.

use std::collections::BTreeMap;
use std::fmt;

use prost::Message;

#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(super) struct Unknown {
    #[prost(message, optional, tag = "1")]
    pub(super) type_meta: Option<TypeMeta>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) raw: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TypeMeta {
    #[prost(string, tag = "1")]
    pub(super) api_version: String,
    #[prost(string, tag = "2")]
    pub(super) kind: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ObjectMeta {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) generate_name: String,
    #[prost(string, tag = "3")]
    pub(super) namespace: String,
    #[prost(string, tag = "5")]
    pub(super) uid: String,
    #[prost(string, tag = "6")]
    pub(super) resource_version: String,
    #[prost(int64, tag = "7")]
    pub(super) generation: i64,
    #[prost(message, optional, tag = "8")]
    pub(super) creation_timestamp: Option<Time>,
    #[prost(message, optional, tag = "9")]
    pub(super) deletion_timestamp: Option<Time>,
    #[prost(btree_map = "string, string", tag = "11")]
    pub(super) labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "12")]
    pub(super) annotations: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "13")]
    pub(super) owner_references: Vec<OwnerReference>,
    #[prost(string, repeated, tag = "14")]
    pub(super) finalizers: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct Time {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct OwnerReference {
    #[prost(string, tag = "1")]
    pub(super) kind: String,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) uid: String,
    #[prost(string, tag = "5")]
    pub(super) api_version: String,
    #[prost(bool, optional, tag = "6")]
    pub(super) controller: Option<bool>,
    #[prost(bool, optional, tag = "7")]
    pub(super) block_owner_deletion: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub(super) struct Secret {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(btree_map = "string, bytes", tag = "2")]
    pub(super) data: BTreeMap<String, Vec<u8>>,
    #[prost(string, tag = "3")]
    pub(super) r#type: String,
    #[prost(btree_map = "string, string", tag = "4")]
    pub(super) string_data: BTreeMap<String, String>,
    #[prost(bool, optional, tag = "5")]
    pub(super) immutable: Option<bool>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Namespace {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    pub(super) spec: Option<NamespaceSpec>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NamespaceSpec {
    #[prost(string, repeated, tag = "1")]
    pub(super) finalizers: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct DeleteOptions {
    #[prost(int64, optional, tag = "1")]
    pub(super) grace_period_seconds: Option<i64>,
    #[prost(message, optional, tag = "2")]
    pub(super) preconditions: Option<Preconditions>,
    #[prost(bool, optional, tag = "3")]
    pub(super) orphan_dependents: Option<bool>,
    #[prost(string, optional, tag = "4")]
    pub(super) propagation_policy: Option<String>,
    #[prost(string, repeated, tag = "5")]
    pub(super) dry_run: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Preconditions {
    #[prost(string, optional, tag = "1")]
    pub(super) uid: Option<String>,
    #[prost(string, optional, tag = "2")]
    pub(super) resource_version: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Review {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AccessReview {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    pub(super) spec: Option<AccessReviewSpec>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AccessReviewSpec {
    #[prost(message, optional, tag = "1")]
    pub(super) resource_attributes: Option<ResourceAttributes>,
    #[prost(message, optional, tag = "2")]
    pub(super) non_resource_attributes: Option<NonResourceAttributes>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceAttributes {
    #[prost(string, tag = "1")]
    pub(super) namespace: String,
    #[prost(string, tag = "2")]
    pub(super) verb: String,
    #[prost(string, tag = "3")]
    pub(super) group: String,
    #[prost(string, tag = "4")]
    pub(super) version: String,
    #[prost(string, tag = "5")]
    pub(super) resource: String,
    #[prost(string, tag = "6")]
    pub(super) subresource: String,
    #[prost(string, tag = "7")]
    pub(super) name: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct NonResourceAttributes {
    #[prost(string, tag = "1")]
    pub(super) path: String,
    #[prost(string, tag = "2")]
    pub(super) verb: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RulesReview {
    #[prost(message, optional, tag = "1")]
    pub(super) metadata: Option<ObjectMeta>,
    #[prost(message, optional, tag = "2")]
    pub(super) spec: Option<RulesReviewSpec>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct RulesReviewSpec {
    #[prost(string, tag = "1")]
    pub(super) namespace: String,
}

// === impl Unknown ===

impl fmt::Debug for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unknown").field("type_meta", &self.type_meta).finish_non_exhaustive()
    }
}

// === impl Secret ===

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("metadata", &self.metadata).finish_non_exhaustive()
    }
}
