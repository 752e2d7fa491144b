//! Discovery as it has always been: one document for the groups, one for each version.

use serde_json::{Map, Value, json};

use super::catalogue::{Group, Resource, Version};

/// `/api`.
pub(super) fn core_versions() -> Value {
    json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] })
}

/// `/apis`.
pub(super) fn groups(groups: &[Group]) -> Value {
    let groups: Vec<Value> = groups.iter().map(fields).map(Value::Object).collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

/// `/apis/{group}`.
pub(super) fn group(group: &Group) -> Value {
    let mut answer = fields(group);
    answer.insert("kind".to_owned(), "APIGroup".into());
    answer.insert("apiVersion".to_owned(), "v1".into());
    Value::Object(answer)
}

fn fields(group: &Group) -> Map<String, Value> {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| json!({ "groupVersion": version.api_version(), "version": version.name }))
        .collect();
    let preferred = versions.first().cloned().unwrap_or_default();
    Map::from_iter([
        ("name".to_owned(), group.name.into()),
        ("versions".to_owned(), versions.into()),
        ("preferredVersion".to_owned(), preferred),
    ])
}

/// `/api/v1` and `/apis/{group}/{version}`.
pub(super) fn resources(version: &Version) -> Value {
    let resources: Vec<Value> = version.resources.iter().flat_map(entries).collect();
    json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": version.api_version(),
        "resources": resources,
    })
}

/// A resource, and its status beside it.
fn entries(resource: &Resource) -> Vec<Value> {
    let mut entry = json!({
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": resource.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = json!(resource.short_names);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    let status = resource.status_verbs.map(|verbs| {
        json!({
            "name": format!("{}/status", resource.plural),
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": verbs,
        })
    });
    std::iter::once(entry).chain(status).collect()
}
