//! The sentences that have a code are those that the server says.

use keyward_keys::{Change, KeyIndex};
use keyward_resource::{ObjectKey, Resource, decode, kind};
use serde_json::{Value, json};

use super::*;

fn read(name: &str, object: Value) -> Resource {
    let kind = kind::by_name(name).expect("a kind");
    decode(kind, &object).expect("an object without a mistake")
}

fn secret(name: &str, data: Value) -> Change {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey", "data": data,
        "metadata": { "namespace": "team", "name": name, "labels": { "team": "infra" } },
    });
    match read("Secret", object) {
        Resource::ApiKeySecret(secret) => Change::PutSecret(secret),
        other => panic!("{other:?} is no key"),
    }
}

fn config() -> Change {
    let object = json!({
        "apiVersion": "enterprise.keyward.io/v1", "kind": "AuthConfig",
        "metadata": { "namespace": "team", "name": "config" },
        "spec": { "configs": [{ "apiKeyAuth": {
            "k8sSecretApikeyStorage": { "labelSelector": { "team": "infra" } },
        } }] },
    });
    match read("AuthConfig", object) {
        Resource::AuthConfig(config) => Change::PutAuthConfig(config),
        other => panic!("{other:?} is no AuthConfig"),
    }
}

#[test]
fn what_the_key_index_says_has_the_code_that_is_meant() {
    let key = || json!({ "api-key": "bm8tc2VjcmV0" });
    let cases: [(Vec<Change>, &str, &str, &Code); 4] = [
        (vec![], "AuthConfig", "config", &code::SELECTS_NO_SECRET),
        (vec![secret("a", json!({}))], "AuthConfig", "config", &code::NO_USABLE_KEY),
        (vec![secret("a", json!({}))], "Secret", "a", &code::UNUSABLE_KEY),
        (vec![secret("a", key()), secret("b", key())], "AuthConfig", "config", &code::DUPLICATE_KEYS),
    ];
    for (secrets, kind, name, expected) in cases {
        let mut index = KeyIndex::new();
        index.apply(1, secrets.into_iter().chain([config()]));
        let report = index.report(&ObjectKey::new(kind, "team", name)).expect("a report");
        let reason = report.reasons.join("; ");
        assert_eq!(code(kind, &reason), Some(expected), "{reason}");
    }
}

#[test]
fn what_a_proxy_refuses_has_a_code_for_every_kind() {
    for kind in ["Gateway", "VirtualService", "Upstream"] {
        let reason = "proxy gateway-proxy refuses it: no such cipher";
        assert_eq!(code(kind, reason), Some(&code::REFUSED));
    }
    assert_eq!(code("Upstream", "spec.static.hosts: Required value"), None);
}
