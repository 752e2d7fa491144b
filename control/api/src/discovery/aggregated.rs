//! Discovery in one document: everything of all groups, for clients that take it.

use serde_json::{Value, json};

use super::catalogue::{Group, Resource, Version};
use crate::accept::Accept;
use crate::document::Document;

/// A version of the document. They do not differ but in their names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    version: &'static str,
    media_type: &'static str,
}

const FORMS: &[Form] = &[
    Form {
        version: "v2",
        media_type: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    },
    Form {
        version: "v2beta1",
        media_type: "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList",
    },
];

fn group(group: &Group) -> Value {
    let versions: Vec<Value> = group.versions.iter().map(version).collect();
    json!({ "metadata": { "name": group.name, "creationTimestamp": null }, "versions": versions })
}

fn version(version: &Version) -> Value {
    let resources: Vec<Value> = version.resources.iter().map(|item| resource(version, item)).collect();
    json!({ "version": version.name, "freshness": "Current", "resources": resources })
}

fn resource(version: &Version, resource: &Resource) -> Value {
    let kind = json!({ "group": version.group, "version": version.name, "kind": resource.kind });
    let mut entry = json!({
        "resource": resource.plural,
        "responseKind": kind,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if let Some(verbs) = resource.status_verbs {
        entry["subresources"] = json!([{ "subresource": "status", "responseKind": kind, "verbs": verbs }]);
    }
    entry
}

// === impl Form ===

impl Form {
    /// The form that a client prefers to the plain documents, if there is one.
    pub(super) fn wanted(accept: &Accept) -> Option<Self> {
        let found = accept.first(|range| {
            if !range.takes("application/json") {
                return None;
            }
            let Some(kind) = range.parameter("as") else { return Some(None) };
            let ours = kind == "APIGroupDiscoveryList" && range.parameter("g") == Some("apidiscovery.k8s.io");
            let form = FORMS.iter().find(|form| range.parameter("v") == Some(form.version));
            form.filter(|_| ours).map(Some)
        });
        found.flatten().copied()
    }

    /// The document.
    pub(super) fn document(self, groups: &[Group]) -> Document {
        let items: Vec<Value> = groups.iter().map(group).collect();
        let value = json!({
            "kind": "APIGroupDiscoveryList",
            "apiVersion": format!("apidiscovery.k8s.io/{}", self.version),
            "metadata": {},
            "items": items,
        });
        Document::json(self.media_type, &value)
    }
}
