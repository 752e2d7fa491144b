//! `AuthConfig`: what a secured route demands.

use std::collections::BTreeMap;

use crate::meta::{Meta, ObjectRef};

/// An `AuthConfig`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthConfig {
    /// Its metadata.
    pub meta: Meta,
    /// The one entry of `spec.configs`.
    pub api_key_auth: ApiKeyAuth,
}

/// `spec.configs[].apiKeyAuth`, the storage block and the deprecated fields made one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeyAuth {
    /// The header that carries the key, in lower case.
    pub header_name: String,
    /// Selects Secrets of the key type in every namespace that have all these labels.
    pub label_selector: BTreeMap<String, String>,
    /// Selects Secrets by name.
    pub secret_refs: Vec<ObjectRef>,
    /// Keeps the verified key for the upstream.
    pub forward_key: bool,
}
