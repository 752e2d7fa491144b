//! What must hold for any input: nothing panics, admission settles after one step and agrees with
//! decoding, and no message repeats an API key.

use std::path::Path;

use keyward_resource::{Format, KINDS, Kind, admit, decode, kind, parse_body, present, summary};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// The API key of these tests.
const KEY: &str = "5ecretKEYmarker";

/// Any JSON, rich in the words and the values on which the readers act.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        Just(json!(8080)),
        word().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((word(), inner), 0..6)
                .prop_map(|entries| Value::Object(Map::from_iter(entries))),
        ]
    })
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "addr",
            "apiKeyAuth",
            "apiKeySecretRefs",
            "api-key",
            "apiVersion",
            "bindPort",
            "configRef",
            "configs",
            "data",
            "disable",
            "domains",
            "extauth",
            "headerName",
            "hosts",
            "httpGateway",
            "kind",
            "labels",
            "labelSelector",
            "matchers",
            "metadata",
            "name",
            "namespace",
            "options",
            "port",
            "prefix",
            "routeAction",
            "routes",
            "single",
            "spec",
            "static",
            "stringData",
            "type",
            "upstream",
            "virtualHost",
            "*",
            "/",
            "a.com",
            "a.com:80",
            "default",
            "extauth.keyward.io/apikey",
            "extauth.solo.io/apikey",
            "a2V5",
            "",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,12}",
    ]
}

/// The objects of the golden cases that can be read, with their kinds.
fn samples() -> Vec<(&'static Kind, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/resources");
    let mut samples = Vec::new();
    for case in std::fs::read_dir(folder).expect("testdata/resources") {
        let bytes = std::fs::read(case.expect("entry").path().join("in.yaml")).expect("in.yaml");
        let Ok(object) = parse_body(&bytes, Format::Yaml) else { continue };
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        if let Some((kind, _)) = kind::by_type(&text("apiVersion"), &text("kind")) {
            samples.push((kind, object));
        }
    }
    assert!(samples.len() > 50, "the samples are not where they should be");
    samples
}

/// Puts a value in the place of the nth value of an object, counted in depth.
fn replace(target: &mut Value, steps: &mut usize, with: &Value) {
    if *steps == 0 {
        *target = with.clone();
        *steps = usize::MAX;
        return;
    }
    *steps -= 1;
    match target {
        Value::Array(items) => {
            for item in items {
                if *steps != usize::MAX {
                    replace(item, steps, with);
                }
            }
        }
        Value::Object(map) => {
            for value in map.values_mut() {
                if *steps != usize::MAX {
                    replace(value, steps, with);
                }
            }
        }
        _ => {}
    }
}

fn check(kind: &'static Kind, object: &Value) -> Result<(), TestCaseError> {
    // Whatever the store holds, decoding answers.
    let _ = decode(kind, object);
    match admit(kind, "apps", None, object.clone()) {
        Ok(stored) => {
            prop_assert_eq!(admit(kind, "apps", None, stored.clone()), Ok(stored.clone()));
            let resource = decode(kind, &stored);
            prop_assert!(resource.is_ok(), "admitted, but {:?}", resource);
            for asked in kind.group_versions() {
                let presented = present(kind, stored.clone(), asked);
                prop_assert_eq!(admit(kind, "apps", None, presented), Ok(stored.clone()));
            }
            prop_assert_eq!(&stored["metadata"]["namespace"], &json!("apps"));
            prop_assert!(stored.get("status").is_none() && stored.get("stringData").is_none());
        }
        Err(errors) => {
            prop_assert!(!errors.is_empty() && errors.len() <= 101);
            prop_assert!(errors.iter().all(|error| !error.message.is_empty()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_gets_an_answer(object in any_json(), index in 0..KINDS.len()) {
        check(KINDS[index], &object)?;
    }

    #[test]
    fn damaged_objects_get_an_answer(
        sample in prop::sample::select(samples()),
        damages in prop::collection::vec((0_usize..60, any_json()), 0..4),
    ) {
        let (kind, mut object) = sample;
        for (steps, value) in damages {
            replace(&mut object, &mut steps.clone(), &value);
        }
        check(kind, &object)?;
    }

    #[test]
    fn any_body_gets_an_answer(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse_body(&body, Format::Json);
        let _ = parse_body(&body, Format::Yaml);
    }

    #[test]
    fn json_is_read_as_written_and_as_yaml(object in any_json()) {
        let text = serde_json::to_vec(&object).expect("values are JSON");
        prop_assert_eq!(parse_body(&text, Format::Json), Ok(serde_json::from_slice(&text).expect("JSON")));
        // Not every string of JSON is YAML, but what is read must be the same.
        let _ = parse_body(&text, Format::Yaml);
    }

    #[test]
    fn no_message_repeats_a_key(
        before in "[ -~\n\t]{0,6}",
        after in "[ -~\n\t]{0,6}",
        place in 0_usize..4,
        json in any::<bool>(),
    ) {
        let template = if json {
            r#"{"kind": "Secret", "metadata": {"name": "bob"}, "type": "extauth.keyward.io/apikey", "@": {"api-key": "#
        } else {
            "kind: Secret\nmetadata: {name: bob}\ntype: extauth.keyward.io/apikey\n@:\n  api-key: "
        };
        let field = if place % 2 == 0 { "data" } else { "stringData" };
        let quote = if place < 2 || json { "\"" } else { "" };
        let end = if json { "}}" } else { "\n" };
        let text = format!("{}{before}{quote}{KEY}{after}{quote}{end}", template.replace('@', field));
        let format = if json { Format::Json } else { Format::Yaml };
        let message = match parse_body(text.as_bytes(), format) {
            Err(error) => error.to_string(),
            Ok(object) => {
                let secret = kind::by_name("Secret").expect("Secret is a kind");
                match admit(secret, "apps", None, object) {
                    Err(errors) => summary(&errors),
                    Ok(stored) => format!("{:?}", decode(secret, &stored)),
                }
            }
        };
        // Behind a colon it is a key of a map and not a value: the path must name it.
        let is_map_key = after.contains(':') || before.contains(['{', '?']);
        prop_assert!(is_map_key || !message.contains(KEY), "{}\n{}", text, message);
    }
}

#[test]
fn no_message_repeats_what_a_secret_holds() {
    let secret = kind::by_name("Secret").expect("Secret is a kind");
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{KEY}\n-----END PRIVATE KEY-----\n");
    let types =
        ["extauth.keyward.io/apikey", "kubernetes.io/tls", "Opaque", "kubernetes.io/dockerconfigjson"];
    for (secret_type, entry) in types.iter().flat_map(|ty| {
        ["api-key", "tls.crt", "tls.key", "ca.crt", "anything", "not a key!"].map(|entry| (*ty, entry))
    }) {
        for (field, value) in [("data", KEY), ("stringData", KEY), ("stringData", pem.as_str())] {
            let object = json!({
                "metadata": { "name": "bob", "annotations": { "last-applied": value } },
                "type": secret_type,
                field: { entry: value },
            });
            let said = match admit(secret, "apps", None, object) {
                Err(errors) => summary(&errors),
                Ok(stored) => format!("{:?}", decode(secret, &stored)),
            };
            assert!(!said.contains(KEY), "{secret_type} {field}[{entry}]: {said}");
        }
    }
}
