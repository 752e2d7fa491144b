//! What the filter counts, in Envoy's statistics.

use std::time::{Duration, Instant};

use keyward_integration::headers::Headers;
use keyward_integration::stack::{Options, Stack, wait};

use crate::kit::{HOST, OPEN_HOST, SOON, at_once, eventually, secret, site};

fn wait_for(stack: &Stack, name: &str, expected: u64) {
    let reached = wait::until(SOON, &format!("{name} to be {expected}"), || {
        let value = stack.proxy().stat(&format!("wasmcustom.keyward.{name}"))?;
        anyhow::ensure!(value == expected, "it is {value}");
        Ok(())
    });
    reached.unwrap_or_else(|error| panic!("{error:#}\n{:?}", stack.proxy().stats()));
}

#[test]
fn every_outcome_is_counted_once_under_its_name() {
    let mut stack = Stack::start(Options { concurrency: 2, ..Options::default() }).unwrap();
    site(&stack, &[("alice", "alice-key"), ("bob", "bob-key")]);
    // Two workers and the main thread.
    wait_for(&stack, "streams_connected", 3);
    wait_for(&stack, "keys", 2);
    let names = [
        "allowed",
        "denied.missing",
        "denied.unknown",
        "denied.forbidden",
        "unavailable",
        "denied.expired",
        "denied.disabled",
        "denied.not_yet_valid",
    ];
    let counts = |stack: &Stack| {
        let stats = stack.proxy().stats().unwrap();
        names.map(|name| stats.get(&format!("wasmcustom.keyward.{name}")).copied().unwrap_or(0))
    };
    // Each worker shows what it counted twice a second.
    let mut seen = (counts(&stack), Instant::now());
    let quiet = wait::until(SOON, "the counts to rest", || {
        let now = counts(&stack);
        if now != seen.0 {
            seen = (now, Instant::now());
        }
        anyhow::ensure!(seen.1.elapsed() > Duration::from_secs(2), "they move");
        Ok(now)
    });
    let before = quiet.unwrap();
    for _ in 0..3 {
        at_once(&stack, HOST, Some("alice-key"), Ok("alice"));
    }
    for _ in 0..2 {
        at_once(&stack, HOST, None, Err(401));
    }
    at_once(&stack, HOST, Some("wrong"), Err(401));
    let (response, _) = stack.send(HOST, "/", &Headers::new().with("api-key", "")).unwrap();
    assert_eq!(response.status, 401);
    at_once(&stack, OPEN_HOST, None, Ok(""));
    let counted = wait::until(SOON, "all to be counted", || {
        let rise: Vec<u64> =
            counts(&stack).iter().zip(before).map(|(after, before)| after - before).collect();
        anyhow::ensure!(rise == [3, 3, 1, 0, 0, 0, 0, 0], "{names:?} rose by {rise:?}");
        Ok(())
    });
    counted.unwrap();

    let revision = stack.proxy().stat("wasmcustom.keyward.tables_revision").unwrap();
    stack.rest().apply(&secret("carol", "carol-key")).unwrap();
    eventually(&stack, HOST, Some("carol-key"), Ok("carol"));
    wait_for(&stack, "keys", 3);
    assert!(stack.proxy().stat("wasmcustom.keyward.tables_revision").unwrap() > revision);

    stack.rest().delete("AuthConfig", "team", "keys").unwrap();
    eventually(&stack, HOST, Some("alice-key"), Err(403));
    let forbidden = wait::until(SOON, "denied.forbidden to be counted", || {
        anyhow::ensure!(counts(&stack)[3] > 0, "it is not");
        Ok(())
    });
    forbidden.unwrap();

    stack.kill_server().unwrap();
    wait_for(&stack, "streams_connected", 0);
    stack.start_server().unwrap();
    wait_for(&stack, "streams_connected", 3);
}
