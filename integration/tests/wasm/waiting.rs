//! Requests that come before the keys.

use std::time::Duration;

use keyward_filter_core::wire::SERVICE;
use keyward_integration::wasm_host::{GrpcMode, Outcome, Status};

use crate::kit::{ROUTE, WAIT, ask, entries, open_stream, send, send_snapshot, start, with_key};
use crate::kit::{begin, chunk, end, pack, said, version};

#[test]
fn a_request_waits_and_is_decided_when_the_keys_arrive() {
    let mut vm = start();
    let right = vm.request(ROUTE, with_key("alice-key")).unwrap();
    let wrong = vm.request(ROUTE, with_key("nobodys")).unwrap();
    let none = vm.request(ROUTE, with_key("")).unwrap();
    for waiting in [&right, &wrong, &none] {
        assert_eq!(waiting.outcome, Outcome::Paused, "nobody may be told 401 before there are keys");
    }
    assert_eq!(vm.metric("keyward.parked"), Some(3));
    let stream = open_stream(&mut vm);
    send_snapshot(&mut vm, stream, &entries(&[("alice-key", "alice")]));

    let outcome = vm.outcome(right.id).unwrap();
    assert_eq!(outcome.identity(), Some(b"alice".as_slice()));
    assert!(outcome.forwarded().unwrap().all("api-key").is_empty());
    for denied in [wrong.id, none.id] {
        assert_eq!(vm.outcome(denied).unwrap().local().unwrap().status, 401);
    }
    assert_eq!(vm.metric("keyward.parked"), Some(0));
    for request in [right.id, wrong.id, none.id] {
        vm.end(request).unwrap();
    }
    assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()));
}

#[test]
fn a_request_waits_as_long_as_the_setting_says_and_then_gets_503() {
    let mut vm = start();
    let waiting = vm.request(ROUTE, with_key("alice-key")).unwrap();
    vm.advance(WAIT - Duration::from_millis(200)).unwrap();
    assert_eq!(vm.outcome(waiting.id).unwrap(), Outcome::Paused);
    vm.advance(Duration::from_millis(400)).unwrap();
    let outcome = vm.outcome(waiting.id).unwrap();
    let reply = outcome.local().expect("an answer");
    assert_eq!(reply.status, 503);
    let again = reply.headers.first("retry-after").expect("retry-after");
    assert!(str::from_utf8(again).unwrap().parse::<u32>().unwrap() > 0);
    vm.end(waiting.id).unwrap();
    assert_eq!(vm.metric("keyward.unavailable"), Some(1));
    assert_eq!(vm.metric("keyward.parked"), Some(0));
}

#[test]
fn half_a_snapshot_decides_nothing() {
    let mut vm = start();
    let waiting = vm.request(ROUTE, with_key("alice-key")).unwrap();
    let stream = open_stream(&mut vm);
    let entries = entries(&[("alice-key", "alice")]);
    send(&mut vm, stream, begin(1));
    send(&mut vm, stream, chunk(pack(&entries)));
    assert_eq!(vm.outcome(waiting.id).unwrap(), Outcome::Paused);
    send(&mut vm, stream, end(version(1, &entries)));
    assert_eq!(vm.outcome(waiting.id).unwrap().identity(), Some(b"alice".as_slice()));
}

#[test]
fn an_empty_table_is_an_answer() {
    let mut vm = start();
    let waiting = vm.request(ROUTE, with_key("alice-key")).unwrap();
    let stream = open_stream(&mut vm);
    send_snapshot(&mut vm, stream, &entries(&[]));
    assert_eq!(vm.outcome(waiting.id).unwrap().local().unwrap().status, 401);
}

#[test]
fn a_client_that_goes_away_leaves_nothing_behind() {
    let mut vm = start();
    let gone = vm.request(ROUTE, with_key("alice-key")).unwrap();
    let stays = vm.request(ROUTE, with_key("alice-key")).unwrap();
    vm.end(gone.id).unwrap();
    assert_eq!(vm.metric("keyward.parked"), Some(1));
    let stream = open_stream(&mut vm);
    send_snapshot(&mut vm, stream, &entries(&[("alice-key", "alice")]));
    assert_eq!(vm.outcome(stays.id).unwrap().identity(), Some(b"alice".as_slice()));
    assert_eq!(vm.metric("keyward.parked"), Some(0));
}

#[test]
fn an_unknown_policy_denies_without_waiting() {
    let mut vm = start();
    for route in ["team/other|site/0/0", "site/0/0", "", "|site", "team/keys", "Team/keys|site/0/0"] {
        let exchange = vm.round_trip(route, with_key("alice-key")).unwrap();
        assert_eq!(exchange.outcome.local().unwrap().status, 403, "route {route:?}");
    }
}

#[test]
fn a_control_server_that_cannot_be_reached_is_asked_again() {
    for mode in [GrpcMode::Refuse(Status::InternalFailure), GrpcMode::CloseAtOnce(14)] {
        let mut vm = start();
        vm.set_grpc_mode(mode);
        vm.advance(Duration::from_secs(30)).unwrap();
        assert!(vm.grpc_streams().is_empty());
        let waiting = vm.request(ROUTE, with_key("alice-key")).unwrap();
        assert_eq!(waiting.outcome, Outcome::Paused);
        vm.set_grpc_mode(GrpcMode::Accept);
        let before = vm.grpc_opened();
        let stream = open_stream(&mut vm);
        assert_eq!(vm.grpc_opened(), before + 1);
        assert!(vm.grpc_streams()[&stream].method.starts_with(SERVICE));
        assert_eq!(said(&mut vm, stream).len(), 1, "one Subscribe");
        send_snapshot(&mut vm, stream, &entries(&[("alice-key", "alice")]));
        assert_eq!(vm.outcome(waiting.id).unwrap().identity(), Some(b"alice".as_slice()));
    }
}
