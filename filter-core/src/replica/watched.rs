//! Tables whose keys are written in a configuration, for as long as the server says nothing of them.

use std::collections::BTreeMap;

use super::Replica;
use crate::config::{FilterConfig, Policy};

/// Such tables, and whether they were ever here. There are no more of them than configurations have named.
#[derive(Debug, Default)]
pub(super) struct Watched(BTreeMap<String, bool>);

// === impl Watched ===

impl Watched {
    pub(super) fn arrives(&mut self, name: &str) {
        if let Some(was_here) = self.0.get_mut(name) {
            *was_here = true;
        }
    }
}

// === impl Replica ===

impl Replica {
    /// Notes from now on which tables arrive whose keys are written in a configuration.
    pub fn watch(&mut self, config: &FilterConfig) {
        if config.standalone.is_none() {
            return;
        }
        for name in config.policies.values().flat_map(Policy::tables) {
            let is_here = self.tables.contains_key(name);
            *self.watched.0.entry(name.to_owned()).or_default() |= is_here;
        }
    }

    /// Whether there ever was this table, be it gone since. From then on the server says whose its keys are, also
    /// when it says that they are nobody's.
    pub(crate) fn was_here(&self, name: &str) -> bool {
        self.watched.0.get(name).is_some_and(|was_here| *was_here)
    }
}
