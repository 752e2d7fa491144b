//! Which keys were used, as the module reports it.

use std::time::Duration;

use keyward_filter_core::key::digest;
use keyward_filter_core::wire::{Digest, UsageAck, client_message, server_message, uses};
use keyward_integration::wasm_host::Vm;

use crate::kit::{ROUTE, TABLE, ask, open_stream, said, send, start_with, with_key};

/// What the clock of a VM shows when it starts, and three seconds more until the stream is open.
const START: u32 = 1_700_000_003;
/// The default.
const INTERVAL: Duration = Duration::from_secs(10);

fn take_reports(vm: &mut Vm, stream: u32, stored: u64) {
    send(vm, stream, server_message::Kind::UsageAck(UsageAck { seq: stored }));
}

/// A key, how often it was used, and when for the last time.
type Use = (Digest, u32, u32);

/// The reports since the last time: number, and for each key how often and when last.
fn reports(vm: &mut Vm, stream: u32) -> Vec<(u64, Vec<Use>)> {
    let reports = said(vm, stream).into_iter().filter_map(|said| match said {
        client_message::Kind::Usage(usage) => Some(usage),
        _ => None,
    });
    let told = |usage: keyward_filter_core::wire::Usage| {
        let [table] = usage.tables.as_slice() else { panic!("one table: {usage:?}") };
        assert_eq!((table.table.as_str(), table.revision), (TABLE, 1));
        (usage.seq, uses(&table.uses).unwrap().collect())
    };
    reports.map(told).collect()
}

fn stream_of(vm: &Vm) -> u32 {
    *vm.grpc_streams().keys().next_back().expect("a stream")
}

#[test]
fn the_module_tells_which_keys_were_used_and_again_until_it_is_stored() {
    let mut vm = start_with(&[("k1", "ann"), ("k2", "bob")]);
    let stream = stream_of(&vm);
    take_reports(&mut vm, stream, 0);
    for key in ["k1", "k1", "wrong"] {
        let _ = ask(&mut vm, key);
    }
    vm.advance(INTERVAL).unwrap();
    let first = reports(&mut vm, stream);
    let [(1, uses)] = &first[..] else { panic!("one report: {first:?}") };
    let [(key, 2, last)] = uses[..] else { panic!("one key, used twice: {uses:?}") };
    // The filter looks at the clock once a second.
    assert!(key == digest(b"k1") && (START - 1..=START).contains(&last), "{uses:?}");
    assert_eq!(ask(&mut vm, "k2"), Ok("bob".to_owned()));

    // The server goes away before it has said anything, and comes back.
    vm.grpc_close(stream, 14).unwrap();
    let stream = {
        vm.advance(Duration::from_secs(3)).unwrap();
        let stream = stream_of(&vm);
        vm.grpc_accept(stream).unwrap();
        stream
    };
    assert_eq!(reports(&mut vm, stream), []);
    take_reports(&mut vm, stream, 0);
    assert_eq!(reports(&mut vm, stream), first);
    take_reports(&mut vm, stream, 1);
    vm.advance(INTERVAL).unwrap();
    let [(2, second)] = &reports(&mut vm, stream)[..] else { panic!("one report") };
    let [(key, 1, last)] = second[..] else { panic!("one key: {second:?}") };
    assert!(key == digest(b"k2") && last >= START, "{second:?}");
}

#[test]
fn a_use_costs_no_call_more() {
    let mut vm = start_with(&[("k1", "ann")]);
    let calls = |vm: &mut Vm| vm.round_trip(ROUTE, with_key("k1")).unwrap().total_calls();
    let before = calls(&mut vm);
    let stream = stream_of(&vm);
    take_reports(&mut vm, stream, 0);
    assert_eq!(calls(&mut vm), before);
    vm.advance(INTERVAL).unwrap();
    // The first use after a report, and the second.
    assert_eq!([calls(&mut vm), calls(&mut vm)], [before; 2]);
}

#[test]
fn a_server_that_never_asks_is_told_nothing() {
    let mut vm = crate::kit::start();
    let stream = open_stream(&mut vm);
    crate::kit::send_snapshot(&mut vm, stream, &crate::kit::entries(&[("k1", "ann")]));
    assert_eq!(ask(&mut vm, "k1"), Ok("ann".to_owned()));
    vm.advance(6 * INTERVAL).unwrap();
    assert_eq!(said(&mut vm, stream), []);
}
