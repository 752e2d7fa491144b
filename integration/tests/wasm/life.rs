//! When keys are valid, by the clock of the proxy alone.

use std::time::Duration;

use keyward_filter_core::key::digest;
use keyward_filter_core::life::Life;
use keyward_filter_core::record;
use keyward_filter_core::wire::Digest;
use keyward_integration::wasm_host::Vm;

use crate::kit::{ROUTE, ask, open_stream, send_snapshot, start, with_key};

/// What the clock of a VM shows when it starts, and three seconds more until the stream is open.
const START_MS: u64 = 1_700_000_003_000;

fn entry(key: &str, who: &str, life: Life) -> (Digest, Vec<u8>) {
    (digest(key.as_bytes()), record::pack(life, who, []))
}

/// One key of each sort.
fn filled() -> Vm {
    let mut vm = start();
    let stream = open_stream(&mut vm);
    let entries = [
        entry("plain", "ann", Life::ALWAYS),
        entry("ends", "bob", Life { expires_at: Some(START_MS + 2_000), ..Life::ALWAYS }),
        entry("begins", "cat", Life { not_before: Some(START_MS + 2_000), ..Life::ALWAYS }),
        entry("off", "dan", Life { disabled: true, ..Life::ALWAYS }),
    ];
    send_snapshot(&mut vm, stream, &entries);
    // From here on nobody says anything any more.
    vm.grpc_close(stream, 14).unwrap();
    vm
}

fn fates(vm: &mut Vm) -> [Result<String, u32>; 4] {
    ["plain", "ends", "begins", "off"].map(|key| ask(vm, key))
}

#[test]
fn a_key_begins_and_ends_by_itself_while_the_control_server_is_away() {
    let ok = |who: &str| Ok(who.to_owned());
    let mut vm = filled();
    assert_eq!(fates(&mut vm), [ok("ann"), ok("bob"), Err(401), Err(401)]);
    vm.advance(Duration::from_millis(1_999)).unwrap();
    assert_eq!(fates(&mut vm), [ok("ann"), ok("bob"), Err(401), Err(401)]);
    vm.advance(Duration::from_millis(1)).unwrap();
    assert_eq!(fates(&mut vm), [ok("ann"), Err(401), ok("cat"), Err(401)]);
    // Counts are shown with the next tick.
    vm.advance(Duration::from_millis(500)).unwrap();
    for (name, expected) in [("expired", 1), ("not_yet_valid", 2), ("disabled", 3), ("unknown", 0)] {
        assert_eq!(vm.metric(&format!("keyward.denied.{name}")), Some(expected), "{name}");
    }
}

#[test]
fn the_access_log_is_told_why_and_the_client_is_not() {
    let mut vm = filled();
    let mut replies = Vec::new();
    for (key, expected) in
        [("", "missing"), ("nobody", "unknown"), ("begins", "not-yet-valid"), ("off", "disabled")]
    {
        let exchange = vm.round_trip(ROUTE, with_key(key)).unwrap();
        let mut reply = exchange.outcome.local().expect("a denial").clone();
        assert_eq!(std::mem::take(&mut reply.details), format!("keyward_{expected}"), "{key}");
        replies.push(reply);
    }
    assert!(replies.windows(2).all(|pair| pair[0] == pair[1]), "{replies:?}");
}

#[test]
fn only_a_key_that_has_a_time_costs_a_look_at_the_clock() {
    let mut vm = filled();
    let mut looks = |key: &str| {
        let exchange = vm.round_trip(ROUTE, with_key(key)).unwrap();
        exchange.calls.get("proxy_get_current_time_nanoseconds").copied().unwrap_or(0)
    };
    assert_eq!(["plain", "nobody", "off", "ends", "begins"].map(&mut looks), [0, 0, 0, 1, 1]);
}
