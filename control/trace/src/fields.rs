//! What is said beside the name of a span.

use std::collections::BTreeMap;
use std::fmt;

use tracing::field::{Field, Visit};

/// The fields that are kept. Whoever adds one says by it that no value of it is ever a secret.
pub const FIELDS: [&str; 17] = [
    "bytes", "changes", "code", "failed", "from", "keys", "kind", "method", "node", "objects", "proxies",
    "revision", "role", "route", "table", "type", "worker",
];

/// Whether a span failed.
const FAILED: &str = "failed";
/// The longest value: some are names that a proxy gave itself.
const MAX_VALUE: usize = 128;

/// The fields of a span, as far as they are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields {
    values: BTreeMap<&'static str, String>,
    failed: bool,
}

/// A value as it is shown: cut, and with nothing in it that moves a cursor.
fn shown(text: &str) -> String {
    text.chars().take(MAX_VALUE).map(|c| if c.is_control() { '?' } else { c }).collect()
}

// === impl Fields ===

impl Fields {
    /// The values, by name.
    #[must_use]
    pub fn values(&self) -> &BTreeMap<&'static str, String> {
        &self.values
    }

    /// Whether the span failed.
    #[must_use]
    pub fn failed(&self) -> bool {
        self.failed
    }

    /// Those of a span that failed.
    #[cfg(test)]
    pub(crate) fn of_failure() -> Self {
        Self { failed: true, ..Self::default() }
    }

    fn keep(&mut self, field: &Field, value: &str) {
        if let Some(name) = FIELDS.into_iter().find(|name| *name == field.name()) {
            self.values.insert(name, shown(value));
        }
    }
}

impl Visit for Fields {
    fn record_bool(&mut self, field: &Field, value: bool) {
        if field.name() == FAILED {
            self.failed = value;
        } else {
            self.keep(field, &value.to_string());
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.keep(field, &value.to_string());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.keep(field, &value.to_string());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.keep(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.keep(field, &format!("{value:?}"));
    }
}
