use keyward_resource::{admit, kind};

use super::*;

fn named(name: Option<&str>, namespace: Option<&str>) -> KeyAuthArgs {
    KeyAuthArgs {
        apikey_secret_name: name.map(str::to_owned),
        apikey_secret_namespace: namespace.map(str::to_owned),
        ..KeyAuthArgs::default()
    }
}

#[test]
fn every_flag_is_a_field_that_a_server_takes() {
    let args = KeyAuthArgs {
        enable_apikey_auth: true,
        apikey_label_selector: vec![("team".to_owned(), "infra".to_owned())],
        apikey_header_name: Some("x-api-key".to_owned()),
        apikey_headers_from_metadata: vec![("x-plan".to_owned(), "plan".to_owned())],
        apikey_forward_key: true,
        apikey_anonymous: true,
        ..named(Some("alice"), Some("team"))
    };
    let fields = args.fields().expect("an AuthConfig");
    let auth = json!({
        "k8sSecretApikeyStorage": {
            "labelSelector": { "team": "infra" },
            "apiKeySecretRefs": [{ "name": "alice", "namespace": "team" }],
        },
        "headerName": "x-api-key",
        "headersFromMetadataEntry": { "x-plan": { "name": "plan" } },
        "forwardKey": true,
        "anonymous": true,
    });
    assert_eq!(fields["spec"]["configs"], json!([{ "apiKeyAuth": auth }]));
    let kind = kind::by_name("AuthConfig").expect("a kind");
    admit(kind, "team", Some("keys"), fields).expect("it is valid");
}

#[test]
fn a_secret_has_a_name_and_a_namespace() {
    let error = |args: KeyAuthArgs| args.fields().expect_err("a mistake").to_string();
    let both = "provide both a secret namespace [team] and secret name []\n";
    assert!(error(named(None, Some("team"))).starts_with(both));
    assert!(error(named(Some("a"), None)).contains("namespace [] and secret name [a]"));
    assert!(error(KeyAuthArgs::default()).starts_with("nothing says which keys are valid\n"));
}
