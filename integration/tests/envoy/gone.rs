//! What goes though something of it stays: the proof says so when nothing of it works any more, and not before.

use keyward_integration::stack::{Options, Stack};
use rustix::process::Signal;
use serde_json::json;

use crate::kit::{HOST, OwnProxy, at_once, secret, site};
use crate::sync::{SECRETS, create, everywhere, start, sync, whole, write};

#[test]
fn a_key_is_revoked_with_the_deletion_of_its_secret_though_a_finalizer_keeps_that() {
    let stack = start();
    let mut held = secret("ann", "ann-key");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    whole(&stack, &write(&stack, "POST", &format!("{SECRETS}?wait=15s"), Some(&held)));
    everywhere(&stack, "ann-key", Ok("ann"));
    whole(&stack, &write(&stack, "DELETE", &format!("{SECRETS}/ann?wait=15s"), None));
    everywhere(&stack, "ann-key", Err(401));
    let (state, reason) = stack.rest().status("Secret", "team", "ann").unwrap();
    assert!(state == "Warning" && reason.contains("example.com/hold"), "{state}: {reason}");
    everywhere(&stack, "steady-key", Ok("steady"));
}

#[test]
fn a_proxy_whose_role_is_served_no_more_is_waited_for() {
    let stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    let gateway = json!({
        "apiVersion": "gateway.keyward.io/v1",
        "kind": "Gateway",
        "metadata": { "namespace": "team", "name": "edge" },
        "spec": {
            "bindAddress": "127.0.0.1", "bindPort": stack.gateway().port(), "proxyNames": ["edge"],
            "httpGateway": {},
        },
    });
    stack.rest().apply(&gateway).unwrap();
    let edge = OwnProxy::start(&stack, "keyward-system~edge");
    site(&stack, &[("steady", "steady-key")]);
    whole(&stack, &create(&stack, "ann", "ann-key"));

    edge.signal(Signal::STOP);
    let path = "/apis/gateway.keyward.io/v1/namespaces/team/gateways/edge";
    let proof = write(&stack, "DELETE", &format!("{path}?wait=1s"), None);
    assert!(!proof.synced && proof.warning.contains("not in force"), "{proof:?}");
    // Its routes are there, and its keys with them.
    let proof = write(&stack, "DELETE", &format!("{SECRETS}/ann?wait=1s"), None);
    assert!(!proof.synced && proof.warning.contains("have not confirmed"), "{proof:?}");

    edge.signal(Signal::CONT);
    let (status, answer) = sync(&stack, "?wait=15s");
    assert_eq!(status, 200, "{answer:#}\n{}", stack.logs());
    for key in ["ann-key", "steady-key"] {
        at_once(&stack, HOST, Some(key), Err(500));
    }
}
