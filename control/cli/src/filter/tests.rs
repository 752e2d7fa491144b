use keyward_filter_core::standalone;
use keyward_resource::{Format, parse_documents};
use serde_json::{Value, json};

use super::digest::digests;
use super::document::{Document, make};
use super::source::Source;

const RESOURCES: &str = r#"
apiVersion: v1
kind: Namespace
metadata: { name: team }
---
apiVersion: enterprise.keyward.io/v1
kind: AuthConfig
metadata: { namespace: team, name: partners }
spec:
  configs:
    - apiKeyAuth:
        headerName: X-Api-Key
        k8sSecretApikeyStorage: { labelSelector: { tier: partner } }
        headersFromMetadataEntry: { x-team: { name: team, required: true } }
---
apiVersion: enterprise.gloo.solo.io/v1
kind: AuthConfig
metadata: { namespace: team, name: staff }
spec:
  configs:
    - apiKeyAuth:
        keySource: { headers: [{ header: authorization, prefix: Bearer }], cookies: [key] }
        forwardKey: true
        anonymous: true
        k8sSecretApikeyStorage: { apiKeySecretRefs: [{ name: carol }] }
---
apiVersion: v1
kind: List
items:
  - apiVersion: v1
    kind: Secret
    type: extauth.keyward.io/apikey
    metadata: { namespace: team, name: alice, labels: { tier: partner } }
    stringData: { api-key: alice-key, team: blue, unasked: x, expires-at: "2030-01-31T12:00:00+01:00" }
  - apiVersion: v1
    kind: Secret
    type: extauth.keyward.io/apikey
    metadata: { namespace: team, name: bob, labels: { tier: partner } }
    stringData: { api-key: bob-key }
---
apiVersion: v1
kind: Secret
type: extauth.keyward.io/apikey
metadata: { namespace: team, name: carol, labels: { tier: partner } }
stringData:
  api-key-sha256: DIGEST
  team: red
  disabled: "true"
  not-before: "2026-01-01T00:00:00Z"
---
apiVersion: v1
kind: Secret
type: extauth.keyward.io/apikey
metadata: { namespace: team, name: other }
stringData: { api-key: other-key }
---
apiVersion: service.keyward.io/v1
kind: Upstream
metadata: { namespace: team, name: echo }
spec: { static: { hosts: [{ addr: 127.0.0.1, port: 80 }] } }
"#;

fn sha256(key: &str) -> String {
    digests(key.as_bytes()).expect("a key").remove(0)
}

fn source(text: &str) -> Source {
    let text = text.replace("DIGEST", &sha256("carol-key"));
    let mut source = Source::default();
    for document in parse_documents(text.as_bytes(), Format::Yaml).expect("YAML") {
        source.document(document).expect("resources");
    }
    source
}

fn made(text: &str) -> Document {
    make(source(text), "x-user-id").expect("a configuration")
}

fn only(name: &str, text: &str) -> Source {
    let mut source = source(text);
    source.auth_configs.retain(|config| config.meta.name == name);
    source
}

#[test]
fn resources_become_the_configuration_that_says_the_same() {
    let Document { value, notes } = made(RESOURCES);
    let expected: Value = json!({
        "apiVersion": "filter.keyward.io/v1",
        "policies": {
            "team/partners": {
                "headerName": "x-api-key",
                "headersFromMetadata": { "x-team": { "name": "team", "required": true } },
            },
            "team/staff": {
                "keySource": {
                    "headers": [{ "header": "authorization", "prefix": "Bearer" }],
                    "cookies": ["key"],
                },
                "forwardKey": true,
                "anonymous": true,
            },
        },
        "routes": [
            { "prefix": "team/partners|", "policy": "team/partners" },
            { "prefix": "team/staff|", "policy": "team/staff" },
        ],
        "keys": [
            {
                "sha256": sha256("alice-key"),
                "identity": "alice",
                "expiresAt": "2030-01-31T11:00:00Z",
                "metadata": { "team": "blue" },
                "policies": ["team/partners"],
            },
            {
                "sha256": sha256("carol-key"),
                "identity": "carol",
                "notBefore": "2026-01-01T00:00:00Z",
                "disabled": true,
                "metadata": { "team": "red" },
            },
        ],
    });
    assert_eq!(value, expected);
    standalone::from_json(value.to_string().as_bytes()).expect("what the filter takes");
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("team/bob") && notes[1].contains("team/partners|orders"), "{notes:?}");
    for key in ["alice-key", "carol-key", "other"] {
        assert!(!value.to_string().contains(key), "{key}");
    }
}

#[test]
fn one_auth_config_is_asked_for_on_every_route() {
    let Document { value, notes } = make(only("staff", RESOURCES), "x-caller").expect("a configuration");
    assert_eq!(value["defaultPolicy"], "team/staff");
    assert_eq!(value["identityHeader"], "x-caller");
    assert_eq!(value["keys"].as_array().map(Vec::len), Some(1));
    assert!(value.get("routes").is_none() && value["keys"][0].get("policies").is_none());
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn a_rotated_key_stays_until_its_overlap_ends() {
    let text = RESOURCES.replace(
        "stringData: { api-key: alice-key,",
        "stringData: { previous-api-key: old-key, previous-expires-at: \"2027-01-01T00:00:00Z\", api-key: alice-key,",
    );
    let keys = &made(&text).value["keys"];
    assert_eq!(keys[1]["sha256"], sha256("old-key"));
    assert_eq!(keys[1]["identity"], "alice");
    assert_eq!(keys[1]["expiresAt"], "2027-01-01T00:00:00Z");
}

#[test]
fn of_two_secrets_with_one_key_the_first_counts() {
    let text = RESOURCES.replace("api-key: bob-key", "api-key: alice-key, team: green");
    let Document { value, notes } = made(&text);
    assert_eq!(value["keys"].as_array().map(Vec::len), Some(2));
    assert_eq!(value["keys"][0]["identity"], "alice");
    assert!(notes[0].contains("team/bob") && notes[0].contains("team/alice"), "{notes:?}");
}

const CHAIN: &str = r#"
apiVersion: enterprise.keyward.io/v1
kind: AuthConfig
metadata: { namespace: team, name: both }
spec:
  booleanExpr: a && (b || !c) && !(a && c)
  configs:
    - { name: a, apiKeyAuth: { labelSelector: { in: a }, forwardKey: true } }
    - { name: b, apiKeyAuth: { headerName: x-b, labelSelector: { in: a }, anonymous: true } }
    - { name: c, apiKeyAuth: { headerName: x-c, labelSelector: { also: c } } }
---
apiVersion: v1
kind: Secret
type: extauth.keyward.io/apikey
metadata: { namespace: team, name: alice, labels: { in: a, plan: gold } }
stringData: { api-key: alice-key }
---
apiVersion: v1
kind: Secret
type: extauth.keyward.io/apikey
metadata: { namespace: team, name: bob, labels: { in: a, also: c } }
stringData: { api-key: bob-key }
---
apiVersion: v1
kind: Secret
type: extauth.keyward.io/apikey
metadata: { namespace: team, name: carol, labels: { also: c, plan: gold } }
stringData: { api-key: carol-key }
---
apiVersion: gateway.keyward.io/v1
kind: VirtualService
metadata: { namespace: team, name: site }
spec:
  virtualHost:
    domains: [site.test]
    options: { extauth: { configRef: { namespace: team, name: both } } }
    routes:
    - matchers: [{ prefix: /gold }]
      options: { extauth: { allowed: { identities: [bob, nobody], labels: { plan: gold } } } }
      directResponseAction: { status: 200 }
    - matchers: [{ prefix: /none }]
      options: { extauth: { allowed: { identities: [nobody] } } }
      directResponseAction: { status: 200 }
    - matchers: [{ prefix: / }]
      directResponseAction: { status: 200 }
"#;

#[test]
fn several_configs_and_lists_become_what_says_the_same() {
    let Document { value, notes } = made(CHAIN);
    assert_eq!(
        value["policies"]["team/both"],
        json!({
            "configs": [
                { "name": "a", "headerName": "api-key", "forwardKey": true },
                { "name": "b", "headerName": "x-b", "anonymous": true },
                { "name": "c", "headerName": "x-c" },
            ],
            "booleanExpr": "a && (b || !c) && !(a && c)",
        })
    );
    assert_eq!(value["defaultPolicy"], "team/both");
    let policies: Vec<_> = value["keys"].as_array().unwrap().iter().map(|key| key.get("policies")).collect();
    let (two, one) = (json!(["team/both#a", "team/both#b"]), json!(["team/both#c"]));
    assert_eq!(policies, [Some(&two), None, Some(&one)]);
    let routes = value["routes"].as_array().unwrap();
    let allowed: Vec<_> = routes.iter().map(|route| route["allowed"].to_string()).collect();
    assert_eq!(allowed.len(), 2);
    assert!(allowed.contains(&r#"["alice","bob","carol"]"#.to_owned()), "{allowed:?}");
    assert!(allowed.contains(&"[]".to_owned()), "{allowed:?}");
    for route in routes {
        let prefix = route["prefix"].as_str().unwrap();
        assert!(prefix.starts_with("team/both@") && prefix.ends_with('|'), "{prefix}");
        assert!(notes.iter().any(|note| note.contains(prefix)), "{notes:?}");
    }
    standalone::from_json(value.to_string().as_bytes()).expect("what the filter takes");
}

#[test]
fn what_the_filter_alone_cannot_do_is_refused() {
    // Of two with one name a list allows one.
    let other = "\n---\napiVersion: v1\nkind: Secret\ntype: extauth.keyward.io/apikey\nmetadata: { namespace: other, \
                 name: alice, labels: { in: a } }\nstringData: { api-key: other-key }\n";
    let error = make(source(&format!("{CHAIN}{other}")), "x-user-id").expect_err("two names").to_string();
    assert!(error.contains("other/alice") && error.contains("names alone"), "{error}");
    let error = make(Source::default(), "x-user-id").expect_err("nothing").to_string();
    assert!(error.contains("no AuthConfig"), "{error}");
    let mut broken = Source::default();
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "name": "x" }, "stringData": { "api-key-sha256": "my-key-in-plain" },
    });
    let error = broken.document(secret).expect_err("no digest").to_string();
    assert!(error.contains("Secret default/x") && !error.contains("in-plain"), "{error}");
}

#[test]
fn digests_are_those_of_the_lines() {
    let both = digests(&b"abc\n\xff\xfe\r\n"[..]).expect("two keys");
    assert_eq!(both[0], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(both.len(), 2);
    let error = digests(&b"secret-key\n\n"[..]).expect_err("an empty line").to_string();
    assert!(error.contains("line 2") && !error.contains("secret-key"), "{error}");
    assert!(digests(&b""[..]).is_err());
    assert!(digests("k".repeat(4097).as_bytes()).is_err());
    assert_eq!(digests("k".repeat(4096).as_bytes()).expect("the longest").len(), 1);
}
