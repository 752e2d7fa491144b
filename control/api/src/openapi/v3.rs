//! OpenAPI 3: one document for each version of each group.

use keyward_resource::{GroupVersion, KINDS, Kind};
use serde_json::{Map, Value, json};

use super::meta;
use super::operation::{self, Operation, Parameter};
use super::schema::{Dialect, GROUP_VERSION_KIND, Schemas, group_version_kind, parameter_type};

const DIALECT: Dialect = Dialect::V3;

/// The document of a version of a group.
pub(super) fn document(place: GroupVersion) -> Value {
    let mut schemas = Schemas::new(DIALECT);
    let mut paths = Map::new();
    for kind in KINDS.iter().filter(|kind| kind.group_versions().any(|served| served == place)) {
        schemas.add_kind(kind, &[place]);
        for found in operation::of_kind(place, kind) {
            paths.insert(
                found.path.clone(),
                operation::path_item(&found, parameter, |done| operation(done, place, kind)),
            );
        }
    }
    for message in [&meta::STATUS, &meta::DELETE_OPTIONS, &meta::PATCH] {
        schemas.message(message);
    }
    json!({
        "openapi": "3.0.0",
        "info": { "title": "Keyward", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": { "schemas": schemas.into_map() },
    })
}

fn parameter(parameter: &Parameter, place: &str) -> Value {
    let mut value = json!({
        "name": parameter.name,
        "in": place,
        "description": parameter.doc,
        "schema": parameter_type(parameter.ty),
    });
    if place == "path" {
        value["required"] = true.into();
    }
    value
}

fn operation(operation: &Operation, group: GroupVersion, kind: &Kind) -> Value {
    let (statuses, answer) = &operation.answers;
    let answers: Map<String, Value> = statuses
        .iter()
        .map(|status| {
            let content = json!({ "application/json": { "schema": DIALECT.reference(&answer.name()) } });
            (status.to_string(), json!({ "description": "What is there now.", "content": content }))
        })
        .collect();
    let mut value = json!({
        "operationId": operation.id,
        "description": operation.doc,
        "tags": [group.to_string()],
        "parameters": operation.query.iter().map(|found| parameter(found, "query")).collect::<Vec<_>>(),
        "responses": answers,
        "x-kubernetes-action": operation.action,
        GROUP_VERSION_KIND: group_version_kind(group, kind.name),
    });
    if let Some(body) = &operation.body {
        let content: Map<String, Value> = body
            .media_types
            .iter()
            .map(|media_type| {
                ((*media_type).to_owned(), json!({ "schema": DIALECT.reference(&body.content.name()) }))
            })
            .collect();
        value["requestBody"] = json!({ "content": content, "required": body.required });
    }
    value
}
