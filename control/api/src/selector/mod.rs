//! Selectors: which objects of a collection are meant.

mod field;
mod label;

pub(crate) use field::FieldSelector;
pub(crate) use label::LabelSelector;

use keyward_store::Record;
use serde_json::Value;

use crate::stored::Stored;

/// Both selectors of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection<'a> {
    pub(crate) labels: &'a LabelSelector,
    pub(crate) fields: &'a FieldSelector,
}

// === impl Selection ===

impl Selection<'_> {
    /// Whether everything is meant.
    pub(crate) fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object is meant.
    pub(crate) fn selects(&self, record: &Record, stored: &Stored) -> bool {
        let labels = stored.object.pointer("/metadata/labels").and_then(Value::as_object);
        let labels = labels.into_iter().flatten();
        let labels = labels.filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)));
        self.fields.matches(&record.key, &stored.object) && self.labels.matches(labels)
    }
}

#[cfg(test)]
mod tests;
