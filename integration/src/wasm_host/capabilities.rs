//! Envoy's `capability_restriction_config`: what is not listed is not called and cannot be called.

use std::collections::BTreeSet;

/// The capabilities given to a module; none means all.
#[derive(Debug, Clone, Default)]
pub(super) struct Capabilities {
    listed: Option<BTreeSet<String>>,
}

// === impl Capabilities ===

impl Capabilities {
    pub(super) fn only<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        Self { listed: Some(names.into_iter().map(str::to_owned).collect()) }
    }

    pub(super) fn allows(&self, name: &str) -> bool {
        self.listed.as_ref().is_none_or(|listed| listed.contains(name))
    }
}
