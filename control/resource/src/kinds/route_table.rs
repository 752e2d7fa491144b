//! `RouteTable`: routes to which virtual services and other route tables delegate.

use crate::kind::{
    API_VERSION, CATEGORIES, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::kinds::route::Route;
use crate::kinds::routing::{Scope, reach, routes};
use crate::meta::Meta;
use crate::reader::Object;
use crate::schema::{Field, Message, Type};

/// A `RouteTable`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteTable {
    /// Its metadata.
    pub meta: Meta,
    /// Where a selector selects several tables, the lighter come first.
    pub weight: i32,
    /// The routes in order; the first that matches decides.
    pub routes: Vec<Route>,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

pub(crate) static KIND: Kind = Kind {
    name: "RouteTable",
    plural: "routetables",
    singular: "routetable",
    short_names: &["rt"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "gateway.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gateway.solo.io", version: "v1" }],
    alias_short_names: &["grt"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "RouteTable",
    doc: "Routes to which VirtualServices and other RouteTables delegate, so that somebody else can write \
          them.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "RouteTableSpec",
    doc: "The routes, and their place among those of other tables.",
    fields: &[
        Field::new("routes", routes::LIST, "The routes in order. The first that matches a request decides."),
        Field::new(
            "weight",
            Type::Integer(i32::MIN as i64, i32::MAX as i64),
            "The place among the tables that one selector selects: the lighter come first. Default 0. Where \
             a table is delegated to by its name the weight says nothing.",
        ),
    ],
    unsupported: &[],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a RouteTable needs a spec")?.object(&SPEC)?;
    let weight = spec.or("weight", 0, |weight| weight.signed());
    let mut warnings = Vec::new();
    let routes = spec.or("routes", Vec::new(), |node| routes::read(node, Scope::Table(&meta), &mut warnings));
    let routes = routes?;
    if routes.is_empty() {
        warnings.push("spec has no routes".to_owned());
    }
    warnings.extend(reach::never_reached(&routes, Scope::Table(&meta)));
    Some(Resource::RouteTable(RouteTable { meta, weight: weight?, routes, warnings }))
}
