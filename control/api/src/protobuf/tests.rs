//! Tests of protobuf bodies. That the numbers of the fields are right is for the real `kubectl` to show.

use std::collections::BTreeMap;

use keyward_resource::kind;

use super::messages::{OwnerReference, Preconditions, TypeMeta};
use super::*;

fn body(api_version: &str, kind: &str, message: &impl Message) -> Vec<u8> {
    let type_meta = TypeMeta { api_version: api_version.to_owned(), kind: kind.to_owned() };
    let envelope = Unknown { type_meta: Some(type_meta), raw: message.encode_to_vec() };
    [MAGIC, envelope.encode_to_vec().as_slice()].concat()
}

fn some_secret() -> Secret {
    let owner =
        OwnerReference { kind: "Upstream".to_owned(), controller: Some(true), ..OwnerReference::default() };
    Secret {
        metadata: Some(ObjectMeta {
            name: "one".to_owned(),
            labels: BTreeMap::from([("team".to_owned(), "pets".to_owned())]),
            creation_timestamp: Some(Time { seconds: 60 }),
            owner_references: vec![owner],
            ..ObjectMeta::default()
        }),
        data: BTreeMap::from([("api-key".to_owned(), b"n-o-t".to_vec())]),
        r#type: "Opaque".to_owned(),
        ..Secret::default()
    }
}

#[test]
fn a_body_is_the_json_that_it_stands_for() {
    let decoded = decode(&body("v1", "Secret", &some_secret())).expect("a Secret");
    let expected = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "one",
            "labels": { "team": "pets" },
            "creationTimestamp": "1970-01-01T00:01:00Z",
            "ownerReferences": [{ "kind": "Upstream", "controller": true }],
        },
        "type": "Opaque",
        "data": { "api-key": "bi1vLXQ=" },
    });
    assert_eq!(decoded, expected);
    let options = DeleteOptions {
        preconditions: Some(Preconditions { uid: Some("u".to_owned()), resource_version: None }),
        grace_period_seconds: Some(0),
        ..DeleteOptions::default()
    };
    assert_eq!(
        decode(&body("v1", "DeleteOptions", &options)),
        Ok(
            json!({ "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": { "uid": "u" } })
        )
    );
}

#[test]
fn what_is_sent_in_protobuf_are_fields_that_there_are() {
    let decoded = decode(&body("v1", "Secret", &some_secret())).expect("a Secret");
    let fields = kind::by_name("Secret").expect("a kind").fields;
    for name in decoded.as_object().expect("an object").keys() {
        assert!(fields.field(name).is_some(), "{name}");
    }
}

#[test]
fn other_bytes_are_refused() {
    let whole = body("v1", "Secret", &some_secret());
    for odd in [&b""[..], b"{}", MAGIC, &whole[4..], &whole[..whole.len() - 3], b"k8s\0\xff\xff\xff"] {
        let refusal = decode(odd).expect_err("a refusal");
        assert_eq!(refusal.code, 400, "{odd:?}");
    }
    let refusal = decode(&body("apps/v1", "Deployment", &Review::default())).expect_err("a refusal");
    assert!(refusal.message.contains("Deployment"), "{}", refusal.message);
}

#[test]
fn no_data_of_a_secret_is_printed() {
    let secret = some_secret();
    let envelope = Unknown { type_meta: None, raw: secret.encode_to_vec() };
    let printed = format!("{secret:?} {envelope:?}");
    assert!(!printed.contains("n-o-t") && !printed.contains("110, 45"), "{printed}");
}
