//! `Namespace`: a place for objects. There is no cluster behind it: whoever creates an object in a
//! namespace that does not exist creates the namespace.

use crate::kind::{GroupVersion, Kind, as_written};
use crate::kinds::Resource;
use crate::meta::Meta;
use crate::reader::Object;
use crate::schema::{Field, Message, Type};
use crate::syntax;

pub(crate) static KIND: Kind = Kind {
    name: "Namespace",
    plural: "namespaces",
    singular: "namespace",
    short_names: &["ns"],
    categories: &[],
    group_version: GroupVersion { group: "", version: "v1" },
    aliases: &[],
    alias_short_names: &[],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "Namespace",
    doc: "A place for objects, within which their names are unique.",
    fields: &[
        crate::kind::API_VERSION,
        crate::kind::KIND,
        crate::kind::METADATA,
        Field::new("spec", Type::Object(&SPEC), "What is wanted of the namespace."),
        Field::new(
            "status",
            Type::Object(&STATUS),
            "What the control server says of the namespace. Written by the server alone.",
        ),
    ],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "NamespaceSpec",
    doc: "What is wanted of a namespace.",
    fields: &[Field::new(
        "finalizers",
        Type::STRING_LIST,
        "Kept for clients that send back what a cluster set there; without an effect.",
    )],
    unsupported: &[],
};

static STATUS: Message = Message {
    name: "NamespaceStatus",
    doc: "What the control server says of a namespace.",
    fields: &[Field::new(
        "phase",
        Type::Enum(&["Active", "Terminating"]),
        "`Active`, or `Terminating` while the objects in it are being deleted.",
    )],
    unsupported: &[],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    // Stricter than the names of other objects, because it is a part of theirs.
    if let Some(metadata) = fields.optional("metadata")
        && let Some(name) = metadata.field("name")
        && let Err(why) = syntax::label(&meta.name)
    {
        name.invalid(why);
        return None;
    }
    if let Some(spec) = fields.optional("spec").and_then(|spec| spec.object(&SPEC))
        && let Some(finalizers) = spec.optional("finalizers").and_then(|node| node.list())
    {
        for finalizer in finalizers.iter() {
            finalizer.string();
        }
    }
    Some(Resource::Namespace(meta))
}
