//! Whoever may declare routes must not reach through the gateway what they may not reach themselves: the
//! REST API, which trusts who is on this machine, the port for proxies, and Envoy's admin.

use std::net::SocketAddr;

use anyhow::ensure;
use keyward_integration::headers::Headers;
use keyward_integration::stack::{Options, Stack, wait};
use serde_json::{Value, json};

use crate::kit::{SOON, site};

/// A name of which the control server knows nothing.
const SNEAKY: &str = "sneaky.test";
const SECRETS: &str = "/api/v1/secrets";
const KEY: &str = "alice-key-that-nobody-may-see";

/// Routes `<name>.test` to a host.
fn lead(stack: &Stack, name: &str, addr: &str, port: u16) {
    let of = |kind: &str, group: &str, spec: Value| {
        json!({
            "apiVersion": format!("{group}.keyward.io/v1"), "kind": kind,
            "metadata": { "namespace": "team", "name": name }, "spec": spec,
        })
    };
    let upstream = json!({ "static": { "hosts": [{ "addr": addr, "port": port }] } });
    stack.rest().apply(&of("Upstream", "service", upstream)).unwrap();
    let route = json!({
        "matchers": [{ "prefix": "/" }],
        "routeAction": { "single": { "upstream": { "namespace": "team", "name": name } } },
    });
    let host = json!({ "virtualHost": { "domains": [format!("{name}.test")], "routes": [route] } });
    stack.rest().apply(&of("VirtualService", "gateway", host)).unwrap();
}

/// Waits until a request through the gateway has this answer, without a word of the Secret.
fn answers(stack: &Stack, name: &str, path: &str, status: u16) {
    let answered = wait::until(SOON, &format!("{name} to answer {status}"), || {
        let (response, _) = stack.send(&format!("{name}.test"), path, &Headers::new())?;
        let body = String::from_utf8_lossy(&response.body).into_owned();
        ensure!(response.status == status, "{}: {body}", response.status);
        Ok(body)
    });
    let body = answered.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    assert!(!body.contains("alice"), "{body}");
}

#[test]
fn an_upstream_that_is_a_port_of_keyward_is_rejected() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", KEY)]);
    let (rest, xds, admin) = (stack.rest().address(), stack.xds(), stack.admin());
    let cases: [(&str, &str, SocketAddr, &str); 8] = [
        ("rest", "127.0.0.1", rest, "is Keyward's own REST API"),
        ("mapped", "::ffff:127.0.0.1", rest, "is Keyward's own REST API"),
        ("other", "127.9.9.9", rest, "is Keyward's own REST API"),
        ("any", "0.0.0.0", rest, "is Keyward's own REST API"),
        ("named", "LocalHost", rest, "is Keyward's own REST API"),
        ("xds", "127.0.0.1", xds, "is Keyward's own xDS port"),
        ("admin", "127.0.0.1", admin, "is Keyward's own Envoy admin"),
        ("perhaps", SNEAKY, admin, "may turn out to be Keyward's own Envoy admin"),
    ];
    for (name, addr, address, why) in cases {
        lead(&stack, name, addr, address.port());
        let stands = wait::until(SOON, &format!("{name} to be rejected"), || {
            let (state, reason) = stack.rest().status("Upstream", "team", name)?;
            ensure!(state == "Rejected" && reason.contains(why), "{state}: {reason}");
            let (state, reason) = stack.rest().status("VirtualService", "team", name)?;
            ensure!(state == "Warning" && reason.contains("is rejected"), "{state}: {reason}");
            Ok(())
        });
        stands.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
        let path = if address == admin { "/config_dump" } else { SECRETS };
        answers(&stack, name, path, 503);
    }
}
