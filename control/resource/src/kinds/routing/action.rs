//! Reads where a request goes.

use crate::kinds::route::Target;
use crate::meta::{Meta, ObjectRef};
use crate::metadata::{self, REFERENCE};
use crate::reader::Node;
use crate::schema::{Field, Message, Type};

pub(crate) static ROUTE_ACTION: Message = Message {
    name: "RouteAction",
    doc: "Where requests are forwarded to.",
    fields: &[Field::new("single", Type::Object(&DESTINATION), "One destination.")],
    unsupported: &["clusterHeader", "dynamicForwardProxy", "multi", "upstreamGroup"],
};

static DESTINATION: Message = Message {
    name: "Destination",
    doc: "Where requests are forwarded to.",
    fields: &[Field::new("upstream", Type::Object(&REFERENCE), "The Upstream.")],
    unsupported: &["consul", "destinationSpec", "kube", "subset"],
};

pub(crate) fn target(node: Node<'_>, meta: &Meta) -> Option<Target> {
    let action = node.object(&ROUTE_ACTION)?;
    let single = action.choice("single", "a route action needs a destination")?;
    destination(single, meta).map(Target::Single)
}

fn destination(node: Node<'_>, meta: &Meta) -> Option<ObjectRef> {
    let fields = node.object(&DESTINATION)?;
    metadata::reference(fields.choice("upstream", "a destination needs an upstream")?, meta)
}
