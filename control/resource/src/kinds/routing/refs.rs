//! Reads `optionsConfigRefs`.

use crate::meta::{Meta, ObjectRef};
use crate::metadata::{self, REFERENCE};
use crate::reader::Node;
use crate::schema::{Field, Message, Type};

pub(crate) static DELEGATE_OPTIONS: Message = Message {
    name: "DelegateOptionsRefs",
    doc: "Objects that fill in options.",
    fields: &[Field::new(
        "delegateOptions",
        Type::List(&Type::Object(&REFERENCE)),
        "The objects. What the options in place leave unset is taken from the first object that sets it. \
         An object that does not exist is skipped with a warning.",
    )],
    unsupported: &[],
};

pub(crate) fn delegate_options(node: Node<'_>, meta: &Meta) -> Option<Vec<ObjectRef>> {
    let fields = node.object(&DELEGATE_OPTIONS)?;
    fields.or("delegateOptions", Vec::new(), |list| metadata::references(&list.list()?, meta))
}
