use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::kind::{self, KINDS};
use crate::kinds::KeyProblem;
use crate::kinds::secret::SecretValue;
use crate::meta::ObjectKey;

fn secret(data: Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": { "name": "bob", "namespace": "apps" },
        "type": "extauth.keyward.io/apikey",
        "data": data,
    })
}

fn key_of(object: &Value) -> (Result<[u8; 32], KeyProblem>, bool) {
    let kind = kind::by_name("Secret").expect("Secret is a kind");
    match decode(kind, object) {
        Ok(Resource::ApiKeySecret(secret)) => (secret.key, secret.trailing_newline),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_table_is_sound() {
    let mut names = BTreeSet::new();
    for kind in KINDS {
        assert!(names.insert(kind.name) && names.insert(kind.plural), "{} stands twice", kind.name);
        assert_eq!(kind::by_name(kind.name), Some(*kind));
        for served in kind.group_versions() {
            assert_eq!(kind::by_path(served.group, served.version, kind.plural), Some((*kind, served)));
            assert_eq!(kind::by_type(&served.to_string(), kind.name), Some((*kind, served)));
            assert!(kind::served().contains(&served));
        }
    }
    assert!(kind::by_path("gateway.keyward.io", "v2", "gateways").is_none());
    assert!(kind::by_path("gateway.keyward.io", "v1", "authconfigs").is_none());
    assert!(kind::by_type("v1", "Gateway").is_none());
    let (secret, core) = kind::by_path("", "v1", "secrets").expect("secrets are served");
    assert_eq!((secret.api_version().as_str(), core.group), ("v1", ""));
    assert_eq!(secret.list_kind(), "SecretList");
}

#[test]
fn the_original_products_names_are_aliases() {
    for (api_version, name, canonical) in [
        ("gateway.solo.io/v1", "VirtualService", "gateway.keyward.io/v1"),
        ("gateway.solo.io/v1", "Gateway", "gateway.keyward.io/v1"),
        ("gloo.solo.io/v1", "Upstream", "service.keyward.io/v1"),
        ("enterprise.gloo.solo.io/v1", "AuthConfig", "enterprise.keyward.io/v1"),
    ] {
        let (kind, asked) = kind::by_type(api_version, name).expect("the alias is served");
        assert_eq!(kind.api_version(), canonical);
        let stored = json!({ "apiVersion": canonical, "kind": name });
        assert_eq!(present(kind, stored.clone(), asked)["apiVersion"], json!(api_version));
        assert_eq!(present(kind, stored.clone(), kind.group_version), stored);
        let foreign = GroupVersion { group: "example.com", version: "v1" };
        assert_eq!(present(kind, stored.clone(), foreign), stored);
        let list = present_list(kind, vec![stored.clone()], 7, asked);
        assert_eq!(
            list,
            json!({
                "apiVersion": api_version,
                "kind": format!("{name}List"),
                "metadata": { "resourceVersion": "7" },
                "items": [stored],
            })
        );
    }
}

#[test]
fn only_the_digest_of_a_key_is_left() {
    // printf %s secret-one | sha256sum
    let digest = "ea77193cc4e6f18656f3130e296203880c4b9b3772afc855211b82fdd46e9185";
    let hex = |bytes: [u8; 32]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    for (data, newline) in
        [("c2VjcmV0LW9uZQ==", false), ("c2VjcmV0LW9uZQo=", true), ("c2VjcmV0LW9uZQ0K", true)]
    {
        let (key, trailing_newline) = key_of(&secret(json!({ "api-key": data })));
        assert_eq!(key.map(hex).as_deref(), Ok(digest), "{data}");
        assert_eq!(trailing_newline, newline, "{data}");
    }
    // Only one line end is dropped, and a lone carriage return is none.
    let (first, _) = key_of(&secret(json!({ "api-key": "c2VjcmV0LW9uZQoK" })));
    assert_ne!(first.map(hex).as_deref(), Ok(digest));
    let (second, newline) = key_of(&secret(json!({ "api-key": "c2VjcmV0LW9uZQ0=" })));
    assert_ne!(second.map(hex).as_deref(), Ok(digest));
    assert!(!newline);
}

#[test]
fn what_a_key_looks_like_is_known_of_those_that_are_known() {
    use base64::Engine as _;
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let digest = base64("ea77193cc4e6f18656f3130e296203880c4b9b3772afc855211b82fdd46e9185");
    for (data, any_shape) in [
        (json!({ "api-key": base64("secret-one") }), false),
        (json!({ "api-key": base64("secret-one"), "api-key-sha256": digest }), false),
        (json!({ "api-key-sha256": digest }), true),
        (json!({ "api-key": base64("kw_0000000000000000000000_0lgXbD\n") }), false),
        (json!({ "api-key": base64("kw_0000000000000000000000_0lgXbX") }), true),
        (json!({ "api-key": base64("kw_of-another-product") }), true),
    ] {
        let kind = kind::by_name("Secret").expect("Secret is a kind");
        let Ok(Resource::ApiKeySecret(secret)) = decode(kind, &secret(data.clone())) else {
            panic!("{data}")
        };
        assert_eq!(secret.any_shape, any_shape, "{data}");
    }
}

#[test]
fn what_is_refused_when_written_is_no_key_when_it_was_stored() {
    use base64::Engine as _;
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let digest = "ea77193cc4e6f18656f3130e296203880c4b9b3772afc855211b82fdd46e9185";
    for (entry, value, problem) in [
        ("api-key-sha256", "ea77", KeyProblem::Digest),
        ("api-key-sha256", &digest[1..], KeyProblem::Digest),
        ("api-key-sha256", &digest.replace('e', "g"), KeyProblem::Digest),
        ("api-key-sha256", &digest.replace('e', "f"), KeyProblem::OtherDigest),
        ("not-before", "soon", KeyProblem::NotBefore),
        ("expires-at", "", KeyProblem::ExpiresAt),
        ("expires-at", "2026-01-01T00:00:00Z ", KeyProblem::ExpiresAt),
        ("disabled", "1", KeyProblem::Disabled),
        ("disabled", "True", KeyProblem::Disabled),
        ("disabled", "", KeyProblem::Disabled),
        ("previous-expires-at", "2027-01-01T00:00:00Z", KeyProblem::PreviousMissing),
        ("api-key", "", KeyProblem::Empty),
        ("api-key", "\n", KeyProblem::Empty),
        ("api-key", &"k".repeat(4097), KeyProblem::TooLong),
        ("api-key", "two\nlines", KeyProblem::Unsendable),
        ("api-key", "tw\0o", KeyProblem::Unsendable),
        ("api-key", "two\n\n", KeyProblem::Unsendable),
        ("api-key", "two\r", KeyProblem::Unsendable),
        ("api-key", " two", KeyProblem::Unsendable),
        ("api-key", "two\t\n", KeyProblem::Unsendable),
        ("note", "two\r\nlines", KeyProblem::Metadata),
        ("note", "\0", KeyProblem::Metadata),
        ("note", "two\x7f", KeyProblem::Metadata),
        ("note", "\ttwo", KeyProblem::Metadata),
        ("note", "two ", KeyProblem::Metadata),
    ] {
        let mut object = secret(json!({ "api-key": base64("secret-one") }));
        object["data"][entry] = json!(base64(value));
        assert_eq!(key_of(&object).0, Err(problem), "{entry} {value:?}");
        assert!(problem.is_refused());
        let kind = kind::by_name("Secret").expect("Secret is a kind");
        let errors = admit(kind, "apps", None, object).expect_err("it is refused");
        let fields: Vec<String> = errors.iter().map(|error| error.path.clone()).collect();
        assert_eq!(fields, [format!("data[{entry}]")], "{value:?}");
        assert!(value.len() < 3 || !errors.iter().any(|error| error.to_string().contains(value)));
    }
}

#[test]
fn bytes_are_for_keys_and_text_is_for_headers_that_tell_of_them() {
    // 0xff, which a client can send as it is.
    assert!(key_of(&secret(json!({ "api-key": "/w==" }))).0.is_ok());
    let object = secret(json!({ "api-key": "a2V5", "note": "/w==" }));
    assert_eq!(key_of(&object).0, Err(KeyProblem::Metadata));
    let kind = kind::by_name("Secret").expect("Secret is a kind");
    let errors = admit(kind, "apps", None, object).expect_err("it is refused");
    assert_eq!(errors.iter().map(|error| error.path.as_str()).collect::<Vec<_>>(), ["data[note]"]);
    for (text, told) in [("", ""), ("Zoë\n", "Zoë"), ("a b\tc\r\n", "a b\tc")] {
        assert_eq!(SecretValue::from(text.as_bytes().to_vec()).header_value(), Some(told.as_bytes()));
    }
}

#[test]
fn a_mistake_about_the_previous_key_is_one_about_the_key() {
    use base64::Engine as _;
    let base64 = |text: &str| base64::engine::general_purpose::STANDARD.encode(text);
    let digest = "ea77193cc4e6f18656f3130e296203880c4b9b3772afc855211b82fdd46e9185";
    let time = "2027-01-01T00:00:00Z";
    let long = "x".repeat(4097);
    let (key, sha256, end) = ("previous-api-key", "previous-api-key-sha256", "previous-expires-at");
    for (entries, problem) in [
        (&[(key, "secret-two"), (end, time)][..], None),
        (&[(sha256, digest), (end, time)], None),
        (&[(key, ""), (end, time)], Some(KeyProblem::PreviousKey)),
        (&[(key, &long), (end, time)], Some(KeyProblem::PreviousKey)),
        (&[(sha256, "ea"), (end, time)], Some(KeyProblem::PreviousDigest)),
        (&[(key, "secret-two"), (sha256, digest), (end, time)], Some(KeyProblem::PreviousOtherDigest)),
        (&[(key, "secret-two"), (end, "soon")], Some(KeyProblem::PreviousExpiresAt)),
        (&[(key, "secret-two")], Some(KeyProblem::PreviousEndless)),
        (&[(sha256, digest)], Some(KeyProblem::PreviousEndless)),
        (&[(key, "secret-three"), (end, time)], Some(KeyProblem::PreviousSame)),
        (&[(key, "two\u{1b}"), (end, time)], Some(KeyProblem::PreviousKey)),
    ] {
        let mut object = secret(json!({ "api-key": base64("secret-three") }));
        for (entry, value) in entries {
            object["data"][entry] = json!(base64(value));
        }
        assert_eq!(key_of(&object).0.err(), problem, "{problem:?}");
        let kind = kind::by_name("Secret").expect("Secret is a kind");
        let Ok(Resource::ApiKeySecret(read)) = decode(kind, &object) else { panic!("{problem:?}") };
        assert_eq!(read.previous.is_some(), problem.is_none(), "{problem:?}");
        assert_eq!(read.metadata.len(), 0);
        assert_eq!(admit(kind, "apps", None, object).is_err(), problem.is_some(), "{problem:?}");
    }
}

#[test]
fn mistakes_in_great_number_are_counted() {
    let kind = kind::by_name("Upstream").expect("Upstream is a kind");
    let hosts = vec![json!({ "addr": "a", "port": 0 }); 150];
    let object = json!({
        "metadata": { "name": "u", "namespace": "n" },
        "spec": { "static": { "hosts": hosts } },
    });
    let errors = decode(kind, &object).expect_err("all ports are wrong");
    assert_eq!(errors.len(), 101);
    assert_eq!(errors[100].message, "50 more mistakes are not listed");
}

#[test]
fn long_bad_values_are_cut() {
    let kind = kind::by_name("Gateway").expect("Gateway is a kind");
    let object = json!({
        "metadata": { "name": "g" },
        "spec": { "bindAddress": "ä".repeat(5000), "bindPort": 1, "httpGateway": {} },
    });
    let errors = admit(kind, "n", None, object).expect_err("the address is wrong");
    assert_eq!(errors.len(), 1);
    assert!(errors[0].message.len() < 400, "{}", errors[0].message);
}

#[test]
fn what_the_store_holds_is_not_trusted() {
    for kind in KINDS {
        for object in [json!(null), json!([]), json!({}), json!({ "metadata": {} }), json!({ "kind": 5 })] {
            assert!(decode(kind, &object).is_err(), "{} {object}", kind.name);
        }
    }
}

#[test]
fn the_server_keeps_revision_generation_and_time() {
    let kind = kind::by_name("Upstream").expect("Upstream is a kind");
    let object = json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": {
            "name": "u",
            "namespace": "n",
            "resourceVersion": "42",
            "generation": 3,
            "creationTimestamp": "2026-01-02T03:04:05Z",
        },
        "spec": { "static": { "hosts": [{ "addr": "a", "port": 1 }] } },
    });
    let resource = decode(kind, &object).expect("the object is right");
    let meta = resource.meta();
    assert_eq!((meta.resource_version, meta.generation), (42, 3));
    assert_eq!(meta.creation_timestamp, "2026-01-02T03:04:05Z");
    assert_eq!(resource.key(), ObjectKey::new("Upstream", "n", "u"));
    let admitted = admit(kind, "n", Some("u"), object).expect("the object is right");
    assert_eq!(admitted["metadata"], json!({ "name": "u", "namespace": "n", "resourceVersion": "42" }));
}

#[test]
fn the_revision_of_the_creation_is_told_to_every_kind_from_outside() {
    let metadata = json!({ "name": "a", "namespace": "b", "resourceVersion": "7" });
    let route = json!({
        "matchers": [{ "prefix": "/" }],
        "routeAction": { "single": { "upstream": { "name": "a", "namespace": "b" } } },
    });
    let selector = json!({ "apiKeyAuth": { "labelSelector": { "a": "b" } } });
    let hosts = json!([{ "addr": "a.example.com", "port": 80 }]);
    for (name, body) in [
        ("Gateway", json!({ "spec": { "bindAddress": "::", "bindPort": 80, "httpGateway": {} } })),
        ("AuthConfig", json!({ "spec": { "configs": [selector] } })),
        ("Upstream", json!({ "spec": { "static": { "hosts": hosts } } })),
        ("VirtualService", json!({ "spec": { "virtualHost": { "domains": ["*"], "routes": [route] } } })),
        ("Secret", json!({ "type": "Opaque" })),
        ("Secret", json!({ "type": "extauth.keyward.io/apikey", "data": {} })),
    ] {
        let kind = kind::by_name(name).expect("a kind");
        let mut object = body;
        object["apiVersion"] = json!(kind.api_version());
        object["kind"] = json!(name);
        object["metadata"] = metadata.clone();
        let mut resource = decode(kind, &object).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
        assert_eq!((resource.meta().created, resource.meta().resource_version), (0, 7), "{name}");
        resource.meta_mut().created = 3;
        assert_eq!((resource.meta().created, resource.meta().resource_version), (3, 7), "{name}");
    }
}
