//! What a proxy refuses although it is valid stands in the status of the one object that it is the fault
//! of, whose last good version serves on, and nobody else notices.

use std::net::SocketAddr;

use anyhow::ensure;
use keyward_integration::paths;
use keyward_integration::stack::{Options, Stack, wait};
use serde_json::{Value, json};

use crate::kit::{HOST, OPEN_HOST, OwnProxy, SOON, at_once, site, virtual_service};
use crate::tls::{NAME, eventually, start, text, with_tls};

/// The host of a neighbour on the same listener.
const NEIGHBOUR: &str = "localhost";

/// A virtual service that answers with this status, with a certificate from files that only the proxy
/// reads: nobody can tell before whether they are any good.
fn answering(name: &str, host: &str, status: u16, cert: &str, key: &str) -> Value {
    let ssl = json!({ "sslFiles": { "tlsCert": cert, "tlsKey": key }, "sniDomains": [host] });
    let mut service = with_tls(name, host, json!({}), ssl);
    service["spec"]["virtualHost"]["routes"] =
        json!([{ "matchers": [{ "prefix": "/" }], "directResponseAction": { "status": status } }]);
    service
}

fn good(name: &str, host: &str, status: u16) -> Value {
    let file = |name: &str| paths::testdata("tls").join(name).display().to_string();
    answering(name, host, status, &file("web.crt"), &file("web.key"))
}

/// Where no file is.
fn nowhere(name: &str) -> String {
    paths::testdata("nowhere").join(name).display().to_string()
}

/// Waits until the status of a virtual service is this one, with this in its reason.
fn stands(stack: &Stack, name: &str, state: &str, reason: &str) -> String {
    let stood = wait::until(SOON, &format!("{name} to be {state}"), || {
        let (now, why) = stack.rest().status("VirtualService", "team", name)?;
        ensure!(now == state && why.contains(reason), "{now}: {why}");
        Ok(why)
    });
    stood.unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()))
}

fn both(stack: &Stack, address: SocketAddr, site: u16, neighbour: u16) {
    eventually(stack, address, NAME, "web", site);
    eventually(stack, address, NEIGHBOUR, "web", neighbour);
}

#[test]
fn what_a_proxy_refuses_is_withheld_alone_until_it_is_corrected() {
    let (mut stack, address) = start();
    stack.rest().apply(&good("site", NAME, 210)).unwrap();
    stack.rest().apply(&good("neighbour", NEIGHBOUR, 210)).unwrap();
    both(&stack, address, 210, 210);

    // One after the other without a pause: they go out together, or nearly.
    stack.rest().apply(&answering("site", NAME, 211, &nowhere("tls.crt"), &nowhere("tls.key"))).unwrap();
    stack.rest().apply(&good("neighbour", NEIGHBOUR, 211)).unwrap();
    let reason = stands(&stack, "site", "Rejected", "/nowhere/");
    assert!(reason.contains("refuses it"), "{reason}");
    assert!(reason.contains("the last good version, generation 1, is served instead"), "{reason}");
    stands(&stack, "neighbour", "Accepted", "");
    both(&stack, address, 210, 211);
    let logs = stack.logs();
    assert!(logs.contains("a proxy refused configuration"), "{logs}");
    assert!(logs.contains("VirtualService team/site"), "{logs}");
    assert!(logs.contains("its last good version serves"), "{logs}");

    stack.rest().apply(&good("neighbour", NEIGHBOUR, 212)).unwrap();
    both(&stack, address, 210, 212);

    // It is as refused after a restart, and the version before it is not forgotten.
    stack.kill_server().unwrap();
    stack.kill_envoy().unwrap();
    stack.start_server().unwrap();
    both(&stack, address, 210, 212);
    stands(&stack, "site", "Rejected", "/nowhere/");
    stands(&stack, "neighbour", "Accepted", "");

    stack.rest().apply(&good("site", NAME, 213)).unwrap();
    both(&stack, address, 213, 212);
    stands(&stack, "site", "Accepted", "");
}

/// Its operator has not told this Envoy how large regular expressions may be, so it refuses routes that
/// are as valid as any, in the words of its own validation.
fn with_large_regex(prefix: &str) -> Value {
    let mut service = virtual_service("open", &[OPEN_HOST], json!({}), &[("/", json!({}))]);
    let mut large = service["spec"]["virtualHost"]["routes"][0].clone();
    large["matchers"] = json!([{ "regex": format!("{prefix}/[a-f0-9]{{200}}") }]);
    service["spec"]["virtualHost"]["routes"] = json!([large]);
    service
}

fn small() -> Value {
    virtual_service("open", &[OPEN_HOST], json!({}), &[("/", json!({}))])
}

#[test]
fn a_route_that_a_proxy_refuses_is_withheld_alone_also_when_the_server_starts_anew() {
    const WORDS: &str = "program size";
    const ROLE: &str = "keyward-system~gateway-proxy";
    let mut stack = Stack::start(Options { no_envoy: true, ..Options::default() }).unwrap();
    let proxy = OwnProxy::start(&stack, ROLE);
    site(&stack, &[("alice", "alice-key")]);
    stack.rest().apply(&virtual_service("other", &["other.test"], json!({}), &[("/", json!({}))])).unwrap();
    crate::kit::eventually(&stack, "other.test", None, Ok(""));

    stack.rest().apply(&with_large_regex("/first")).unwrap();
    stack.rest().apply(&virtual_service("other", &["new.test"], json!({}), &[("/", json!({}))])).unwrap();
    let reason = stands(&stack, "open", "Rejected", WORDS);
    assert!(reason.contains("proxy test-proxy refuses it"), "{reason}");
    assert!(reason.contains("the last good version, generation 1, is served instead"), "{reason}");
    // Its neighbours in the same RouteConfiguration change as if nothing was.
    crate::kit::eventually(&stack, "new.test", None, Ok(""));
    crate::kit::eventually(&stack, OPEN_HOST, None, Ok(""));
    at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
    for name in ["site", "other"] {
        stands(&stack, name, "Accepted", "");
    }

    stack.rest().apply(&small()).unwrap();
    stands(&stack, "open", "Accepted", "");
    crate::kit::eventually(&stack, OPEN_HOST, None, Ok(""));

    // The server publishes a version, and dies before any proxy has said what it thinks of it.
    drop(proxy);
    stack.rest().apply(&with_large_regex("/second")).unwrap();
    stands(&stack, "open", "Accepted", "");
    for proxies in 0..2 {
        stack.kill_server().unwrap();
        stack.start_server().unwrap();
        let _proxy = OwnProxy::start(&stack, ROLE);
        let reason = stands(&stack, "open", "Rejected", WORDS);
        assert!(reason.contains("the last good version, generation"), "start {proxies}: {reason}");
        for host in [OPEN_HOST, "new.test"] {
            crate::kit::eventually(&stack, host, None, Ok(""));
        }
        crate::kit::eventually(&stack, HOST, Some("alice-key"), Ok("alice"));
        for name in ["site", "other"] {
            stands(&stack, name, "Accepted", "");
        }
    }
    let _proxy = OwnProxy::start(&stack, ROLE);
    stack.rest().apply(&small()).unwrap();
    stands(&stack, "open", "Accepted", "");
    crate::kit::eventually(&stack, OPEN_HOST, None, Ok(""));
}

#[test]
fn a_refusal_tells_no_key() {
    let (stack, address) = start();
    stack.rest().apply(&good("site", NAME, 210)).unwrap();
    eventually(&stack, address, NAME, "web", 210);
    let file = |name: &str| paths::testdata("tls").join(name).display().to_string();
    for (round, (cert, key)) in
        [("web.key", "web.crt"), ("web.crt", "foreign.key"), ("web.key", "web.key")].into_iter().enumerate()
    {
        let cert_path = file(cert);
        stack.rest().apply(&answering("site", NAME, 211, &cert_path, &file(key))).unwrap();
        let reason = stands(&stack, "site", "Rejected", "refuses it");
        assert!(reason.len() < 4096, "round {round}: {reason}");
        let said = format!("{reason}\n{}", stack.logs());
        for line in ["web.key", "foreign.key", "web.crt"].map(text).iter().flat_map(|text| text.lines()) {
            assert!(line.starts_with('-') || !said.contains(line), "round {round}: {line} is told");
        }
        assert!(!said.contains("-----BEGIN"), "round {round}");
        eventually(&stack, address, NAME, "web", 210);
        stack.rest().apply(&good("site", NAME, 210)).unwrap();
        stands(&stack, "site", "Accepted", "");
    }
}

#[test]
fn the_last_good_version_of_who_lost_a_conflict_outlives_the_server() {
    let mut stack = Stack::start(Options::default()).unwrap();
    site(&stack, &[]);
    let routes = [("/", json!({}))];
    stack.rest().apply(&virtual_service("loser", &["loser.test"], json!({}), &routes)).unwrap();
    crate::kit::eventually(&stack, "loser.test", None, Ok(""));
    // It wants what an older one has, and would give up what it had.
    stack.rest().apply(&virtual_service("loser", &[OPEN_HOST, "new.test"], json!({}), &routes)).unwrap();
    for restart in [false, true, true] {
        if restart {
            stack.kill_server().unwrap();
            stack.kill_envoy().unwrap();
            stack.start_server().unwrap();
            stack.wait_for_gateway().unwrap();
        }
        let reason = stands(&stack, "loser", "Rejected", OPEN_HOST);
        assert!(reason.contains("the last good version, generation 1, is served instead"), "{reason}");
        crate::kit::eventually(&stack, "loser.test", None, Ok(""));
        crate::kit::eventually(&stack, OPEN_HOST, None, Ok(""));
        crate::kit::eventually(&stack, HOST, None, Err(401));
        // What is left of its new domains is nobody's, and no wildcard's.
        at_once(&stack, "new.test", None, Err(403));
    }
    stack.rest().apply(&virtual_service("loser", &["new.test"], json!({}), &routes)).unwrap();
    crate::kit::eventually(&stack, "new.test", None, Ok(""));
    crate::kit::eventually(&stack, "loser.test", None, Err(404));
    stands(&stack, "loser", "Accepted", "");
}
