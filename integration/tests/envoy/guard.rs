//! The guard behind the filter: whatever becomes of the filter, nobody passes without an identity.

use std::time::{Duration, Instant};

use keyward_integration::headers::Headers;
use keyward_integration::paths::faulty_filter_wasm;
use keyward_integration::stack::{Options, Stack, wait};
use serde_json::json;

use crate::kit::{
    HOST, OPEN_HOST, SOON, ask, at_once, auth_config, eventually, secret, secured, site, virtual_service,
};

fn faulty() -> Stack {
    let filter = Some(faulty_filter_wasm().unwrap());
    Stack::start(Options { filter, concurrency: 1, ..Options::default() }).unwrap()
}

#[test]
fn a_filter_that_lets_pass_undecided_is_denied_by_the_guard() {
    let stack = faulty();
    site(&stack, &[("alice", "alice-key")]);
    let bypass = Headers::new().with("x-keyward-fault", "bypass");
    let attempts = [
        bypass.clone(),
        bypass.clone().with("api-key", "wrong"),
        bypass.clone().with("api-key", "alice-key"),
        bypass.clone().with("x-user-id", "root"),
        bypass.clone().with("X-User-Id", "root").with("x-user-id", "alice"),
        bypass.with("x_user_id", "root"),
    ];
    for headers in &attempts {
        let (response, arrived) = stack.send(HOST, "/", headers).unwrap();
        assert_eq!(response.status, 403, "{headers:?}");
        assert!(arrived.is_none(), "{headers:?} reached the upstream");
    }
    at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
    at_once(&stack, HOST, Some("wrong"), Err(401));
}

#[test]
fn a_trap_fails_closed_and_the_vm_comes_back() {
    let stack = faulty();
    site(&stack, &[("alice", "alice-key")]);
    for round in 0..3 {
        let trap = Headers::new().with("api-key", "alice-key").with("x-keyward-fault", "trap");
        let (response, arrived) = stack.send(HOST, "/", &trap).unwrap();
        assert_eq!(response.status, 503, "round {round}");
        assert!(arrived.is_none());
        let trapped = Instant::now();
        wait::until(SOON, "the VM to come back", || {
            // Nobody may pass without a key meanwhile; and who has one is not told that it is wrong.
            for key in [None, Some("wrong")] {
                let got = ask(&stack, HOST, key)?;
                assert!(matches!(got, Err(401 | 403 | 503)), "without a right key: {got:?}");
            }
            let got = ask(&stack, HOST, Some("alice-key"))?;
            assert!(matches!(got.as_deref(), Ok("alice") | Err(503)), "with the right key: {got:?}");
            at_once(&stack, OPEN_HOST, None, Ok(""));
            anyhow::ensure!(got.is_ok(), "{got:?}");
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error:#}\n{}", stack.logs()));
        eprintln!("round {round}: back after {:?}", trapped.elapsed());
    }
    at_once(&stack, HOST, Some("wrong"), Err(401));
    stack.rest().apply(&secret("bob", "bob-key")).unwrap();
    eventually(&stack, HOST, Some("bob-key"), Ok("bob"));
}

#[test]
fn a_filter_that_does_not_load_denies_secured_routes_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    // Not WebAssembly at all; and a module that is valid, and no filter.
    for (name, bytes) in [("garbage.wasm", b"garbage".as_slice()), ("empty.wasm", b"\0asm\x01\0\0\0")] {
        let filter = folder.path().join(name);
        std::fs::write(&filter, bytes).unwrap();
        let stack = Stack::start(Options { filter: Some(filter), ..Options::default() }).unwrap();
        stack.rest().apply(&secret("alice", "alice-key")).unwrap();
        stack.rest().apply(&auth_config()).unwrap();
        let routes = [("/off", json!({ "extauth": { "disable": true } })), ("/", json!({}))];
        stack.rest().apply(&virtual_service("site", &[HOST], secured(), &routes)).unwrap();
        stack.rest().apply(&virtual_service("open", &[OPEN_HOST], json!({}), &routes)).unwrap();
        eventually(&stack, OPEN_HOST, None, Ok(""));
        let denied = |headers: &Headers| {
            let (response, arrived) = stack.send(HOST, "/", headers).unwrap();
            assert!(matches!(response.status, 403 | 500 | 503), "{name}: {}", response.status);
            assert!(arrived.is_none(), "{name}: {headers:?} reached the upstream");
        };
        wait::throughout(Duration::from_millis(500), || {
            denied(&Headers::new());
            denied(&Headers::new().with("api-key", "alice-key"));
            denied(&Headers::new().with("x-user-id", "alice"));
            Ok(())
        })
        .unwrap();
        let (response, arrived) =
            stack.send(HOST, "/off", &Headers::new().with("x-user-id", "root")).unwrap();
        assert_eq!(response.status, 200, "{name}: a route with auth disabled");
        assert!(arrived.unwrap().headers.all("x-user-id").is_empty());
        at_once(&stack, OPEN_HOST, None, Ok(""));
    }
}

#[test]
fn a_proxy_that_refused_a_filter_takes_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let garbage = folder.path().join("garbage.wasm");
    std::fs::write(&garbage, "garbage").unwrap();
    let mut stack = Stack::start(Options { filter: Some(garbage), ..Options::default() }).unwrap();
    stack.rest().apply(&secret("alice", "alice-key")).unwrap();
    stack.rest().apply(&auth_config()).unwrap();
    stack.rest().apply(&virtual_service("site", &[HOST], secured(), &[("/", json!({}))])).unwrap();
    wait::until(SOON, "the route to exist, denied", || {
        let got = ask(&stack, HOST, Some("alice-key"))?;
        anyhow::ensure!(matches!(got, Err(403 | 500 | 503)), "{got:?}");
        Ok(())
    })
    .unwrap();
    let envoy = stack.envoy_pid().unwrap();
    stack.kill_server().unwrap();
    stack.set_filter(None);
    stack.start_server().unwrap();
    eventually(&stack, HOST, Some("alice-key"), Ok("alice"));
    eventually(&stack, HOST, None, Err(401));
    assert_eq!(stack.envoy_pid().unwrap(), envoy, "it is the same Envoy that had refused");
}
