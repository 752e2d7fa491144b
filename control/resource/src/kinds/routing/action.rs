//! Reads where a request goes.

use super::{Context, all, headers};
use crate::kinds::route::{Target, WeightedDestination};
use crate::meta::{Meta, ObjectRef};
use crate::metadata::{self, REFERENCE};
use crate::reader::Node;
use crate::schema::{Field, Message, Type};

pub(crate) static ROUTE_ACTION: Message = Message {
    name: "RouteAction",
    doc: "Where requests are forwarded to: one of its fields.",
    fields: &[
        Field::new("single", Type::Object(&DESTINATION), "One destination."),
        Field::new("multi", Type::Object(&MULTI), "Several destinations by weight."),
        Field::new("upstreamGroup", Type::Object(&REFERENCE), "The destinations of an UpstreamGroup."),
    ],
    unsupported: &["clusterHeader", "dynamicForwardProxy"],
};

static DESTINATION: Message = Message {
    name: "Destination",
    doc: "Where requests are forwarded to.",
    fields: &[Field::new(
        "upstream",
        Type::Object(&REFERENCE),
        "The Upstream. While it is missing or rejected, requests are answered with 503.",
    )],
    unsupported: &["consul", "destinationSpec", "kube", "subset"],
};

static MULTI: Message = Message {
    name: "MultiDestination",
    doc: "Several destinations by weight.",
    fields: &[Field::required("destinations", DESTINATIONS, DESTINATIONS_DOC)],
    unsupported: &[],
};

/// Several destinations by weight.
pub(crate) const DESTINATIONS: Type = Type::List(&Type::Object(&WEIGHTED));
/// What is said of [`DESTINATIONS`].
pub(crate) const DESTINATIONS_DOC: &str = "The destinations, at least one. Each gets requests in proportion to its weight; the weights must add \
     up to 1 at least.";

static WEIGHTED: Message = Message {
    name: "WeightedDestination",
    doc: "One of several destinations.",
    fields: &[
        Field::required("destination", Type::Object(&DESTINATION), "The destination."),
        Field::new(
            "weight",
            Type::COUNT,
            "The share of requests, relative to the sum of all weights. Default 0: it gets none.",
        ),
        Field::new(
            "options",
            Type::Object(&WEIGHTED_OPTIONS),
            "How requests are treated that go to this destination.",
        ),
    ],
    unsupported: &[],
};

static WEIGHTED_OPTIONS: Message = Message {
    name: "WeightedDestinationOptions",
    doc: "How requests are treated that go to one of several destinations.",
    fields: &[headers::FIELD],
    unsupported: &[
        "bufferPerRoute",
        "csrf",
        "extauth",
        "extensions",
        "stagedTransformations",
        "transformations",
    ],
};

/// Reads `routeAction`.
pub(crate) fn target(node: Node<'_>, context: &mut Context<'_>) -> Option<Target> {
    let action = node.object(&ROUTE_ACTION)?;
    let target =
        super::alternative(&action, &["single", "multi", "upstreamGroup"], |kind, node| match kind {
            "multi" => {
                let multi = node.object(&MULTI)?;
                let list = multi.required("destinations", NO_DESTINATION)?;
                destinations(list, context).map(Target::Multi)
            }
            "upstreamGroup" => metadata::reference(node, context.meta).map(Target::Group),
            _ => destination(node, context.meta).map(Target::Single),
        })?;
    if target.is_none() {
        action.choice("single", "a route action needs a destination");
    }
    target
}

const NO_DESTINATION: &str = "must specify at least one weighted destination for multi destination routes";

fn destination(node: Node<'_>, meta: &Meta) -> Option<ObjectRef> {
    let fields = node.object(&DESTINATION)?;
    metadata::reference(fields.choice("upstream", "a destination needs an upstream")?, meta)
}

/// Reads destinations by weight: at least one, and weights whose sum the proxy can hold.
pub(crate) fn destinations(node: Node<'_>, context: &mut Context<'_>) -> Option<Vec<WeightedDestination>> {
    let destinations = all(node, |item| weighted(item, context))?;
    if destinations.is_empty() {
        node.required(NO_DESTINATION);
        return None;
    }
    let sum: u64 = destinations.iter().map(|destination| u64::from(destination.weight)).sum();
    if sum == 0 {
        node.invalid("Weighted Destinations require a total weight that is greater than or equal to 1");
        return None;
    }
    if sum > u64::from(u32::MAX) {
        node.invalid("the weights must not add up to more than 4294967295");
        return None;
    }
    Some(destinations)
}

fn weighted(node: Node<'_>, context: &mut Context<'_>) -> Option<WeightedDestination> {
    let fields = node.object(&WEIGHTED)?;
    let upstream = fields.required("destination", "a weighted destination needs a destination");
    let upstream = upstream.and_then(|node| destination(node, context.meta));
    let weight = fields.or("weight", 0, |weight| weight.unsigned(0..=u32::MAX));
    let header_manipulation = fields.or("options", None, |options| {
        let options = options.object(&WEIGHTED_OPTIONS)?;
        headers::read(&options)
    });
    Some(WeightedDestination {
        upstream: upstream?,
        weight: weight?,
        header_manipulation: header_manipulation?,
    })
}
