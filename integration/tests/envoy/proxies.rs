//! What the control server tells Envoys, and what they say back.

use std::io::Write as _;
use std::time::Duration;

use keyward_integration::headers::Headers;
use keyward_integration::stack::{Options, Stack, wait};
use serde_json::json;

use crate::kit::{HOST, OwnProxy, SOON, at_once, eventually, secret, site};

#[test]
fn a_proxy_of_an_unknown_role_is_told_what_is_wrong_and_nothing_else() {
    let stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    let wrong = OwnProxy::start(&stack, "keyward-system~no-such-proxy");
    let told = wait::until(SOON, "the fallback to answer", || {
        let (response, arrived) = stack.send(HOST, "/any", &Headers::new())?;
        assert!(arrived.is_none());
        Ok(response)
    });
    let told = told.unwrap();
    assert_eq!(told.status, 500);
    let text = String::from_utf8_lossy(&told.body).into_owned();
    assert!(text.contains("keyward-system~gateway-proxy"), "it does not say what to set: {text}");
    let config = wrong.proxy.get("/config_dump").unwrap();
    assert!(!config.contains("echo_test"), "it was told of a cluster that is not its own");
    drop(wrong);

    let _right = OwnProxy::start(&stack, "keyward-system~gateway-proxy");
    site(&stack, &[("alice", "alice-key")]);
    at_once(&stack, HOST, None, Err(401));
}

#[test]
fn what_envoy_refuses_is_shown_on_the_object_and_hurts_no_other() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    // 192.0.2.0/24 is for documentation: no machine has such an address, so Envoy cannot bind it.
    let gateway = json!({
        "apiVersion": "gateway.keyward.io/v1",
        "kind": "Gateway",
        "metadata": { "namespace": "team", "name": "nowhere" },
        "spec": { "bindAddress": "192.0.2.1", "bindPort": 9, "httpGateway": {} },
    });
    let default = json!({
        "apiVersion": "gateway.keyward.io/v1",
        "kind": "Gateway",
        "metadata": { "namespace": "team", "name": "default" },
        "spec": { "bindAddress": "127.0.0.1", "bindPort": stack.gateway().port(), "httpGateway": {} },
    });
    stack.rest().apply(&default).unwrap();
    stack.rest().apply(&gateway).unwrap();
    let shown = wait::until(SOON, "the refusal to be shown", || {
        let (state, reason) = stack.rest().status("Gateway", "team", "nowhere")?;
        anyhow::ensure!(state == "Rejected" && reason.contains("192.0.2.1"), "{state}: {reason}");
        Ok(())
    });
    shown.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    for name in ["site", "open"] {
        assert_eq!(stack.rest().status("VirtualService", "team", name).unwrap().0, "Accepted");
    }
    assert_eq!(stack.rest().status("Gateway", "team", "default").unwrap().0, "Accepted");
    at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
    stack.rest().apply(&secret("bob", "bob-key")).unwrap();
    eventually(&stack, HOST, Some("bob-key"), Ok("bob"));
    stack.rest().delete("Gateway", "team", "nowhere").unwrap();
    at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
}

/// A Gateway of the installation stands in the place of the default ones, but not one that nobody can
/// listen for: everybody would be without an address.
#[test]
fn a_refused_gateway_of_the_installation_leaves_the_default_ones() {
    let stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[("alice", "alice-key")]);
    at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
    let gateway = json!({
        "apiVersion": "gateway.keyward.io/v1",
        "kind": "Gateway",
        "metadata": { "namespace": "keyward-system", "name": "nowhere" },
        "spec": { "bindAddress": "192.0.2.1", "bindPort": 9, "httpGateway": {} },
    });
    stack.rest().apply(&gateway).unwrap();
    let shown = wait::until(SOON, "the refusal to be shown", || {
        let (state, reason) = stack.rest().status("Gateway", "keyward-system", "nowhere")?;
        anyhow::ensure!(state == "Rejected" && reason.contains("192.0.2.1"), "{state}: {reason}");
        Ok(())
    });
    shown.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
    eventually(&stack, HOST, Some("alice-key"), Ok("alice"));
    stack.rest().apply(&secret("bob", "bob-key")).unwrap();
    eventually(&stack, HOST, Some("bob-key"), Ok("bob"));
    stack.rest().delete("Gateway", "keyward-system", "nowhere").unwrap();
    eventually(&stack, HOST, Some("alice-key"), Ok("alice"));
}

#[test]
fn requests_wait_for_keys_and_get_503_when_none_come() {
    let wait_for_keys = Duration::from_millis(700);
    let stack = Stack::start(Options { no_envoy: true, wait_for_keys, ..Options::default() }).unwrap();
    // The first connection is the main thread's and carries xDS; the workers' carry only keys.
    let own = OwnProxy::start_holding(&stack, "keyward-system~gateway-proxy", 1);
    stack.rest().apply(&secret("alice", "alice-key")).unwrap();
    stack.rest().apply(&crate::kit::auth_config()).unwrap();
    let service = crate::kit::virtual_service("site", &[HOST], crate::kit::secured(), &[("/", json!({}))]);
    stack.rest().apply(&service).unwrap();
    let headers = Headers::new().with("api-key", "alice-key");
    let first = wait::until(SOON, "the route to exist", || {
        let began = std::time::Instant::now();
        let (response, arrived) = stack.send(HOST, "/", &headers)?;
        anyhow::ensure!(response.status != 404, "no route");
        Ok((response, arrived, began.elapsed()))
    });
    let (response, arrived, took) = first.unwrap();
    assert_eq!(response.status, 503);
    assert!(arrived.is_none());
    assert!(response.headers.first("retry-after").is_some(), "{:?}", response.headers);
    assert!(took >= wait_for_keys, "after {took:?} already");
    for key in ["", "wrong", "alice-key"] {
        let (response, _) = stack.send(HOST, "/", &Headers::new().with("api-key", key)).unwrap();
        assert_eq!(response.status, 503, "nobody is told 401 before there are keys");
    }
    let counted = wait::until(SOON, "four requests to be counted", || {
        let unavailable = own.proxy.stat("wasmcustom.keyward.unavailable")?;
        anyhow::ensure!(unavailable >= 4, "it is {unavailable}");
        Ok(())
    });
    counted.unwrap();
    // A request that waits while the keys come is decided.
    let gateway = stack.gateway();
    let waiting = std::thread::spawn(move || {
        let headers = Headers::new().with("host", HOST).with("api-key", "alice-key");
        wait::until(SOON, "a waiting request to pass", || {
            let mut connection = keyward_integration::stack::Connection::open(gateway)?;
            let response = connection.request("GET", "/", &headers)?;
            assert!(matches!(response.status, 200 | 503), "{}", response.status);
            anyhow::ensure!(response.status == 200, "503");
            Ok(())
        })
    });
    // Clients that lose patience while they wait must not take the filter with them.
    for _ in 0..40 {
        let mut left = std::net::TcpStream::connect(gateway).unwrap();
        left.write_all(b"GET / HTTP/1.1\r\nhost: site.test\r\napi-key: alice-key\r\n\r\n").unwrap();
    }
    std::thread::sleep(Duration::from_millis(100));
    own.tap.release();
    waiting.join().unwrap().unwrap();
    eventually(&stack, HOST, Some("wrong"), Err(401));
    eventually(&stack, HOST, Some("alice-key"), Ok("alice"));
    let stats = own.proxy.stats().unwrap();
    let died: Vec<_> =
        stats.iter().filter(|(name, count)| name.contains("vm_reload") && **count > 0).collect();
    assert!(died.is_empty(), "a VM died: {died:?}");
    assert_eq!(stats["wasmcustom.keyward.parked"], 0);
}
