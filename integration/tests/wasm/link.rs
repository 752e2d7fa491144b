//! The key stream: what the filter says on it, and what it does with what it hears.

use std::time::Duration;

use keyward_filter_core::wire::client_message::Kind;
use keyward_filter_core::wire::{Delta, Digest, server_message};
use keyward_integration::wasm_host::{Host, Vm};

use crate::kit::{
    TABLE, ask, begin, chunk, config, delta, drop_table, end, entries, json, many_entries, open_stream, pack,
    said, send, send_snapshot, start, start_with, version,
};

#[test]
fn it_subscribes_with_what_it_is() {
    let mut vm = start();
    assert!(vm.grpc_streams().is_empty(), "a VM that only tries a configuration must open no stream");
    let stream = open_stream(&mut vm);
    let opened = &vm.grpc_streams()[&stream];
    assert_eq!(opened.cluster, "keyward-control");
    assert_eq!(opened.method, "keyward.keys.v1.KeyDistribution/Stream");
    let said = said(&mut vm, stream);
    let [Kind::Subscribe(subscribe)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(subscribe.node_id, "wasmtime");
    assert_eq!(subscribe.role, "keyward-system~gateway-proxy");
    assert_eq!(subscribe.config_version, 1);
    assert!(subscribe.held.is_empty());
    assert!(!subscribe.worker.is_empty() && !subscribe.filter_build.is_empty());
}

#[test]
fn it_holds_its_keys_while_the_server_is_gone_and_resumes_from_there() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    let stream = *vm.grpc_streams().keys().next().unwrap();
    vm.grpc_close(stream, 14).unwrap();
    assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()));
    assert_eq!(ask(&mut vm, "bob-key"), Err(401));
    let stream = open_stream(&mut vm);
    let said = said(&mut vm, stream);
    let [Kind::Subscribe(subscribe)] = said.as_slice() else { panic!("{said:?}") };
    let before = entries(&[("alice-key", "alice")]);
    assert_eq!(subscribe.held.len(), 1);
    assert_eq!(subscribe.held[0].table, TABLE);
    assert_eq!(subscribe.held[0].version, Some(version(1, &before)));
    let after = entries(&[("bob-key", "bob")]);
    send(&mut vm, stream, delta((1, &before), (2, &after)));
    assert_eq!(ask(&mut vm, "alice-key"), Err(401));
    assert_eq!(ask(&mut vm, "bob-key"), Ok("bob".into()));
}

#[test]
fn a_change_is_in_force_with_its_message() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    let stream = *vm.grpc_streams().keys().next().unwrap();
    let before = entries(&[("alice-key", "alice")]);
    let after = entries(&[("alice-key", "alicia"), ("bob-key", "bob")]);
    send(&mut vm, stream, delta((1, &before), (2, &after)));
    let acks = said(&mut vm, stream);
    let [Kind::Ack(ack)] = acks.as_slice() else { panic!("{acks:?}") };
    assert_eq!(ack.held.as_ref().unwrap().version, Some(version(2, &after)));
    assert_eq!(ask(&mut vm, "alice-key"), Ok("alicia".into()));
    assert_eq!(ask(&mut vm, "bob-key"), Ok("bob".into()));
    assert_eq!(vm.metric("keyward.keys"), Some(2));
    assert_eq!(vm.metric("keyward.tables_revision"), Some(2));
}

#[test]
fn a_change_that_does_not_fit_is_refused_and_changes_nothing() {
    let held = entries(&[("alice-key", "alice")]);
    let other = entries(&[("carol-key", "carol")]);
    let wrong_start = delta((7, &held), (8, &other));
    let keyward_filter_core::wire::server_message::Kind::Delta(mut wrong_sum) =
        delta((1, &held), (2, &other))
    else {
        panic!("not a delta")
    };
    wrong_sum.to = Some(version(2, &held));
    let wrong_sum = keyward_filter_core::wire::server_message::Kind::Delta(wrong_sum);
    let no_beginning = chunk(pack(&other));
    for message in [wrong_start, wrong_sum, no_beginning] {
        let mut vm = start_with(&[("alice-key", "alice")]);
        let stream = *vm.grpc_streams().keys().next().unwrap();
        send(&mut vm, stream, message.clone());
        let said = said(&mut vm, stream);
        assert!(
            matches!(said.as_slice(), [Kind::Nack(nack)] if nack.table == TABLE),
            "{message:?}: {said:?}"
        );
        assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()));
        assert_eq!(ask(&mut vm, "carol-key"), Err(401));
        send_snapshot(&mut vm, stream, &other);
        assert_eq!(ask(&mut vm, "carol-key"), Ok("carol".into()));
    }
}

#[test]
fn a_snapshot_replaces_a_table_at_its_end_and_not_before() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    let stream = *vm.grpc_streams().keys().next().unwrap();
    let after = entries(&[("bob-key", "bob")]);
    send(&mut vm, stream, begin(1));
    send(&mut vm, stream, chunk(pack(&after)));
    assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()));
    assert_eq!(ask(&mut vm, "bob-key"), Err(401));
    send(&mut vm, stream, end(version(2, &after)));
    assert_eq!(ask(&mut vm, "alice-key"), Err(401));
    assert_eq!(ask(&mut vm, "bob-key"), Ok("bob".into()));
}

#[test]
fn a_stream_that_breaks_inside_a_snapshot_starts_over() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    let stream = *vm.grpc_streams().keys().next().unwrap();
    let after = entries(&[("bob-key", "bob")]);
    send(&mut vm, stream, begin(1));
    send(&mut vm, stream, chunk(pack(&after)));
    vm.grpc_close(stream, 14).unwrap();
    let stream = open_stream(&mut vm);
    said(&mut vm, stream);
    send(&mut vm, stream, end(version(2, &after)));
    assert!(matches!(said(&mut vm, stream).as_slice(), [Kind::Nack(_)]));
    assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()));
    assert_eq!(ask(&mut vm, "bob-key"), Err(401));
}

#[test]
fn bytes_that_are_no_message_end_the_stream_and_nothing_else() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    let stream = *vm.grpc_streams().keys().next().unwrap();
    vm.grpc_message(stream, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff").unwrap();
    assert!(!vm.grpc_streams().contains_key(&stream), "the stream is out of step and has to be ended");
    assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()));
    let next = open_stream(&mut vm);
    assert_ne!(next, stream);
}

#[test]
fn a_table_that_is_dropped_makes_requests_wait_again() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    let stream = *vm.grpc_streams().keys().next().unwrap();
    send(&mut vm, stream, drop_table());
    assert_eq!(vm.metric("keyward.keys"), Some(0));
    let waiting = vm.request(crate::kit::ROUTE, crate::kit::with_key("alice-key")).unwrap();
    assert!(waiting.outcome.forwarded().is_none() && waiting.outcome.local().is_none());
}

#[test]
fn a_vm_whose_memory_is_full_refuses_what_does_not_fit_and_serves_on() {
    let mut vm = Vm::start_within(&Host::load().unwrap(), &json(&config(1)), 6 * 1024 * 1024).unwrap();
    let stream = open_stream(&mut vm);
    let held = entries(&[("alice-key", "alice"), ("bob-key", "bob")]);
    send_snapshot(&mut vm, stream, &held);
    for times in 1..=3 {
        let mut many = many_entries(200_000);
        many.sort();
        send(&mut vm, stream, begin(many.len()));
        many.chunks(4096).for_each(|part| send(&mut vm, stream, chunk(pack(part))));
        send(&mut vm, stream, end(version(2, &many)));
        let said = said(&mut vm, stream);
        let [Kind::Nack(nack)] = said.as_slice() else { panic!("not one refusal: {said:?}") };
        assert_eq!((nack.table.as_str(), nack.reason.as_str()), (TABLE, "the worker has no memory left"));
        assert_eq!(vm.metric("keyward.changes.no_room"), Some(times));
        assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()));
        assert_eq!(ask(&mut vm, "wrong"), Err(401));
    }
    // What fits is taken still.
    let after = entries(&[("bob-key", "bob"), ("carol-key", "carol")]);
    send(&mut vm, stream, delta((1, &held), (2, &after)));
    assert!(matches!(said(&mut vm, stream).as_slice(), [Kind::Ack(_)]));
    assert_eq!(ask(&mut vm, "alice-key"), Err(401));
    assert_eq!(ask(&mut vm, "carol-key"), Ok("carol".into()));
}

#[test]
fn a_change_that_finds_no_memory_ends_what_it_revokes_and_narrows_and_the_next_one_is_no_gap() {
    let mut vm = Vm::start_within(&Host::load().unwrap(), &json(&config(1)), 6 * 1024 * 1024).unwrap();
    let stream = open_stream(&mut vm);
    let mut held = entries(&[("alice-key", "alice"), ("bob-key", "bob"), ("carol-key", "carol")]);
    held.sort();
    send_snapshot(&mut vm, stream, &held);
    // One is revoked, one goes to somebody else, and much comes that does not fit.
    let mut after = entries(&[("bob-key", "somebody-else"), ("carol-key", "carol")]);
    let long = |(digest, user): (Digest, String)| (digest, format!("{user}-{}", "n".repeat(200)));
    after.extend(many_entries(5_600).into_iter().map(long));
    after.sort();
    send(&mut vm, stream, delta((1, &held), (2, &after)));
    let told = said(&mut vm, stream);
    let [Kind::Nack(nack)] = told.as_slice() else { panic!("not one refusal: {told:?}") };
    assert!(nack.no_room, "{nack:?}");
    let [left] = &nack.held[..] else { panic!("{nack:?}") };
    assert_eq!(left.version, Some(version(1, &held)));
    assert_ne!(left.content, None, "it says that it holds less");
    assert_eq!(ask(&mut vm, "alice-key"), Err(401));
    assert_ne!(ask(&mut vm, "bob-key"), Ok("bob".into()));
    assert_eq!(ask(&mut vm, "carol-key"), Ok("carol".into()));
    // What is revoked behind it comes by itself, and what fits is taken.
    let mut next = entries(&[("bob-key", "somebody-else"), ("dan-key", "dan")]);
    next.sort();
    let server_message::Kind::Delta(change) = delta((1, &held), (3, &next)) else { panic!("a delta") };
    send(&mut vm, stream, server_message::Kind::Delta(Delta { takes_away: true, ..change.clone() }));
    assert!(matches!(said(&mut vm, stream).as_slice(), [Kind::Ack(_)]));
    assert_eq!(ask(&mut vm, "carol-key"), Err(401));
    send(&mut vm, stream, server_message::Kind::Delta(change));
    assert!(matches!(said(&mut vm, stream).as_slice(), [Kind::Ack(_)]));
    assert_eq!(ask(&mut vm, "bob-key"), Ok("somebody-else".into()));
    assert_eq!(ask(&mut vm, "dan-key"), Ok("dan".into()));
}

#[test]
fn memory_stays_bounded_over_many_snapshots() {
    let mut vm = start();
    let stream = open_stream(&mut vm);
    let entries = many_entries(20_000);
    send_snapshot(&mut vm, stream, &entries);
    send_snapshot(&mut vm, stream, &entries);
    let after_two = vm.memory_size();
    for _ in 0..8 {
        send_snapshot(&mut vm, stream, &entries);
        vm.advance(Duration::from_secs(1)).unwrap();
    }
    let growth = vm.memory_size().saturating_sub(after_two);
    assert!(growth <= 256 * 1024, "grew by {growth} bytes over eight more snapshots of the same table");
}
