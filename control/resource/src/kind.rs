//! The table of kinds. A new kind is one file under `kinds`, one variant of [`Resource`] and one
//! row in [`KINDS`]; everything else goes through the table.

use std::fmt;

use serde_json::{Map, Value};

use crate::kinds::{self, Resource};
use crate::meta::Meta;
use crate::reader::Object;
use crate::schema::{Field, Message, Type};

/// A group and a version: what `apiVersion` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupVersion {
    /// The group, empty for the core group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
}

/// A kind of object.
pub struct Kind {
    /// The name: `VirtualService`.
    pub name: &'static str,
    /// The name in paths: `virtualservices`.
    pub plural: &'static str,
    /// `virtualservice`.
    pub singular: &'static str,
    /// What people type instead: `vs`.
    pub short_names: &'static [&'static str],
    /// What people type to get several kinds: `keyward`.
    pub categories: &'static [&'static str],
    /// Under which objects are stored, and the first under which they are served.
    pub group_version: GroupVersion,
    /// The original product's names of the same kind, served as aliases of the same objects.
    pub aliases: &'static [GroupVersion],
    /// What people type to get the objects under the original product's names: `gvs`. None is a short name
    /// of ours: clients warn of names that mean two things.
    pub alias_short_names: &'static [&'static str],
    /// The fields at the top.
    pub fields: &'static Message,
    /// Brings a user's object into the form in which it is stored, as far as it is well formed.
    pub(crate) normalize: fn(&mut Map<String, Value>),
    /// Reads the fields, noting every mistake.
    pub(crate) read: fn(&Object<'_>, Meta) -> Option<Resource>,
}

/// The category of all kinds.
pub(crate) const CATEGORY: &str = "keyward";
/// The categories of what people declare: `kubectl get all` shows it. What holds for the whole installation
/// is not among it, because `kubectl delete all --all` exists too.
pub(crate) const CATEGORIES: &[&str] = &[CATEGORY, "all"];
/// The original product's category, of all kinds that are served in its groups.
pub const ALIAS_CATEGORY: &str = "gloo-gateway";

/// All kinds.
pub static KINDS: &[&Kind] = &[
    &kinds::namespace::KIND,
    &kinds::secret::KIND,
    &kinds::auth_config::KIND,
    &kinds::upstream::KIND,
    &kinds::upstream_group::KIND,
    &kinds::virtual_service::KIND,
    &kinds::route_table::KIND,
    &kinds::virtual_host_option::KIND,
    &kinds::route_option::KIND,
    &kinds::gateway::KIND,
    &kinds::rate_limit_config::KIND,
    &kinds::settings::KIND,
    &kinds::proxy::KIND,
];

/// The kind served at a path, and the group and version asked for, which may be an alias.
#[must_use]
pub fn by_path(group: &str, version: &str, plural: &str) -> Option<(&'static Kind, GroupVersion)> {
    KINDS.iter().filter(|kind| kind.plural == plural).find_map(|kind| {
        let found = kind.group_versions().find(|served| served.group == group && served.version == version);
        found.map(|served| (*kind, served))
    })
}

/// The kind that an object names by `apiVersion` and `kind`, aliases included.
#[must_use]
pub fn by_type(api_version: &str, name: &str) -> Option<(&'static Kind, GroupVersion)> {
    KINDS
        .iter()
        .filter(|kind| kind.name == name)
        .find_map(|kind| kind.group_version_named(api_version).map(|served| (*kind, served)))
}

/// The kind of this name: `VirtualService`.
#[must_use]
pub fn by_name(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name).copied()
}

/// Every group and version that is served, aliases included, sorted and each once.
#[must_use]
pub fn served() -> Vec<GroupVersion> {
    let mut served: Vec<_> = KINDS.iter().flat_map(|kind| kind.group_versions()).collect();
    served.sort_unstable();
    served.dedup();
    served
}

/// `apiVersion`.
pub(crate) const API_VERSION: Field = Field::new(
    "apiVersion",
    Type::String,
    "The group and the version of the kind, such as `gateway.keyward.io/v1`.",
);
/// `kind`.
pub(crate) const KIND: Field = Field::new("kind", Type::String, "The kind of the object.");
/// `metadata`.
pub(crate) const METADATA: Field = Field::required(
    "metadata",
    Type::Object(&crate::metadata::METADATA),
    "The name of the object and what belongs to every object.",
);
/// `status`.
pub(crate) const STATUS: Field = Field::new(
    "status",
    Type::Object(&crate::status::STATUS),
    "What the control server says of the object. Written by the server alone.",
);

/// `spec`.
pub(crate) const fn spec(message: &'static Message) -> Field {
    Field::required("spec", Type::Object(message), "What is wanted.")
}

/// For a kind that does not differ between what people write and what is stored.
pub(crate) fn as_written(_: &mut Map<String, Value>) {}

// === impl GroupVersion ===

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            f.write_str(self.version)
        } else {
            write!(f, "{}/{}", self.group, self.version)
        }
    }
}

// === impl Kind ===

impl Kind {
    /// The canonical `apiVersion`.
    #[must_use]
    pub fn api_version(&self) -> String {
        self.group_version.to_string()
    }

    /// The kind of a list of these: `VirtualServiceList`.
    #[must_use]
    pub fn list_kind(&self) -> String {
        format!("{}List", self.name)
    }

    /// Whether objects of the kind live in namespaces: all but the namespaces themselves.
    #[must_use]
    pub fn is_namespaced(&self) -> bool {
        self.name != kinds::namespace::KIND.name
    }

    /// Whether the control server alone writes objects of the kind, and people read them.
    #[must_use]
    pub fn is_written_by_server(&self) -> bool {
        self.name == kinds::proxy::KIND.name
    }

    /// Whether what objects of the kind hold is confidential, wherever in them it stands.
    #[must_use]
    pub fn is_confidential(&self) -> bool {
        self.name == kinds::secret::KIND.name
    }

    /// Every group and version under which the kind is served, the canonical one first.
    pub fn group_versions(&self) -> impl Iterator<Item = GroupVersion> + use<'_> {
        std::iter::once(self.group_version).chain(self.aliases.iter().copied())
    }

    /// The group and version that this `apiVersion` names, if the kind is served under it.
    #[must_use]
    pub fn group_version_named(&self, api_version: &str) -> Option<GroupVersion> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.group_versions().find(|served| served.group == group && served.version == version)
    }

    /// The plural with the group, as messages name it: `virtualservices.gateway.keyward.io`.
    #[must_use]
    pub fn qualified_plural(&self) -> String {
        if self.group_version.group.is_empty() {
            self.plural.to_owned()
        } else {
            format!("{}.{}", self.plural, self.group_version.group)
        }
    }
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Kind").field(&self.name).finish()
    }
}

impl PartialEq for Kind {
    /// There is one static for each kind, and its name is its own.
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}
