//! `VirtualHostOption`: options that virtual hosts share.

use crate::kind::{
    API_VERSION, CATEGORIES, GroupVersion, KIND as KIND_FIELD, Kind, METADATA, STATUS, as_written, spec,
};
use crate::kinds::Resource;
use crate::kinds::options::VirtualHostOptions;
use crate::kinds::routing::{Context, virtual_host_options};
use crate::meta::Meta;
use crate::reader::Object;
use crate::schema::{Field, Message, Type};

/// A `VirtualHostOption`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualHostOption {
    /// Its metadata.
    pub meta: Meta,
    /// The options.
    pub options: VirtualHostOptions,
    /// Things that validation let pass but that deserve a Warning in the status.
    pub warnings: Vec<String>,
}

pub(crate) static KIND: Kind = Kind {
    name: "VirtualHostOption",
    plural: "virtualhostoptions",
    singular: "virtualhostoption",
    short_names: &["vho", "vhopts"],
    categories: CATEGORIES,
    group_version: GroupVersion { group: "gateway.keyward.io", version: "v1" },
    aliases: &[GroupVersion { group: "gateway.solo.io", version: "v1" }],
    alias_short_names: &["gvho"],
    fields: &FIELDS,
    normalize: as_written,
    read,
};

static FIELDS: Message = Message {
    name: "VirtualHostOption",
    doc: "Options of virtual hosts, for VirtualServices that refer to this object.",
    fields: &[API_VERSION, KIND_FIELD, METADATA, spec(&SPEC), STATUS],
    unsupported: &[],
};

static SPEC: Message = Message {
    name: "VirtualHostOptionSpec",
    doc: "The options.",
    fields: &[Field::new(
        "options",
        Type::Object(&virtual_host_options::OPTIONS),
        "The options. What a VirtualService says itself stands over them, option by option.",
    )],
    unsupported: &["targetRefs"],
};

fn read(fields: &Object<'_>, meta: Meta) -> Option<Resource> {
    let spec = fields.required("spec", "a VirtualHostOption needs a spec")?.object(&SPEC)?;
    let mut warnings = Vec::new();
    let options = spec.or("options", VirtualHostOptions::default(), |options| {
        virtual_host_options::read(options, &mut Context { meta: &meta, warnings: &mut warnings })
    })?;
    if options == VirtualHostOptions::default() {
        warnings.push("spec.options sets nothing".to_owned());
    }
    Some(Resource::VirtualHostOption(VirtualHostOption { meta, options, warnings }))
}
