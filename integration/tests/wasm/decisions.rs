//! What was decided, as the proxy shows it: counts by AuthConfig and reason, and notes for an access log.

use std::collections::BTreeMap;
use std::time::Duration;

use keyward_filter_core::config::{FilterConfig, Policy, Step};
use keyward_integration::headers::Headers;
use keyward_integration::wasm_host::{Host, Vm};

use crate::kit::{ROUTE, TABLE, config, entries, json, open_stream, send_snapshot, start, with_key};

fn logging() -> Vm {
    let config = FilterConfig { access_log: true, ..config(1) };
    let mut vm = Vm::start(&Host::load().unwrap(), &json(&config)).unwrap();
    let stream = open_stream(&mut vm);
    send_snapshot(&mut vm, stream, &entries(&[("alice-key", "alice")]));
    vm
}

/// What was decided, as the proxy shows it after the next tick.
fn shown(vm: &mut Vm) -> BTreeMap<String, u64> {
    vm.advance(Duration::from_millis(500)).unwrap();
    let named =
        |(name, value): (&String, &u64)| Some((name.strip_prefix("keyward.decisions.")?.to_owned(), *value));
    vm.metrics().iter().filter_map(named).collect()
}

#[test]
fn decisions_are_shown_by_auth_config_and_reason_whoever_asks_for_what() {
    let mut vm = start();
    let stream = open_stream(&mut vm);
    // Waits until it has waited long enough.
    let waiting = vm.request(ROUTE, with_key("alice-key")).unwrap();
    vm.advance(Duration::from_secs(6)).unwrap();
    assert_eq!(vm.outcome(waiting.id).unwrap().local().unwrap().status, 503);
    vm.end(waiting.id).unwrap();
    send_snapshot(&mut vm, stream, &entries(&[("alice-key", "alice")]));
    for (route, headers) in [
        (ROUTE, with_key("alice-key")),
        (ROUTE, with_key("alice-key")),
        (ROUTE, with_key("wrong")),
        (ROUTE, Headers::new()),
        ("team/gone|r", with_key("alice-key")),
        ("no-separator", with_key("alice-key")),
    ] {
        vm.round_trip(route, headers).unwrap();
    }
    let expected = [
        ("none|no_policy", 1),
        ("team/gone|no_policy", 1),
        ("team/keys|allowed", 2),
        ("team/keys|missing", 1),
        ("team/keys|unavailable", 1),
        ("team/keys|unknown", 1),
    ];
    let expected: BTreeMap<_, _> =
        expected.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    assert_eq!(shown(&mut vm), expected);
    // A new configuration counts on.
    let mut next = config(2);
    next.policies.insert("team/more".into(), Policy::of(Step::new("x-key", TABLE)));
    assert!(vm.configure(&json(&next)).unwrap());
    vm.round_trip(ROUTE, with_key("alice-key")).unwrap();
    vm.round_trip("team/more|r", Headers::new()).unwrap();
    let now = shown(&mut vm);
    assert_eq!((now["team/keys|allowed"], now["team/more|missing"]), (3, 1));
}

#[test]
fn an_access_log_is_told_what_was_decided_and_no_more_than_that() {
    let mut vm = logging();
    for (key, expected) in [
        ("alice-key", "auth_config=team/keys identity=alice key_id=72ee9d43 reason=allowed"),
        ("wrong", "auth_config=team/keys reason=unknown"),
        ("", "auth_config=team/keys reason=missing"),
    ] {
        let exchange = vm.request(ROUTE, with_key(key)).unwrap();
        let noted = vm.noted(exchange.id).unwrap();
        let noted = noted.iter().map(|(name, value)| {
            format!("{}={}", name.trim_start_matches("keyward_"), String::from_utf8_lossy(value))
        });
        assert_eq!(noted.collect::<Vec<_>>().join(" "), expected);
        vm.end(exchange.id).unwrap();
    }
    let mut silent = start();
    let stream = open_stream(&mut silent);
    send_snapshot(&mut silent, stream, &entries(&[("alice-key", "alice")]));
    let exchange = silent.request(ROUTE, with_key("alice-key")).unwrap();
    assert_eq!(silent.noted(exchange.id).unwrap(), BTreeMap::new());
}
