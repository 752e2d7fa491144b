//! The fields of objects as data: what readers accept, and what documentation is made from.
//!
//! ```text
//! Message tables, one beside each reader ─▶ unknown and refused fields (reader, prune)
//!                                        └▶ OpenAPI, `kubectl explain` (the resource API)
//! ```
//!
//! A table says which fields there are and of which type. What values mean, defaults that depend on
//! other fields and whatever else has to hold is the reader's.

mod spelling;

use serde_json::Value;

pub(crate) use spelling::is_proto_name;

/// An object with fields of known names.
#[derive(Debug)]
pub struct Message {
    /// The name, unique among all messages: `VirtualServiceSpec`.
    pub name: &'static str,
    /// What it is, in full sentences, for `kubectl explain`.
    pub doc: &'static str,
    /// The fields that are served.
    pub fields: &'static [Field],
    /// Fields of the original product that are refused by name.
    pub unsupported: &'static [&'static str],
}

/// A field.
#[derive(Debug)]
pub struct Field {
    /// The name: `bindPort`.
    pub name: &'static str,
    /// What it says, units, default and limits, in full sentences.
    pub doc: &'static str,
    /// What stands there.
    pub ty: Type,
    /// Whether an object without it is refused.
    pub required: bool,
}

/// What stands in a field.
#[derive(Debug, Clone, Copy)]
pub enum Type {
    /// `true` or `false`.
    Boolean,
    /// A whole number in these bounds, both included.
    Integer(i64, i64),
    /// A whole number in these bounds that has 64 bits in the original product; its digits may stand in
    /// quotes.
    Long(i64, i64),
    /// Any number.
    Number,
    /// A string.
    String,
    /// A string such as `1.5s`, `200ms`, `1m30s`.
    Duration,
    /// One of these strings.
    Enum(&'static [&'static str]),
    /// Base64 of bytes.
    Bytes,
    /// An RFC 3339 time.
    Time,
    /// An object with fields of known names.
    Object(&'static Message),
    /// An object with free keys.
    Map(&'static Type),
    /// A list.
    List(&'static Type),
    /// Anything at all.
    Any,
}

/// A field that no table knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Where it stands: `spec.virtualHost.domain`.
    pub path: String,
    /// The known name that was probably meant.
    pub nearest: Option<&'static str>,
}

/// Removes every field that the table does not know and tells which; fields that are refused by name
/// stay, so that they are refused. Values of a wrong type are left for the reader to complain about.
pub fn prune(message: &'static Message, value: &mut Value) -> Vec<Unknown> {
    let mut unknown = Vec::new();
    prune_object(message, value, "", &mut unknown);
    unknown
}

fn prune_object(message: &'static Message, value: &mut Value, path: &str, unknown: &mut Vec<Unknown>) {
    let Value::Object(map) = value else { return };
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    let in_spec = path == "spec" || path.starts_with("spec.");
    let field = |key: &str| {
        let named = message.field(key);
        named.or_else(|| message.field_of_proto_name(key).filter(|_| in_spec))
    };
    map.retain(|key, _| {
        let known = field(key).is_some() || message.refuses(key);
        if !known {
            unknown.push(Unknown { path: join(key), nearest: message.nearest(key) });
        }
        known
    });
    for (key, value) in map {
        if let Some(field) = field(key) {
            prune_type(field.ty, value, &join(key), unknown);
        }
    }
}

fn prune_type(ty: Type, value: &mut Value, path: &str, unknown: &mut Vec<Unknown>) {
    match (ty, value) {
        (Type::Object(message), value) => prune_object(message, value, path, unknown),
        (Type::List(item), Value::Array(items)) => {
            for (index, value) in items.iter_mut().enumerate() {
                prune_type(*item, value, &format!("{path}[{index}]"), unknown);
            }
        }
        (Type::Map(item), Value::Object(entries)) => {
            for (key, value) in entries {
                prune_type(*item, value, &format!("{path}[{key}]"), unknown);
            }
        }
        _ => {}
    }
}

// === impl Message ===

impl Message {
    /// The field of this name, if it is served.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The known name that is most like this one, if any is like it at all.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&'static str> {
        let name = name.to_ascii_lowercase();
        let likeness =
            |field: &'static str| strsim::normalized_damerau_levenshtein(&name, &field.to_ascii_lowercase());
        let names = self.fields.iter().map(|field| field.name).chain(self.unsupported.iter().copied());
        let best = names.map(|field| (likeness(field), field)).max_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.0 >= 0.6).then_some(best.1)
    }
}

// === impl Field ===

impl Field {
    /// A field that may be missing.
    #[must_use]
    pub const fn new(name: &'static str, ty: Type, doc: &'static str) -> Self {
        Self { name, doc, ty, required: false }
    }

    /// A field that must be there.
    #[must_use]
    pub const fn required(name: &'static str, ty: Type, doc: &'static str) -> Self {
        Self { name, doc, ty, required: true }
    }
}

// === impl Type ===

impl Type {
    /// A string to a string.
    pub const STRINGS: Self = Self::Map(&Self::String);
    /// A list of strings.
    pub const STRING_LIST: Self = Self::List(&Self::String);
    /// A TCP port.
    pub const PORT: Self = Self::Integer(1, 65_535);
    /// A whole number of 32 bits, not negative.
    pub const COUNT: Self = Self::Integer(0, 4_294_967_295);
}

#[cfg(test)]
mod tests;
