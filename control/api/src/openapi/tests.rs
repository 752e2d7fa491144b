//! Tests of the documents.

use std::collections::BTreeSet;

use axum::body::to_bytes;
use axum::http::header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use keyward_resource::KINDS;
use keyward_resource::schema::{Message, Type};

use super::*;

async fn get(
    path: &str,
    query: Option<&str>,
    accept: &'static str,
) -> Option<(StatusCode, HeaderMap, Vec<u8>)> {
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(accept))]);
    let response = answer(&Lookup { path, query, headers: &headers, beside: &[] })?;
    let (status, headers) = (response.status(), response.headers().clone());
    let bytes = to_bytes(response.into_body(), 1 << 24).await.expect("a whole body");
    Some((status, headers, bytes.to_vec()))
}

async fn json_at(path: &str) -> Value {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let (status, _, bytes) = get(path, query, "application/json").await.expect("it is answered");
    assert_eq!(status, StatusCode::OK, "{path}");
    serde_json::from_slice(&bytes).expect("JSON")
}

async fn documents() -> Vec<(String, Value)> {
    let index = json_at("/openapi/v3").await;
    let mut documents = vec![("v2".to_owned(), json_at("/openapi/v2").await)];
    for (path, entry) in index["paths"].as_object().expect("paths") {
        let address = entry["serverRelativeURL"].as_str().expect("an address");
        documents.push((path.clone(), json_at(address).await));
    }
    documents
}

fn schemas(document: &Value) -> &Map<String, Value> {
    document
        .pointer("/components/schemas")
        .or(document.get("definitions"))
        .and_then(Value::as_object)
        .expect("schemas")
}

fn each(value: &Value, visit: &mut impl FnMut(&Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            visit(map);
            map.values().for_each(|value| each(value, visit));
        }
        Value::Array(items) => items.iter().for_each(|value| each(value, visit)),
        _ => {}
    }
}

#[tokio::test]
async fn every_reference_leads_somewhere() {
    for (name, document) in documents().await {
        let mut count = 0;
        each(&document, &mut |map| {
            if let Some(Value::String(reference)) = map.get("$ref") {
                let pointer = reference.strip_prefix('#').expect("a reference inside the document");
                assert!(document.pointer(pointer).is_some_and(Value::is_object), "{name}: {reference}");
                count += 1;
            }
        });
        assert!(count > 10, "{name}");
    }
}

#[tokio::test]
async fn every_kind_says_what_a_patch_does_with_its_fields() {
    let mut missing: BTreeSet<String> = KINDS
        .iter()
        .flat_map(|kind| kind.group_versions().map(|place| format!("{place} {}", kind.name)))
        .collect();
    let document = json_at("/openapi/v2").await;
    each(&document["paths"], &mut |map| {
        let Some(patch) = map.get("patch") else { return };
        let of = &patch["x-kubernetes-group-version-kind"];
        let parameters = patch["parameters"].as_array().expect("parameters");
        if parameters.iter().any(|parameter| parameter["name"] == "fieldValidation") {
            let text = |key: &str| of[key].as_str().expect("a word");
            let group = Some(text("group")).filter(|group| !group.is_empty());
            let place = group.map_or_else(String::new, |group| format!("{group}/"));
            missing.remove(&format!("{place}{} {}", text("version"), text("kind")));
        }
    });
    assert_eq!(missing, BTreeSet::new());
}

#[tokio::test]
async fn every_operation_has_a_name_of_its_own() {
    for (name, document) in documents().await {
        let mut ids = BTreeSet::new();
        each(&document["paths"], &mut |map| {
            if let Some(id) = map.get("operationId") {
                assert!(ids.insert(id.to_string()), "{name}: {id}");
            }
        });
        assert!(ids.len() >= 6, "{name}");
    }
}

/// Every field at any depth, as a path from the kind.
fn fields(message: &'static Message, path: &str, around: &mut Vec<&'static str>, found: &mut Vec<String>) {
    if around.contains(&message.name) {
        return;
    }
    around.push(message.name);
    for field in message.fields {
        let path = format!("{path}.{}", field.name);
        let mut ty = field.ty;
        while let Type::List(inner) | Type::Map(inner) = ty {
            ty = *inner;
        }
        if let Type::Object(inner) = ty {
            fields(inner, &path, around, found);
        }
        found.push(path);
    }
    around.pop();
}

/// What a path of fields leads to, the way `kubectl explain` goes.
fn walk<'a>(document: &'a Value, mut schema: &'a Value, path: &str) -> Option<&'a Value> {
    for name in path.split('.').filter(|name| !name.is_empty()) {
        schema = resolve(document, schema)["properties"].get(name)?;
    }
    Some(schema)
}

fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let reference = schema.get("$ref").or_else(|| schema["allOf"][0].get("$ref"));
    if let Some(pointer) = reference.and_then(Value::as_str).and_then(|text| text.strip_prefix('#')) {
        return resolve(document, document.pointer(pointer).expect("it leads somewhere"));
    }
    match schema.get("items").or_else(|| schema.get("additionalProperties")) {
        Some(inner) => resolve(document, inner),
        None => schema,
    }
}

#[tokio::test]
async fn every_field_of_every_kind_is_explained() {
    let mut unexplained = Vec::new();
    for kind in KINDS {
        let mut paths = Vec::new();
        fields(kind.fields, "", &mut Vec::new(), &mut paths);
        for place in kind.group_versions() {
            let root = if place.group.is_empty() { "api" } else { "apis" };
            let document = json_at(&format!("/openapi/v3/{root}/{place}")).await;
            let own = schema::group_version_kind(place, kind.name);
            let schema =
                schemas(&document).values().find(|schema| schema[schema::GROUP_VERSION_KIND] == json!([own]));
            let schema = schema.unwrap_or_else(|| panic!("{place} has no schema of {}", kind.name));
            for path in &paths {
                let field = walk(&document, schema, path).unwrap_or_else(|| panic!("{}{path}", kind.name));
                let doc = field["description"].as_str().unwrap_or_default();
                if doc.is_empty() && place == kind.group_version {
                    unexplained.push(format!("{}{path}", kind.name));
                }
            }
        }
    }
    assert!(
        unexplained.is_empty(),
        "{} fields are not explained: {}",
        unexplained.len(),
        unexplained.join(", ")
    );
}

#[tokio::test]
async fn what_is_shown_of_a_secret_is_what_clients_may_send_back() {
    for (name, document) in documents().await {
        for (_, schema) in schemas(&document).iter().filter(|(name, _)| name.ends_with(".Secret")) {
            assert!(walk(&document, schema, "status.conditions.type").is_some(), "{name}");
        }
    }
}

#[tokio::test]
async fn a_change_says_what_it_takes() {
    let document = json_at("/openapi/v3/api/v1").await;
    let patch = &document["paths"]["/api/v1/namespaces/{namespace}/secrets/{name}"]["patch"];
    let names: Vec<_> = patch["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|found| found["name"].as_str())
        .collect();
    assert_eq!(names, ["dryRun", "wait", "fieldManager", "fieldValidation", "force"]);
    assert!(patch["requestBody"]["content"]["application/strategic-merge-patch+json"].is_object());
    let document = json_at("/openapi/v3/apis/gateway.solo.io/v1").await;
    let patch =
        &document["paths"]["/apis/gateway.solo.io/v1/namespaces/{namespace}/virtualservices/{name}"]["patch"];
    assert!(patch["requestBody"]["content"]["application/merge-patch+json"].is_object());
    assert!(patch["requestBody"]["content"]["application/strategic-merge-patch+json"].is_null());
    assert_eq!(
        patch[schema::GROUP_VERSION_KIND],
        json!({ "group": "gateway.solo.io", "version": "v1", "kind": "VirtualService" })
    );
}

#[tokio::test]
async fn what_stands_under_its_hash_may_be_kept_for_good() {
    let index = json_at("/openapi/v3").await;
    let address = index["paths"]["api/v1"]["serverRelativeURL"].as_str().expect("an address");
    let (path, query) = address.split_once('?').expect("a hash");
    let (_, headers, _) = get(path, Some(query), "*/*").await.expect("it is answered");
    assert!(headers[CACHE_CONTROL].to_str().is_ok_and(|text| text.contains("immutable")));
    for query in [None, Some("hash=00")] {
        let (_, headers, _) = get(path, query, "*/*").await.expect("it is answered");
        assert_eq!(headers[CACHE_CONTROL], "no-cache", "{query:?}");
    }
}

#[tokio::test]
async fn the_form_is_the_one_that_is_asked_for() {
    let (_, headers, bytes) = get("/openapi/v2", None, PROTOBUF[0]).await.expect("it is answered");
    assert_eq!(headers[CONTENT_TYPE], PROTOBUF[1]);
    // Field 1, a string of three bytes: the version of OpenAPI.
    assert_eq!(bytes.get(..5), Some(b"\x0a\x032.0".as_slice()));
    let (_, headers, _) = get("/openapi/v2", None, "*/*").await.expect("it is answered");
    assert_eq!(headers[CONTENT_TYPE], "application/json");
    for path in ["/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"] {
        let (status, _, _) = get(path, None, "text/html").await.expect("it is answered");
        assert_eq!(status, StatusCode::NOT_ACCEPTABLE, "{path}");
    }
    for path in ["/openapi", "/openapi/v4", "/openapi/v3/apis/apps/v1"] {
        assert!(get(path, None, "*/*").await.is_none(), "{path}");
    }
}
