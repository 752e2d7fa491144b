//! The steps from a value to its parts, and what has parts at all.

use std::fmt;

use serde_json::Value;

/// One step: into a field, or to an item of a list whose items have an identity.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Element {
    /// The field of this name: `f:spec`.
    Field(String),
    /// The item with these values of its key fields, as sorted JSON: `k:{"uid":"1"}`.
    Key(String),
    /// The item with this value, as JSON: `v:"x"`.
    Value(String),
    /// The item at this place. Nothing here has such items; others may have sent it.
    Index(u64),
}

/// Where in an object a value stands, as far as that decides how it is merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The object.
    Root,
    /// `metadata`.
    Metadata,
    /// `metadata.finalizers`: a list in which each value stands once.
    Finalizers,
    /// `metadata.ownerReferences`: a list with one item for each uid, replaced as a whole.
    Owners,
    /// Replaced as a whole.
    Atom,
    /// Anything else: maps have parts, lists do not.
    Inside,
}

/// The parts of a value, each with its step and place; none when the value is replaced as a whole.
/// A value without parts is whole too, which keeps an empty map apart from a missing one.
pub(crate) fn parts(place: Place, value: &Value) -> Option<Vec<(Element, Place, &Value)>> {
    let parts: Vec<_> = match (place, value) {
        (Place::Atom, _) => return None,
        (Place::Finalizers, Value::Array(items)) => {
            items.iter().map(|item| (Element::value(item), Place::Atom, item)).collect()
        }
        (Place::Owners, Value::Array(items)) => {
            items.iter().map(|item| (Element::owner(item), Place::Atom, item)).collect()
        }
        (_, Value::Object(map)) => {
            map.iter().map(|(key, value)| (Element::field(key), place.field(key), value)).collect()
        }
        _ => return None,
    };
    (!parts.is_empty()).then_some(parts)
}

// === impl Place ===

impl Place {
    /// The place of a field.
    pub(crate) fn field(self, key: &str) -> Self {
        match (self, key) {
            (Self::Root, "metadata") => Self::Metadata,
            (Self::Metadata, "finalizers") => Self::Finalizers,
            (Self::Metadata, "ownerReferences") => Self::Owners,
            (Self::Atom, _) => Self::Atom,
            _ => Self::Inside,
        }
    }
}

// === impl Element ===

impl Element {
    pub(crate) fn field(key: &str) -> Self {
        Self::Field(key.to_owned())
    }

    pub(crate) fn value(item: &Value) -> Self {
        Self::Value(item.to_string())
    }

    fn owner(item: &Value) -> Self {
        let uid = item.get("uid").unwrap_or(&Value::Null);
        Self::Key(format!("{{\"uid\":{uid}}}"))
    }

    /// Reads a key of `fieldsV1`, but for `.`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        match kind {
            "f" => Some(Self::Field(rest.to_owned())),
            // Read and written again, so that two spellings of a key are one.
            "k" => Some(Self::Key(serde_json::from_str::<Value>(rest).ok()?.to_string())),
            "v" => Some(Self::Value(serde_json::from_str::<Value>(rest).ok()?.to_string())),
            "i" => rest.parse().ok().map(Self::Index),
            _ => None,
        }
    }

    /// The key of `fieldsV1`.
    pub(crate) fn encode(&self) -> String {
        match self {
            Self::Field(key) => format!("f:{key}"),
            Self::Key(key) => format!("k:{key}"),
            Self::Value(value) => format!("v:{value}"),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

impl fmt::Display for Element {
    /// As messages name it: `.spec`, `[uid="1"]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(key) => write!(f, ".{key}"),
            Self::Key(key) => {
                let fields: serde_json::Map<String, Value> = serde_json::from_str(key).unwrap_or_default();
                let fields: Vec<String> =
                    fields.iter().map(|(key, value)| format!("{key}={value}")).collect();
                write!(f, "[{}]", fields.join(","))
            }
            Self::Value(value) => write!(f, "[={value}]"),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}
