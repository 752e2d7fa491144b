//! Plugin configurations: good, bad, and one after the other.

use keyward_filter_core::config::{Policy, Step};
use keyward_filter_core::wire::client_message::Kind;
use keyward_integration::headers::Headers;
use keyward_integration::wasm_host::{Host, Outcome, Vm};

use crate::kit::{
    ROUTE, TABLE, ask, config, entries, json, open_stream, said, send_snapshot, start, start_with, with_key,
};

#[test]
fn what_is_not_a_configuration_is_refused() {
    let host = Host::load().unwrap();
    let mut more = serde_json::to_value(config(1)).unwrap();
    more["unknown"] = true.into();
    let more = more.to_string().into_bytes();
    for bytes in [b"".as_slice(), b"{}", b"null", b"\xff", &more] {
        assert!(Vm::start(&host, bytes).is_err(), "{} was taken", bytes.escape_ascii());
    }
}

#[test]
fn a_refused_configuration_leaves_the_one_in_force() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    assert!(!vm.configure(b"nonsense").unwrap());
    assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()));
    assert_eq!(vm.metric("keyward.config_version"), Some(1));
}

#[test]
fn a_new_configuration_keeps_the_keys_and_opens_its_own_stream() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    let mut next = config(2);
    next.policies
        .insert("team/new".into(), Policy::of(Step { forward_key: true, ..Step::new("x-new", TABLE) }));
    assert!(vm.configure(&json(&next)).unwrap());
    assert_eq!(vm.metric("keyward.config_version"), Some(2));
    assert_eq!(ask(&mut vm, "alice-key"), Ok("alice".into()), "the keys stay");
    let new = vm.round_trip("team/new|r", Headers::new().with("x-new", "alice-key")).unwrap();
    assert_eq!(new.outcome.forwarded().unwrap().all("x-new"), [b"alice-key"]);
    let stream = open_stream(&mut vm);
    let said = said(&mut vm, stream);
    let [Kind::Subscribe(subscribe)] = said.as_slice() else { panic!("{said:?}") };
    assert_eq!(subscribe.config_version, 2);
    assert_eq!(subscribe.held.len(), 1, "it tells what it holds");
    assert_eq!(vm.grpc_streams().len(), 1);
}

#[test]
fn a_request_in_flight_keeps_the_configuration_that_it_began_with() {
    let mut vm = start();
    let waiting = vm.request(ROUTE, with_key("alice-key")).unwrap();
    let mut next = config(2);
    next.policies.clear();
    assert!(vm.configure(&json(&next)).unwrap());
    assert_eq!(vm.round_trip(ROUTE, with_key("alice-key")).unwrap().outcome.local().unwrap().status, 403);
    assert_eq!(vm.outcome(waiting.id).unwrap(), Outcome::Paused);
    let stream = open_stream(&mut vm);
    send_snapshot(&mut vm, stream, &entries(&[("alice-key", "alice")]));
    assert_eq!(vm.outcome(waiting.id).unwrap().identity(), Some(b"alice".as_slice()));
    vm.end(waiting.id).unwrap();
    assert_eq!(vm.grpc_streams().len(), 1, "one stream, of the root that is left");
}

#[test]
fn the_identity_is_set_even_if_a_client_could_bring_one() {
    let mut vm = start_with(&[("alice-key", "alice")]);
    let headers =
        with_key("alice-key").with("X-User-Id", "root").with("x-user-id", "\u{ff}").with("api-key", "");
    let exchange = vm.round_trip(ROUTE, headers).unwrap();
    let forwarded = exchange.outcome.forwarded().unwrap();
    assert_eq!(forwarded.all("x-user-id"), [b"alice"]);
    assert!(forwarded.all("api-key").is_empty());
}

#[test]
fn nothing_but_the_digest_of_a_key_is_ever_logged_or_sent() {
    let mut vm = start_with(&[("alice-key-plain", "alice")]);
    ask(&mut vm, "alice-key-plain").unwrap();
    ask(&mut vm, "wrong-key-plain").unwrap_err();
    let stream = *vm.grpc_streams().keys().next().unwrap();
    let sent = vm.take_sent(stream).concat();
    let logged: String = vm.logs().iter().map(|(_, line)| line.as_str()).collect();
    for key in ["alice-key-plain", "wrong-key-plain"] {
        assert!(!logged.contains(key));
        assert!(!sent.windows(key.len()).any(|window| window == key.as_bytes()));
        assert!(!vm.metrics().keys().any(|name| name.contains(key)));
    }
}
