//! `UpstreamGroup`: destinations by weight, for several routes.

use crate::kind::{
    API_VERSION, CATEGORIES, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::kinds::route::WeightedDestination;
use crate::kinds::routing::{Context, action};
use crate::meta::Meta;
use crate::reader::Object;
use crate::schema::{Field, Message};

/// An `UpstreamGroup`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpstreamGroup {
    /// Its metadata.
    pub meta: Meta,
    /// The destinations, at least one; the weights add up to 1 at least.
    pub destinations: Vec<WeightedDestination>,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

pub(crate) static KIND: Kind = Kind {
    name: "UpstreamGroup",
    plural: "upstreamgroups",
    singular: "upstreamgroup",
    short_names: &["ug"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "service.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gloo.solo.io", version: "v1" }],
    alias_short_names: &["gug"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "UpstreamGroup",
    doc: "Destinations by weight, which routes refer to together.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "UpstreamGroupSpec",
    doc: "Destinations by weight.",
    fields: &[Field::required("destinations", action::DESTINATIONS, action::DESTINATIONS_DOC)],
    unsupported: &[],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "an UpstreamGroup needs a spec")?.object(&SPEC)?;
    let mut warnings = Vec::new();
    let destinations = spec
        .required("destinations", "must specify at least one weighted destination")
        .and_then(|list| action::destinations(list, &mut Context { meta: &meta, warnings: &mut warnings }));
    Some(Resource::UpstreamGroup(UpstreamGroup { destinations: destinations?, meta, warnings }))
}
