//! Schemas, made from the field tables of the kinds.

use keyward_resource::schema::{Field, Message, Type};
use keyward_resource::{GroupVersion, KINDS, Kind};
use serde_json::{Map, Value, json};

use super::meta;

/// The version of OpenAPI that schemas are written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    V2,
    V3,
}

/// The schemas that a document holds, each once.
#[derive(Debug)]
pub(super) struct Schemas {
    dialect: Dialect,
    /// By name. The order is that of the names, whatever the map.
    found: Map<String, Value>,
}

/// The extension that says which kind a schema or an operation is about.
pub(super) const GROUP_VERSION_KIND: &str = "x-kubernetes-group-version-kind";

/// The name of the schema of a number that may stand in quotes.
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

/// The value of that extension.
pub(super) fn group_version_kind(place: GroupVersion, kind: &str) -> Value {
    json!({ "group": place.group, "version": place.version, "kind": kind })
}

/// The name of the schema of a kind.
pub(super) fn kind_name(kind: &Kind) -> String {
    format!("io.keyward.{}", kind.name)
}

/// The name of the schema of a list of a kind.
pub(super) fn list_name(kind: &Kind) -> String {
    format!("io.keyward.{}", kind.list_kind())
}

/// The name of the schema of a message.
pub(super) fn message_name(message: &'static Message) -> String {
    let prefix = if meta::is_of_kubernetes(message) { meta::PREFIX } else { "io.keyward." };
    format!("{prefix}{}", message.name)
}

/// The status of a kind whose table has none: it cannot be sent, but it is shown, and old clients do not
/// send back what no schema knows.
fn shown_status(kind: &Kind) -> Option<&'static Field> {
    let missing = kind.is_namespaced() && kind.fields.field("status").is_none();
    let mut others = KINDS.iter().filter(|other| missing && other.is_namespaced());
    others.find_map(|other| other.fields.field("status"))
}

/// The type of a parameter, which is never more than a word.
pub(super) fn parameter_type(ty: Type) -> Value {
    match ty {
        Type::Boolean => json!({ "type": "boolean" }),
        Type::Integer(least, most) | Type::Long(least, most) => integer(least, most),
        _ => json!({ "type": "string" }),
    }
}

fn described(mut schema: Value, doc: &str) -> Value {
    if !doc.is_empty() {
        schema["description"] = doc.into();
    }
    schema
}

fn integer(least: i64, most: i64) -> Value {
    let small = i32::try_from(least).is_ok() && i32::try_from(most).is_ok();
    let mut schema = json!({ "type": "integer", "format": if small { "int32" } else { "int64" } });
    if least != i64::MIN {
        schema["minimum"] = least.into();
    }
    if most != i64::MAX {
        schema["maximum"] = most.into();
    }
    schema
}

// === impl Dialect ===

impl Dialect {
    /// A reference to a schema of the same document.
    pub(super) fn reference(self, name: &str) -> Value {
        match self {
            Self::V2 => json!({ "$ref": format!("#/definitions/{name}") }),
            Self::V3 => json!({ "$ref": format!("#/components/schemas/{name}") }),
        }
    }

    /// A reference with a description of its own. Version 3 wants nothing beside a reference; clients
    /// of version 2 read a description beside it, and cannot read any other way to write it.
    fn described_reference(self, name: &str, doc: &str) -> Value {
        let reference = self.reference(name);
        match self {
            Self::V2 => described(reference, doc),
            Self::V3 => described(json!({ "allOf": [reference] }), doc),
        }
    }
}

// === impl Schemas ===

impl Schemas {
    /// None yet.
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { dialect, found: Map::new() }
    }

    /// Everything that was added.
    pub(super) fn into_map(self) -> Map<String, Value> {
        self.found
    }

    /// Adds a kind and lists of it, as they are served in these groups.
    pub(super) fn add_kind(&mut self, kind: &'static Kind, places: &[GroupVersion]) {
        let places_of =
            |name: &str| places.iter().map(|place| group_version_kind(*place, name)).collect::<Vec<_>>();
        let mut object = self.object(kind.fields);
        if let Some(status) = shown_status(kind) {
            object["properties"][status.name] = self.field(status);
        }
        object[GROUP_VERSION_KIND] = places_of(kind.name).into();
        let items = json!({ "type": "array", "items": self.dialect.reference(&kind_name(kind)) });
        let list_meta = self.message(&meta::LIST_META);
        let list = json!({
            "type": "object",
            "description": format!("A list of {}.", kind.plural),
            "properties": {
                "apiVersion": described(json!({ "type": "string" }), "The group and the version of the list."),
                "kind": described(json!({ "type": "string" }), "The kind of the list."),
                "metadata": self.dialect.described_reference(&list_meta, "What belongs to every list."),
                "items": described(items, "The objects."),
            },
            "required": ["items"],
            GROUP_VERSION_KIND: places_of(&kind.list_kind()),
        });
        self.found.insert(kind_name(kind), object);
        self.found.insert(list_name(kind), list);
    }

    /// Adds a message and what it refers to; answers with its name.
    pub(super) fn message(&mut self, message: &'static Message) -> String {
        let name = message_name(message);
        if !self.found.contains_key(&name) {
            // It is there before its fields are looked at: a message may hold itself.
            self.found.insert(name.clone(), Value::Null);
            let schema = self.object(message);
            self.found.insert(name.clone(), schema);
        }
        name
    }

    fn object(&mut self, message: &'static Message) -> Value {
        let mut schema = described(json!({ "type": "object" }), message.doc);
        if !message.fields.is_empty() {
            let properties: Map<String, Value> =
                message.fields.iter().map(|field| (field.name.to_owned(), self.field(field))).collect();
            schema["properties"] = properties.into();
        }
        let required: Vec<&str> =
            message.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        if !required.is_empty() {
            schema["required"] = required.into();
        }
        schema
    }

    /// Adds what Kubernetes has for a number that may stand in quotes, so that clients know it; answers
    /// with its name.
    fn int_or_string(&mut self) -> &'static str {
        let schema =
            json!({ "oneOf": [{ "type": "integer" }, { "type": "string" }], "format": "int-or-string" });
        self.found.insert(INT_OR_STRING.to_owned(), schema);
        INT_OR_STRING
    }

    fn field(&mut self, field: &'static Field) -> Value {
        match field.ty {
            Type::Object(message) => {
                let name = self.message(message);
                self.dialect.described_reference(&name, field.doc)
            }
            Type::Long(..) if self.dialect == Dialect::V3 => {
                Dialect::V3.described_reference(self.int_or_string(), field.doc)
            }
            ty => described(self.ty(ty), field.doc),
        }
    }

    fn ty(&mut self, ty: Type) -> Value {
        match ty {
            Type::Boolean => json!({ "type": "boolean" }),
            Type::Integer(least, most) => integer(least, most),
            Type::Long(..) => match self.dialect {
                Dialect::V2 => json!({ "type": "string", "format": "int-or-string" }),
                Dialect::V3 => Dialect::V3.reference(self.int_or_string()),
            },
            Type::Number => json!({ "type": "number", "format": "double" }),
            Type::String | Type::Duration => json!({ "type": "string" }),
            Type::Enum(words) => json!({ "type": "string", "enum": words }),
            Type::Bytes => json!({ "type": "string", "format": "byte" }),
            Type::Time => json!({ "type": "string", "format": "date-time" }),
            Type::Object(message) => {
                let name = self.message(message);
                self.dialect.reference(&name)
            }
            Type::Map(item) => json!({ "type": "object", "additionalProperties": self.ty(*item) }),
            Type::List(item) => json!({ "type": "array", "items": self.ty(*item) }),
            Type::Any => json!({ "x-kubernetes-preserve-unknown-fields": true }),
        }
    }
}
