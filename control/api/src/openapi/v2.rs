//! OpenAPI 2: one document for everything, for clients that know no other.

use keyward_resource::{GroupVersion, KINDS, Kind};
use serde_json::{Map, Value, json};

use super::meta;
use super::operation::{self, Operation, Parameter};
use super::schema::{Dialect, GROUP_VERSION_KIND, Schemas, group_version_kind, parameter_type};

const DIALECT: Dialect = Dialect::V2;

/// The document.
pub(super) fn document() -> Value {
    let mut schemas = Schemas::new(DIALECT);
    let mut paths = Map::new();
    for kind in KINDS {
        let places: Vec<GroupVersion> = kind.group_versions().collect();
        schemas.add_kind(kind, &places);
        for place in places {
            for found in operation::of_kind(place, kind) {
                paths.insert(
                    found.path.clone(),
                    operation::path_item(&found, parameter, |done| operation(done, place, kind)),
                );
            }
        }
    }
    for message in [&meta::STATUS, &meta::DELETE_OPTIONS, &meta::PATCH] {
        schemas.message(message);
    }
    json!({
        "swagger": "2.0",
        "info": { "title": "Keyward", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "definitions": schemas.into_map(),
    })
}

fn parameter(parameter: &Parameter, place: &str) -> Value {
    let mut value = parameter_type(parameter.ty);
    value["name"] = parameter.name.into();
    value["in"] = place.into();
    value["description"] = parameter.doc.into();
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
            (
                status.to_string(),
                json!({ "description": "What is there now.", "schema": DIALECT.reference(&answer.name()) }),
            )
        })
        .collect();
    let mut parameters: Vec<Value> = operation.query.iter().map(|found| parameter(found, "query")).collect();
    let mut value = json!({
        "operationId": operation.id,
        "description": operation.doc,
        "tags": [group.to_string()],
        "produces": ["application/json"],
        "responses": answers,
        "x-kubernetes-action": operation.action,
        GROUP_VERSION_KIND: group_version_kind(group, kind.name),
    });
    if let Some(body) = &operation.body {
        value["consumes"] = json!(body.media_types);
        parameters.push(json!({
            "name": "body",
            "in": "body",
            "required": body.required,
            "schema": DIALECT.reference(&body.content.name()),
        }));
    }
    value["parameters"] = parameters.into();
    value
}
