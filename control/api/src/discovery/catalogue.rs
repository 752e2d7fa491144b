//! What there is to discover, whatever the form of the answer.

use keyward_resource::kind::ALIAS_CATEGORY;
use keyward_resource::{KINDS, Kind};

/// All groups, in the order in which clients look for a resource.
#[derive(Debug)]
pub(crate) struct Catalogue(Vec<Group>);

/// A group.
#[derive(Debug)]
pub(crate) struct Group {
    /// The name; empty for the core group.
    pub(crate) name: &'static str,
    /// Its versions, the preferred one first.
    pub(crate) versions: Vec<Version>,
}

/// A version of a group.
#[derive(Debug)]
pub(crate) struct Version {
    /// The group.
    pub(crate) group: &'static str,
    /// The name: `v1`.
    pub(crate) name: &'static str,
    /// What it serves.
    pub(crate) resources: Vec<Resource>,
}

/// Something with a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Resource {
    /// The name in paths.
    pub(crate) plural: &'static str,
    /// The name of one.
    pub(crate) singular: &'static str,
    /// What it answers with.
    pub(crate) kind: &'static str,
    /// Whether it stands in a namespace.
    pub(crate) namespaced: bool,
    /// What can be done with it.
    pub(crate) verbs: &'static [&'static str],
    /// What people type instead.
    pub(crate) short_names: &'static [&'static str],
    /// What people type to get several kinds.
    pub(crate) categories: &'static [&'static str],
    /// What can be done with its status, where it has one of its own.
    pub(crate) status_verbs: Option<&'static [&'static str]>,
}

const ALL_VERBS: &[&str] =
    &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
const READ_VERBS: &[&str] = &["get", "list", "watch"];
const STATUS_VERBS: &[&str] = &["get"];

/// What no kind of ours is, and what clients ask for all the same; answered in `courtesy`.
const COURTESIES: &[(&str, &str, Resource)] = &[
    ("", "v1", Resource::courtesy("events", "event", "Event", true, &["list"])),
    ("", "v1", Resource::courtesy("services", "service", "Service", true, &["list"])),
    (
        "authentication.k8s.io",
        "v1",
        Resource::courtesy(
            "selfsubjectreviews",
            "selfsubjectreview",
            "SelfSubjectReview",
            false,
            &["create"],
        ),
    ),
    (
        "authorization.k8s.io",
        "v1",
        Resource::courtesy(
            "selfsubjectaccessreviews",
            "selfsubjectaccessreview",
            "SelfSubjectAccessReview",
            false,
            &["create"],
        ),
    ),
    (
        "authorization.k8s.io",
        "v1",
        Resource::courtesy(
            "selfsubjectrulesreviews",
            "selfsubjectrulesreview",
            "SelfSubjectRulesReview",
            false,
            &["create"],
        ),
    ),
];

// === impl Catalogue ===

impl Catalogue {
    /// Everything: our own groups in the order of the table of kinds, then what is there by courtesy,
    /// then the original product's groups.
    pub(crate) fn new() -> Self {
        let mut catalogue = Self(Vec::new());
        for kind in KINDS {
            let place = kind.group_version;
            catalogue.version_mut(place.group, place.version).resources.push(Resource::of(kind));
        }
        for (group, version, resource) in COURTESIES {
            catalogue.version_mut(group, version).resources.push(*resource);
        }
        for kind in KINDS {
            for alias in kind.aliases {
                let resource = Resource::alias_of(kind);
                catalogue.version_mut(alias.group, alias.version).resources.push(resource);
            }
        }
        catalogue
    }

    /// The group without a name.
    pub(crate) fn core(&self) -> &[Group] {
        self.0.split_at(self.named_from()).0
    }

    /// The groups with a name.
    pub(crate) fn named(&self) -> &[Group] {
        self.0.split_at(self.named_from()).1
    }

    /// A group by its name; the core group has none.
    pub(crate) fn group(&self, name: &str) -> Option<&Group> {
        self.named().iter().find(|group| group.name == name)
    }

    /// A version of a group.
    pub(crate) fn version(&self, group: &str, name: &str) -> Option<&Version> {
        let group = self.0.iter().find(|known| known.name == group)?;
        group.versions.iter().find(|version| version.name == name)
    }

    /// Every version of every group.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Version> {
        self.0.iter().flat_map(|group| &group.versions)
    }

    /// Where the groups with a name begin. The core group has Secrets, so it is there.
    fn named_from(&self) -> usize {
        usize::from(self.0.first().is_some_and(|group| group.name.is_empty()))
    }

    fn version_mut(&mut self, group: &'static str, name: &'static str) -> &mut Version {
        let Self(groups) = self;
        let at = groups.iter().position(|known| known.name == group).unwrap_or_else(|| {
            // The core group stands in front, whichever kind comes first.
            let at = if group.is_empty() { 0 } else { groups.len() };
            groups.insert(at, Group { name: group, versions: Vec::new() });
            at
        });
        let versions = &mut groups[at].versions;
        let at = versions.iter().position(|known| known.name == name).unwrap_or_else(|| {
            versions.push(Version { group, name, resources: Vec::new() });
            versions.len() - 1
        });
        &mut versions[at]
    }
}

// === impl Version ===

impl Version {
    /// As `apiVersion` says it.
    pub(crate) fn api_version(&self) -> String {
        if self.group.is_empty() { self.name.to_owned() } else { format!("{}/{}", self.group, self.name) }
    }

    /// Where its resources are: `apis/gateway.keyward.io/v1`.
    pub(crate) fn path(&self) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        format!("{root}/{}", self.api_version())
    }
}

// === impl Resource ===

impl Resource {
    fn of(kind: &Kind) -> Self {
        let has_status = kind.fields.field("status").is_some();
        Self {
            plural: kind.plural,
            singular: kind.singular,
            kind: kind.name,
            namespaced: kind.is_namespaced(),
            verbs: if kind.is_written_by_server() { READ_VERBS } else { ALL_VERBS },
            short_names: kind.short_names,
            categories: kind.categories,
            status_verbs: (has_status && !kind.is_written_by_server()).then_some(STATUS_VERBS),
        }
    }

    /// As the original product has it. Nothing here is named as in our own groups: clients would ask
    /// which is meant, and list each object twice.
    fn alias_of(kind: &Kind) -> Self {
        Self { short_names: kind.alias_short_names, categories: &[ALIAS_CATEGORY], ..Self::of(kind) }
    }

    const fn courtesy(
        plural: &'static str,
        singular: &'static str,
        kind: &'static str,
        namespaced: bool,
        verbs: &'static [&'static str],
    ) -> Self {
        Self {
            plural,
            singular,
            kind,
            namespaced,
            verbs,
            short_names: &[],
            categories: &[],
            status_verbs: None,
        }
    }
}
