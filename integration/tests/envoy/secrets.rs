//! Keys leave the control server as digests only: every output of every process is searched for them.

use keyward_integration::headers::Headers;
use keyward_integration::stack::{Options, Stack};
use serde_json::json;

use crate::kit::{HOST, OwnProxy, eventually, secret, site, virtual_service};

/// Every way in which a key could be written down.
fn spellings(key: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut spellings = vec![key.to_vec(), hex.to_uppercase().into_bytes(), hex.into_bytes()];
    // Base64 at each of the three alignments that it can have inside a longer text, less the
    // characters at its ends that depend on what stands around.
    for shift in 0..3 {
        let mut padded = vec![0; shift];
        padded.extend_from_slice(key);
        let encoded = crate::kit::base64(&padded);
        let inner = encoded.get(shift * 2..encoded.len() - 4).unwrap_or_default();
        spellings.push(inner.as_bytes().to_vec());
    }
    spellings.push(key.escape_ascii().to_string().into_bytes());
    spellings
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[test]
fn no_output_of_any_process_holds_a_key() {
    let stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    let own = OwnProxy::start(&stack, "keyward-system~gateway-proxy");
    // Right keys, a shared one, malformed ones, forwarded ones, and ones that only clients say.
    let mut all: Vec<Vec<u8>> = Vec::new();
    let mut key = |name: &str| {
        let key = format!("{name}-Zq7vXw2Tn8Lb4Rk6");
        all.push(key.clone().into_bytes());
        key
    };
    let alice = key("alice");
    site(&stack, &[("alice", &alice), ("bob", &key("bob"))]);
    let shared = key("shared");
    for name in ["carol", "dave"] {
        stack.rest().apply(&secret(name, &shared)).unwrap();
    }
    let line = key("line");
    stack.rest().apply(&secret("line", &format!("{line}\n"))).unwrap();
    let long = key("long");
    assert!(stack.rest().apply(&secret("long", &long.repeat(300))).is_err());
    let mut not_a_key = secret("not-a-key", "");
    not_a_key["stringData"] = json!({ "password": key("password") });
    stack.rest().apply(&not_a_key).unwrap();
    let refused = key("refused");
    let mut bad = secret("refused", &refused);
    bad["stringData"]["not/valid"] = refused.clone().into();
    bad["data"] = json!({ "api-key": format!("{refused}!") });
    assert!(stack.rest().apply(&bad).is_err());
    let deleted = key("deleted");
    stack.rest().apply(&secret("deleted", &deleted)).unwrap();
    eventually(&stack, HOST, Some(&deleted), Ok("deleted"));
    stack.rest().delete("Secret", "team", "deleted").unwrap();
    eventually(&stack, HOST, Some(&deleted), Err(401));
    eventually(&stack, HOST, Some(&shared), Ok("carol"));
    eventually(&stack, HOST, Some(&line), Ok("line"));
    let forward = json!({
        "apiVersion": "enterprise.keyward.io/v1",
        "kind": "AuthConfig",
        "metadata": { "namespace": "team", "name": "forward" },
        "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "a" }, "forwardKey": true } }] },
    });
    stack.rest().apply(&forward).unwrap();
    let options = json!({ "extauth": { "configRef": { "namespace": "team", "name": "forward" } } });
    let service = virtual_service("forward", &["forward.test"], options, &[("/", json!({}))]);
    stack.rest().apply(&service).unwrap();
    eventually(&stack, "forward.test", Some(&alice), Ok("alice"));
    let wrong = key("wrong");
    eventually(&stack, HOST, Some(&wrong), Err(401));
    let mut bytes = b"\xff\xfe".to_vec();
    bytes.extend_from_slice(key("bytes").as_bytes());
    let (response, _) = stack.send(HOST, "/", &Headers::new().with("api-key", &bytes)).unwrap();
    assert_eq!(response.status, 401);

    let mut outputs = vec![
        ("log of the control server", std::fs::read(stack.folder().join("server.log")).unwrap()),
        ("log of Envoy", std::fs::read(own.folder().join("envoy.log")).unwrap()),
        ("xDS and key streams", own.tap.recorded()),
        ("metrics of the control server and statuses", statuses(&stack)),
    ];
    for path in
        ["/config_dump?include_eds", "/stats", "/stats/prometheus", "/clusters", "/listeners", "/server_info"]
    {
        outputs.push((path, own.proxy.get(path).unwrap().into_bytes()));
    }
    for (what, bytes) in &outputs {
        assert!(bytes.len() > 10, "{what} is empty: nothing was searched");
        for key in &all {
            for spelling in spellings(key) {
                let found = contains(bytes, &spelling);
                assert!(!found, "{what} holds {}", spelling.escape_ascii());
            }
        }
    }
    // The search would find something: the identities are there, and the digests.
    let streams = &outputs[2].1;
    assert!(contains(streams, b"alice") && contains(streams, &keyward_filter_core::key::digest(&all[0])));
}

/// The status of every object, but not the Secrets themselves: their owner may read them.
fn statuses(stack: &Stack) -> Vec<u8> {
    let mut texts = String::new();
    for name in stack.rest().names("Secret", "team").unwrap() {
        texts += &stack.rest().get("Secret", "team", &name).unwrap()["status"].to_string();
    }
    for (kind, name) in [("AuthConfig", "keys"), ("AuthConfig", "forward"), ("VirtualService", "site")] {
        texts += &stack.rest().get(kind, "team", name).unwrap().to_string();
    }
    texts.into_bytes()
}
