//! Tests of discovery.

use std::collections::BTreeSet;

use axum::body::to_bytes;
use axum::http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use keyward_resource::{KINDS, kind};
use serde_json::Value;

use super::*;

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const V2BETA1: &str = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";

async fn get(path: &str, accept: &str) -> Option<(HeaderMap, Value)> {
    let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_str(accept).expect("a header"))]);
    let response = answer(&Lookup { path, query: None, headers: &headers, beside: &[] })?;
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    let headers = response.headers().clone();
    let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("a whole body");
    Some((headers, serde_json::from_slice(&bytes).expect("JSON")))
}

async fn plain(path: &str) -> Value {
    get(path, "application/json").await.expect("it is answered").1
}

fn names<'a>(list: &'a Value, key: &str) -> Vec<&'a str> {
    list.as_array().into_iter().flatten().filter_map(|item| item[key].as_str()).collect()
}

#[tokio::test]
async fn every_kind_is_found_in_every_group_that_serves_it() {
    for kind in KINDS {
        for place in kind.group_versions() {
            let root = if place.group.is_empty() { "api" } else { "apis" };
            let list = plain(&format!("/{root}/{place}")).await;
            assert_eq!(list["groupVersion"], place.to_string());
            let found =
                list["resources"].as_array().into_iter().flatten().find(|item| item["name"] == kind.plural);
            let found = found.unwrap_or_else(|| panic!("{place} has no {}", kind.plural));
            assert_eq!(
                (&found["kind"], &found["namespaced"]),
                (&json!(kind.name), &json!(kind.is_namespaced()))
            );
        }
    }
}

#[tokio::test]
async fn both_forms_say_the_same() {
    let plain_groups = plain("/apis").await;
    let aggregated = get("/apis", V2).await.expect("it is answered").1;
    let groups = names(&plain_groups["groups"], "name");
    let items = aggregated["items"].as_array().expect("items");
    assert_eq!(
        items.iter().map(|item| item["metadata"]["name"].as_str().expect("a name")).collect::<Vec<_>>(),
        groups
    );
    for item in items {
        let group = item["metadata"]["name"].as_str().expect("a name");
        for version in item["versions"].as_array().expect("versions") {
            let path = format!("/apis/{group}/{}", version["version"].as_str().expect("a name"));
            let list = plain(&path).await;
            let mut expected: BTreeSet<String> = BTreeSet::new();
            for resource in version["resources"].as_array().expect("resources") {
                let name = resource["resource"].as_str().expect("a name");
                expected.insert(name.to_owned());
                for part in names(&resource["subresources"], "subresource") {
                    expected.insert(format!("{name}/{part}"));
                }
            }
            let found: BTreeSet<String> =
                names(&list["resources"], "name").into_iter().map(str::to_owned).collect();
            assert_eq!(found, expected, "{path}");
        }
    }
}

#[tokio::test]
async fn no_short_name_and_no_plural_in_a_category_is_there_twice() {
    let (mut short_names, mut in_category) = (BTreeSet::new(), BTreeSet::new());
    for path in ["/api", "/apis"] {
        let aggregated = get(path, V2).await.expect("it is answered").1;
        let items = aggregated["items"].as_array().expect("items");
        let versions = items.iter().flat_map(|item| item["versions"].as_array().expect("versions"));
        for resource in versions.flat_map(|version| version["resources"].as_array().expect("resources")) {
            for name in resource["shortNames"].as_array().into_iter().flatten() {
                assert!(short_names.insert(name.to_string()), "{name}");
            }
            for category in resource["categories"].as_array().into_iter().flatten() {
                assert!(in_category.insert(format!("{category} {}", resource["resource"])), "{resource}");
            }
        }
    }
    for name in ["\"vs\"", "\"gvs\"", "\"grlc\""] {
        assert!(short_names.contains(name), "{short_names:?}");
    }
    for category in ["keyward", "gloo-gateway", "all"] {
        let plural = format!("\"{category}\" \"virtualservices\"");
        assert!(in_category.contains(&plural), "{in_category:?}");
    }
    assert!(!in_category.contains("\"all\" \"settings\""), "{in_category:?}");
}

#[tokio::test]
async fn our_own_groups_stand_before_those_of_the_original_product() {
    let groups = plain("/apis").await;
    let groups = names(&groups["groups"], "name");
    for kind in KINDS.iter().filter(|kind| !kind.group_version.group.is_empty()) {
        let at = |group: &str| groups.iter().position(|name| *name == group);
        for alias in kind.aliases {
            assert!(at(kind.group_version.group) < at(alias.group), "{groups:?}");
        }
    }
    assert_eq!(groups.iter().collect::<BTreeSet<_>>().len(), groups.len(), "{groups:?}");
    assert!(kind::served().iter().all(|place| place.group.is_empty() || groups.contains(&place.group)));
}

#[tokio::test]
async fn a_client_gets_the_form_that_it_likes_best_of_those_that_there_are() {
    let newest = format!("{V2},{V2BETA1},application/json");
    let of_tomorrow = "application/json;g=apidiscovery.k8s.io;v=v9;as=APIGroupDiscoveryList";
    let without_peers = format!("{V2};profile=nopeer,{V2},application/json");
    for (accept, kind, media_type) in [
        (newest.as_str(), "APIGroupDiscoveryList", V2),
        (V2BETA1, "APIGroupDiscoveryList", V2BETA1),
        (without_peers.as_str(), "APIGroupDiscoveryList", V2),
        ("application/json", "APIGroupList", "application/json"),
        ("*/*", "APIGroupList", "application/json"),
        (of_tomorrow, "APIGroupList", "application/json"),
    ] {
        let (headers, list) = get("/apis", accept).await.expect("it is answered");
        assert_eq!(
            (&list["kind"], &headers[CONTENT_TYPE]),
            (&json!(kind), &HeaderValue::from_static(media_type)),
            "{accept}"
        );
    }
}

#[tokio::test]
async fn a_client_that_has_it_is_not_sent_it_again() {
    let (headers, _) = get("/apis", V2).await.expect("it is answered");
    let tag = headers[ETAG].clone();
    for (known, status) in
        [(tag.clone(), StatusCode::NOT_MODIFIED), (HeaderValue::from_static("\"other\""), StatusCode::OK)]
    {
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(V2)), (IF_NONE_MATCH, known)]);
        let response = answer(&Lookup { path: "/apis", query: None, headers: &headers, beside: &[] })
            .expect("it is answered");
        assert_eq!(response.status(), status);
        assert_eq!(response.headers()[ETAG], tag);
    }
}

#[tokio::test]
async fn what_is_not_there_is_not_discovered() {
    for path in
        ["/apis/apps", "/apis/apps/v1", "/api/v2", "/apis/gateway.keyward.io/v2", "/nothing", "/apis/a/b/c"]
    {
        assert!(get(path, "*/*").await.is_none(), "{path}");
    }
    for path in ["/", "/api/", "/apis/", "/version", "/apis/gateway.keyward.io"] {
        assert!(get(path, "*/*").await.is_some(), "{path}");
    }
}
