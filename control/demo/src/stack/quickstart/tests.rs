//! The objects that are in the binary, and the three-way decision.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use super::{FILES, Quickstart, Step, content, decide};

fn upstream(port: u16) -> Value {
    json!({"apiVersion": "service.keyward.io/v1", "kind": "Upstream",
           "metadata": {"name": "echo", "namespace": "n"}, "spec": {"static": {"hosts": [{"addr": "a", "port": port}]}}})
}

/// As the server gives it back.
fn live(mut object: Value) -> Value {
    object["metadata"]["resourceVersion"] = json!("7");
    object["metadata"]["generation"] = json!(1);
    object["metadata"]["uid"] = json!("u");
    object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
    object["status"] = json!({"state": "Accepted"});
    object
}

#[test]
fn every_file_is_in_the_binary() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/quickstart");
    let there: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".yaml"))
        .collect();
    let embedded: BTreeSet<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(there, embedded);
}

#[test]
fn objects_have_their_addresses_and_the_chosen_port() {
    let quickstart = Quickstart::new(9999).unwrap();
    let addresses: Vec<String> = quickstart
        .objects
        .iter()
        .map(|object| format!("{}/{}", object.address.collection, object.address.name))
        .collect();
    assert_eq!(
        addresses,
        [
            "/apis/service.keyward.io/v1/namespaces/keyward-system/upstreams/echo",
            "/api/v1/namespaces/keyward-system/secrets/alice",
            "/apis/enterprise.keyward.io/v1/namespaces/keyward-system/authconfigs/demo",
            "/apis/gateway.keyward.io/v1/namespaces/keyward-system/virtualservices/demo",
        ]
    );
    assert_eq!(quickstart.objects[0].body.pointer("/spec/static/hosts/0/port"), Some(&json!(9999)));
    assert_eq!(quickstart.user, "alice");
    assert_eq!(quickstart.key.len(), 36);
}

#[test]
fn a_missing_object_is_created() {
    assert_eq!(decide(None, &upstream(1), None), Step::Create);
    // Also when we wrote it once: the demonstration needs it.
    assert_eq!(decide(None, &upstream(1), Some(&content(&upstream(1)))), Step::Create);
}

#[test]
fn an_object_that_is_right_is_left_alone() {
    assert_eq!(decide(Some(&live(upstream(1))), &upstream(1), None), Step::Leave);
}

#[test]
fn our_own_older_version_is_replaced() {
    let written = content(&live(upstream(1)));
    assert_eq!(decide(Some(&live(upstream(1))), &upstream(2), Some(&written)), Step::Replace);
}

#[test]
fn a_change_by_somebody_else_is_kept() {
    let written = content(&live(upstream(1)));
    assert_eq!(decide(Some(&live(upstream(5))), &upstream(2), Some(&written)), Step::Keep);
    assert_eq!(decide(Some(&live(upstream(5))), &upstream(2), None), Step::Keep);
}

#[test]
fn a_secret_is_compared_by_its_key_and_labels() {
    let secret = |field: &str, key: &str, team: &str| {
        json!({"apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
               "metadata": {"name": "alice", "namespace": "n", "labels": {"team": team}}, field: {"api-key": key}})
    };
    let wanted = secret("stringData", "abc", "demo");
    assert_eq!(decide(Some(&live(secret("data", "YWJj", "demo"))), &wanted, None), Step::Leave);
    assert_eq!(decide(Some(&live(secret("data", "YWJk", "demo"))), &wanted, None), Step::Keep);
    assert_eq!(decide(Some(&live(secret("data", "YWJj", "else"))), &wanted, None), Step::Keep);
}

#[test]
fn a_replacement_carries_the_version_that_it_replaces() {
    let quickstart = Quickstart::new(1).unwrap();
    let body = quickstart.objects[0].over(Some(&live(upstream(1))));
    assert_eq!(body.pointer("/metadata/resourceVersion"), Some(&json!("7")));
    assert_eq!(body.pointer("/metadata/name"), Some(&json!("echo")));
}
