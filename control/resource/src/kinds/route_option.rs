//! `RouteOption`: options that routes share.

use crate::kind::{
    API_VERSION, CATEGORIES, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::kinds::options::RouteOptions;
use crate::kinds::routing::{Context, route_options};
use crate::meta::Meta;
use crate::reader::Object;
use crate::schema::{Field, Message, Type};

/// A `RouteOption`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteOption {
    /// Its metadata.
    pub meta: Meta,
    /// The options.
    pub options: RouteOptions,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

pub(crate) static KIND: Kind = Kind {
    name: "RouteOption",
    plural: "routeoptions",
    singular: "routeoption",
    short_names: &["rto", "rtopts"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "gateway.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gateway.solo.io", version: "v1" }],
    alias_short_names: &["grto"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "RouteOption",
    doc: "Options of routes, for routes that refer to this object.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "RouteOptionSpec",
    doc: "The options.",
    fields: &[Field::new(
        "options",
        Type::Object(&route_options::OPTIONS),
        "The options. What a route says itself stands over them, option by option.",
    )],
    unsupported: &["targetRefs"],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a RouteOption needs a spec")?.object(&SPEC)?;
    let mut warnings = Vec::new();
    let options = spec.or("options", RouteOptions::default(), |options| {
        route_options::read(options, &mut Context { meta: &meta, warnings: &mut warnings })
    })?;
    if options == RouteOptions::default() {
        warnings.push("spec.options sets nothing".to_owned());
    }
    Some(Resource::RouteOption(RouteOption { meta, options, warnings }))
}
