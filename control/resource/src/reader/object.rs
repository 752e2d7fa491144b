//! An object with fields of known names: which are there, which are missing.

use serde_json::{Map, Value};

use super::{Node, Path, quoted};
use crate::error::{FieldError, FieldErrorReason};
use crate::schema::{Message, is_proto_name};

/// An object with fields of known names.
pub(crate) struct Object<'a> {
    pub(super) node: Node<'a>,
    pub(super) map: &'a Map<String, Value>,
    pub(super) shape: &'static Message,
    /// A field stands there by its name in protobuf files.
    pub(super) proto_names: bool,
}

/// What is said of a field that is not known.
pub(super) fn unknown(shape: &'static Message, key: &str) -> String {
    match shape.nearest(key) {
        Some(nearest) => format!("unknown field; did you mean \"{nearest}\"?"),
        None => {
            let names: Vec<_> = shape.fields.iter().map(|field| field.name).collect();
            format!("unknown field; known here: {}", quoted(&names))
        }
    }
}

// === impl Object ===

impl<'a> Object<'a> {
    /// A field that may be missing; null counts as missing.
    pub(crate) fn optional<'b>(&'b self, key: &'b str) -> Option<Node<'b>> {
        debug_assert!(self.shape.field(key).is_some(), "{key} is not a field of {}", self.shape.name);
        let (key, value) = match self.map.get(key) {
            None if self.proto_names => {
                let mut entries = self.map.iter().map(|(written, value)| (written.as_str(), value));
                entries.find(|(written, _)| is_proto_name(written, key))?
            }
            value => (key, value?),
        };
        let node = Node { value, path: Path::Key(&self.node.path, key), ..self.node };
        (!value.is_null()).then_some(node)
    }

    /// A field that must be there.
    pub(crate) fn required<'b>(&'b self, key: &'b str, why: &str) -> Option<Node<'b>> {
        let field = self.optional(key);
        if field.is_none() {
            self.missing(key, why);
        }
        field
    }

    /// A field that may be missing, or else a default.
    pub(crate) fn or<'b, T>(
        &'b self,
        key: &'b str,
        default: T,
        read: impl FnOnce(Node<'b>) -> Option<T>,
    ) -> Option<T> {
        match self.optional(key) {
            Some(field) => read(field),
            None => Some(default),
        }
    }

    /// The one of several alternatives that is implemented. Where one of the others stands, it was
    /// refused by name, and that is enough.
    pub(crate) fn choice<'b>(&'b self, key: &'b str, why: &str) -> Option<Node<'b>> {
        let field = self.optional(key);
        if field.is_none() && !self.shape.unsupported.iter().any(|key| self.map.contains_key(*key)) {
            self.missing(key, why);
        }
        field
    }

    /// Notes that a field is missing.
    fn missing(&self, key: &str, why: &str) {
        let path = Path::Key(&self.node.path, key).to_string();
        self.node.errors.push(FieldError::new(
            path,
            FieldErrorReason::Required,
            format!("Required value: {why}"),
        ));
    }

    /// Notes that an entry of a field with free keys is missing.
    pub(crate) fn missing_entry(&self, key: &str, entry: &str, why: &str) {
        let path = Path::Entry(&Path::Key(&self.node.path, key), entry).to_string();
        let message = format!("Required value: {why}");
        self.node.errors.push(FieldError::new(path, FieldErrorReason::Required, message));
    }

    /// Notes that an entry of a field with free keys is not valid, without repeating it.
    pub(crate) fn invalid_entry(&self, key: &str, entry: &str, why: &str) {
        let path = Path::Entry(&Path::Key(&self.node.path, key), entry).to_string();
        let message = format!("Invalid value: [redacted]: {why}");
        self.node.errors.push(FieldError::new(path, FieldErrorReason::Invalid, message));
    }

    /// Refuses an entry of a field with free keys when it is written. An object that was stored with it
    /// is read all the same: its reader says what that means.
    pub(crate) fn refuse_entry(&self, key: &str, entry: &str, why: &str) {
        if !self.node.errors.stored {
            self.invalid_entry(key, entry, why);
        }
    }

    /// A switch of which only one position is implemented.
    pub(crate) fn only(&self, key: &str, value: bool) {
        if let Some(field) = self.optional(key)
            && field.boolean() == Some(!value)
        {
            field.unsupported(format_args!("only {value} is supported by this version"));
        }
    }

    /// The object itself.
    pub(crate) fn node(&self) -> &Node<'a> {
        &self.node
    }
}
