//! Two policies whose keys are the same.

use keyward_filter_core::config::{FilterConfig, Policy, Step};
use keyward_filter_core::wire::{Alias, Delta, server_message};
use keyward_integration::wasm_host::{Host, Outcome, Vm};

use crate::kit::{
    ROUTE, TABLE, config, delta, entries, json, many_entries, open_stream, send, send_snapshot, version,
    with_key,
};

const OTHER: &str = "team/others";
const OTHER_ROUTE: &str = "team/others|team.site/0/1";

fn start() -> Vm {
    let mut policies = config(1).policies;
    policies.insert(OTHER.to_owned(), Policy::of(Step::new("api-key", OTHER)));
    Vm::start(&Host::load().unwrap(), &json(&FilterConfig { policies, ..config(1) })).unwrap()
}

fn is_forwarded(outcome: &Outcome, identity: &str) -> bool {
    outcome.identity() == Some(identity.as_bytes())
}

#[test]
fn an_alias_ends_the_waiting_for_keys_and_takes_no_memory() {
    let mut vm = start();
    let stream = open_stream(&mut vm);
    let mut all = many_entries(100_000);
    all.extend(entries(&[("ann-key", "ann"), ("bob-key", "bob")]));
    send_snapshot(&mut vm, stream, &all);
    let waiting = vm.request(OTHER_ROUTE, with_key("ann-key")).unwrap();
    assert!(matches!(waiting.outcome, Outcome::Paused), "{:?}", waiting.outcome);
    let memory = vm.memory_size();
    let now = version(1, &all);
    let alias = Alias { table: OTHER.to_owned(), of: TABLE.to_owned(), version: Some(now) };
    send(&mut vm, stream, server_message::Kind::Alias(alias));
    assert!(is_forwarded(&vm.outcome(waiting.id).unwrap(), "ann"));
    assert_eq!(vm.memory_size(), memory);

    // One change is a change of both.
    let bob = entries(&[("bob-key", "bob")]);
    let server_message::Kind::Delta(change) = delta((1, &bob), (2, &[])) else { panic!("not a delta") };
    let gone = now.checksum.wrapping_sub(version(1, &bob).checksum);
    let to = keyward_filter_core::wire::Version { revision: 2, checksum: gone };
    let change = Delta { from: Some(now), to: Some(to), also: vec![OTHER.to_owned()], ..change };
    send(&mut vm, stream, server_message::Kind::Delta(change));
    for route in [ROUTE, OTHER_ROUTE] {
        let denied = vm.round_trip(route, with_key("bob-key")).unwrap();
        assert_eq!(denied.outcome.local().map(|local| local.status), Some(401), "{route}");
        let allowed = vm.round_trip(route, with_key("ann-key")).unwrap();
        assert!(is_forwarded(&allowed.outcome, "ann"), "{route}");
    }
}
