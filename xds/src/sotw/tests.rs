//! The rules of the state-of-the-world protocol, one test each.

use crate::{
    SessionError,
    event::Event,
    options::Options,
    testing::{Sotw, nacks, snapshot, strings, told, url},
};
use envoy_types::pb::envoy::service::discovery::v3::DiscoveryRequest;

#[test]
fn an_empty_list_means_everything_until_the_first_name() {
    let mut sotw = Sotw::new(&["LDS a=1 b=1", "EDS e=1"]);
    assert_eq!(told(&sotw.subscribe("EDS", &[])), [""; 0]);
    let all = sotw.subscribe("LDS", &[]);
    assert_eq!(sotw.settle(all), ["LDS: a=1 b=1"]);
    let more = sotw.subscribe("LDS", &["*", "a"]);
    assert_eq!(sotw.settle(more), ["LDS: a=1 b=1"]);
    assert_eq!(told(&sotw.subscribe("LDS", &["a"])), [""; 0]);
    let next = sotw.publish(&["LDS a=2 b=2"]);
    assert_eq!(sotw.settle(next), ["LDS: a=2"]);
    assert_eq!(told(&sotw.subscribe("LDS", &[])), [""; 0]);
    assert_eq!(told(&sotw.publish(&["LDS a=3"])), [""; 0], "an empty list is no wildcard any more");
}

#[test]
fn listeners_and_clusters_are_answered_even_when_there_is_nothing() {
    let mut sotw = Sotw::new(&[]);
    let clusters = sotw.subscribe("CDS", &[]);
    assert_eq!(sotw.settle(clusters), ["CDS:"]);
    assert_eq!(told(&sotw.subscribe("LDS", &["x"])), ["LDS:"]);
    assert_eq!(told(&sotw.subscribe("RDS", &["x"])), [""; 0], "an empty answer would mean nothing");
}

#[test]
fn listeners_and_clusters_come_as_full_sets_the_rest_as_changed() {
    let mut sotw = Sotw::new(&["CDS a=1 b=1", "EDS a=1 b=1"]);
    let clusters = sotw.subscribe("CDS", &[]);
    sotw.settle(clusters);
    let endpoints = sotw.subscribe("EDS", &["a", "b", "x"]);
    assert_eq!(sotw.settle(endpoints), ["EDS: a=1 b=1"]);
    let change = sotw.publish(&["CDS a=1 b=2", "EDS a=1 b=2 x=1"]);
    assert_eq!(sotw.settle(change), ["CDS: a=1 b=2", "EDS: b=2 x=1"]);
    assert_eq!(told(&sotw.publish(&["CDS a=1 b=2", "EDS a=1 b=2 x=1"])), [""; 0]);
}

#[test]
fn a_new_name_is_answered_whatever_was_sent_before() {
    let mut sotw = Sotw::new(&["EDS a=1 b=1"]);
    let first = sotw.subscribe("EDS", &["a", "b"]);
    sotw.settle(first);
    assert_eq!(told(&sotw.subscribe("EDS", &["a"])), [""; 0]);
    let again = sotw.subscribe("EDS", &["a", "b"]);
    assert_eq!(sotw.settle(again), ["EDS: b=1"]);
    let full = sotw.subscribe("LDS", &["x"]);
    sotw.settle(full);
    let full = sotw.subscribe("LDS", &["x", "y"]);
    assert_eq!(told(&full), ["LDS:"]);
}

#[test]
fn a_request_with_a_stale_nonce_answers_nothing_and_is_not_answered() {
    let mut sotw = Sotw::new(&["EDS a=1 b=1"]);
    let first = sotw.subscribe("EDS", &["a"]);
    // Written before the response was seen, so without its nonce.
    assert_eq!(told(&sotw.subscribe("EDS", &["a", "b"])), [""; 0]);
    let stale = DiscoveryRequest {
        type_url: url("EDS").to_owned(),
        response_nonce: "no such nonce".to_owned(),
        resource_names: strings(&["a", "b"]),
        error_detail: Some(Default::default()),
        ..Default::default()
    };
    assert_eq!(told(&sotw.request(stale)), [""; 0]);
    assert_eq!(nacks(&sotw.events), [""; 0]);
    // The answer to the response carries the names.
    assert_eq!(told(&sotw.ack(&first[0])), ["EDS: b=1"]);
}

#[test]
fn a_name_dropped_and_wanted_back_while_a_response_travels_is_sent_again() {
    let mut sotw = Sotw::new(&["EDS a=1 b=1"]);
    let first = sotw.subscribe("EDS", &["a", "b"]);
    sotw.settle(first);
    let change = sotw.publish(&["EDS a=2 b=1"]);
    sotw.subscribe("EDS", &["a"]);
    sotw.subscribe("EDS", &["a", "b"]);
    assert_eq!(told(&sotw.ack(&change[0])), ["EDS: b=1"]);
}

#[test]
fn names_may_change_before_anything_was_sent() {
    let mut sotw = Sotw::new(&["EDS b=1"]);
    assert_eq!(told(&sotw.subscribe("EDS", &["a"])), [""; 0]);
    assert_eq!(told(&sotw.subscribe("EDS", &["a", "b"])), ["EDS: b=1"]);
}

#[test]
fn a_repeated_request_is_not_answered_twice() {
    let mut sotw = Sotw::new(&["LDS a=1", "EDS a=1"]);
    for short in ["LDS", "EDS"] {
        let first = sotw.subscribe(short, &["a"]);
        sotw.settle(first);
        assert_eq!(told(&sotw.subscribe(short, &["a"])), [""; 0]);
    }
}

#[test]
fn a_full_set_keeps_the_last_good_version_of_what_is_refused() {
    let mut sotw = Sotw::new(&["LDS a=1 b=1"]);
    let first = sotw.subscribe("LDS", &[]);
    sotw.settle(first);
    let bad = sotw.publish(&["LDS a=1 b=bad"]);
    assert_eq!(told(&bad), ["LDS: a=1 b=bad"]);
    assert_eq!(told(&sotw.nack(&bad[0], "no good")), [""; 0]);
    assert_eq!(nacks(&sotw.events), ["LDS: b"], "only what was new can be at fault");
    let next = sotw.publish(&["LDS a=2 b=bad"]);
    assert_eq!(sotw.settle(next), ["LDS: a=2 b=1"]);
    let last = sotw.publish(&["LDS a=2 b=3"]);
    assert_eq!(sotw.settle(last), ["LDS: a=2 b=3"]);
}

#[test]
fn what_was_never_accepted_is_left_out_of_a_full_set_while_refused() {
    let mut sotw = Sotw::new(&["LDS a=1 bad=1"]);
    let first = sotw.subscribe("LDS", &[]);
    let second = sotw.nack(&first[0], "listener bad: no good");
    assert_eq!(sotw.settle(second), ["LDS: a=1"]);
}

#[test]
fn a_refused_set_with_nothing_new_is_not_repeated() {
    let mut sotw = Sotw::new(&["LDS a=1 b=1"]);
    let first = sotw.subscribe("LDS", &[]);
    sotw.settle(first);
    let removal = sotw.publish(&["LDS a=1"]);
    assert_eq!(told(&sotw.nack(&removal[0], "will not")), [""; 0]);
    assert_eq!(told(&sotw.publish(&["LDS a=1"])), [""; 0]);
    assert_eq!(told(&sotw.publish(&["LDS a=2"])), ["LDS: a=2"]);
}

#[test]
fn refusals_and_last_good_versions_outlive_the_stream() {
    let mut sotw = Sotw::new(&["LDS a=1 b=1", "RDS r=1"]);
    for (short, names) in [("LDS", &[][..]), ("RDS", &["r"])] {
        let first = sotw.subscribe(short, names);
        sotw.settle(first);
    }
    let bad = sotw.publish(&["LDS a=1 b=bad", "RDS r=bad"]);
    let routes = sotw.nack(&bad[0], "no good");
    sotw.nack(&routes[0], "no good");
    sotw.reconnect();
    assert_eq!(told(&sotw.subscribe("LDS", &[])), [""; 0]);
    assert_eq!(told(&sotw.subscribe("RDS", &["r"])), [""; 0]);
    let next = sotw.publish(&["LDS a=2 b=bad", "RDS r=bad"]);
    assert_eq!(sotw.settle(next), ["LDS: a=2 b=1"]);
    let next = sotw.publish(&["LDS a=2 b=bad", "RDS r=2"]);
    assert_eq!(sotw.settle(next), ["RDS: r=2"]);
}

#[test]
fn a_reconnect_with_the_present_version_gets_nothing() {
    let mut sotw = Sotw::new(&["CDS a=1", "LDS l=1"]);
    for short in ["CDS", "LDS"] {
        let first = sotw.subscribe(short, &[]);
        sotw.settle(first);
    }
    sotw.reconnect();
    assert_eq!(told(&sotw.subscribe("CDS", &[])), [""; 0]);
    // Also from a server that has lost its memory: the version speaks for itself.
    sotw.memory = Default::default();
    assert_eq!(told(&sotw.subscribe("LDS", &[])), [""; 0]);
    let next = sotw.publish(&["CDS a=1", "LDS l=2"]);
    assert_eq!(sotw.settle(next), ["LDS: l=2"]);
}

#[test]
fn what_a_client_says_it_has_accepted_is_not_refused() {
    let mut sotw = Sotw::new(&["LDS a=1"]);
    let first = sotw.subscribe("LDS", &["*", "x"]);
    sotw.settle(first);
    // The client drops everything and wants it back, along with something bad.
    sotw.subscribe("LDS", &["x"]);
    sotw.snapshot = Some(snapshot(&["LDS a=1 x=bad"]));
    let answer = sotw.subscribe("LDS", &["*", "x"]);
    assert_eq!(told(&answer), ["LDS: a=1 x=bad"]);
    assert_eq!(told(&sotw.nack(&answer[0], "no good")), ["LDS:"]);
    assert_eq!(nacks(&sotw.events), ["LDS: a,x"], "nobody is named, and both may be new");
    // The stream breaks before that arrives.
    sotw.reconnect();
    let answer = sotw.subscribe("LDS", &["*", "x"]);
    assert_eq!(sotw.settle(answer), ["LDS: a=1"]);
}

#[test]
fn a_reconnect_with_names_is_answered() {
    let mut sotw = Sotw::new(&["LDS a=1", "EDS a=1"]);
    for short in ["LDS", "EDS"] {
        let first = sotw.subscribe(short, &["a"]);
        sotw.settle(first);
    }
    sotw.reconnect();
    assert_eq!(told(&sotw.subscribe("LDS", &["a"])), ["LDS: a=1"]);
    assert_eq!(told(&sotw.subscribe("EDS", &["a"])), ["EDS: a=1"]);
}

#[test]
fn a_set_that_would_delete_something_unknown_is_held_back() {
    let mut sotw = Sotw::new(&["LDS a=1 b=1"]);
    let first = sotw.subscribe("LDS", &[]);
    sotw.settle(first);
    // The server restarts, and b has become bad meanwhile.
    sotw.reconnect();
    sotw.memory = Default::default();
    sotw.snapshot = Some(snapshot(&["LDS a=1 b=bad"]));
    let bad = sotw.subscribe("LDS", &[]);
    assert_eq!(told(&bad), ["LDS: a=1 b=bad"]);
    assert_eq!(told(&sotw.nack(&bad[0], "listener b: no good")), [""; 0]);
    assert_eq!(told(&sotw.publish(&["LDS a=2 b=bad"])), [""; 0], "a set without b would delete b");
    let good = sotw.publish(&["LDS a=2 b=2"]);
    assert_eq!(sotw.settle(good), ["LDS: a=2 b=2"]);
}

#[test]
fn a_new_process_is_offered_what_the_old_one_refused() {
    let mut sotw = Sotw::new(&["LDS a=1"]);
    let first = sotw.subscribe("LDS", &[]);
    sotw.settle(first);
    let bad = sotw.publish(&["LDS a=bad"]);
    sotw.nack(&bad[0], "port in use");
    sotw.reconnect();
    sotw.accepted.clear();
    assert_eq!(told(&sotw.subscribe("LDS", &[])), ["LDS: a=bad"]);
    assert!(sotw.events.contains(&Event::Restarted));
}

#[test]
fn additions_go_first_and_removals_last() {
    let mut sotw = Sotw::new(&["CDS a=1", "ECDS f=1", "LDS l=1", "RDS r=1"]);
    for (short, names) in [("CDS", &[][..]), ("LDS", &[]), ("ECDS", &["f"]), ("RDS", &["r"])] {
        let first = sotw.subscribe(short, names);
        assert_eq!(sotw.settle(first).len(), 1);
    }
    let change = sotw.publish(&["CDS b=1", "ECDS f=2", "LDS m=1", "RDS r=2"]);
    let all = sotw.settle(change);
    assert_eq!(all, ["CDS: a=1 b=1", "ECDS: f=2", "LDS: m=1", "RDS: r=2", "CDS: b=1"]);
}

#[test]
fn after_a_reconnect_removals_wait_until_the_client_has_said_all_it_uses() {
    let mut sotw = Sotw::new(&["CDS a=1 b=1", "LDS l=1"]);
    for short in ["CDS", "LDS"] {
        let first = sotw.subscribe(short, &[]);
        sotw.settle(first);
    }
    sotw.reconnect();
    sotw.snapshot = Some(snapshot(&["CDS a=1", "LDS l=2"]));
    assert_eq!(told(&sotw.subscribe("CDS", &[])), [""; 0]);
    let listeners = sotw.subscribe("LDS", &[]);
    assert_eq!(sotw.settle(listeners), ["LDS: l=2"]);
    let removal = sotw.grace_over();
    assert_eq!(sotw.settle(removal), ["CDS: a=1"]);
}

#[test]
fn endpoints_are_sent_again_when_their_cluster_changes() {
    let mut sotw = Sotw::new(&["CDS eds-a=1 eds-b=1", "EDS eds-a=1 eds-b=1"]);
    for (short, names) in [("CDS", &[][..]), ("EDS", &["eds-a", "eds-b"])] {
        let first = sotw.subscribe(short, names);
        sotw.settle(first);
    }
    let change = sotw.publish(&["CDS eds-a=2 eds-b=1", "EDS eds-a=1 eds-b=1"]);
    assert_eq!(sotw.settle(change), ["CDS: eds-a=2 eds-b=1", "EDS: eds-a=1"]);
}

#[test]
fn endpoints_refused_along_with_bad_ones_are_still_sent_again() {
    let mut sotw = Sotw::new(&["CDS eds-a=1", "EDS eds-a=1 b=1"]);
    for (short, names) in [("CDS", &[][..]), ("EDS", &["eds-a", "b"])] {
        let first = sotw.subscribe(short, names);
        sotw.settle(first);
    }
    let change = sotw.publish(&["CDS eds-a=2", "EDS eds-a=1 b=bad"]);
    assert_eq!(told(&change), ["CDS: eds-a=2", "EDS: b=bad eds-a=1"]);
    assert_eq!(told(&sotw.nack(&change[1], "no good")), ["EDS: eds-a=1"]);
}

#[test]
fn what_a_cluster_needs_does_not_wait_for_the_cluster() {
    let mut sotw = Sotw::new(&["CDS eds-a=1", "EDS eds-a=1", "SDS s=1", "RDS r=1"]);
    for (short, names) in [("CDS", &[][..]), ("EDS", &["eds-a"]), ("SDS", &["s"]), ("RDS", &["r"])] {
        let first = sotw.subscribe(short, names);
        sotw.settle(first);
    }
    let change = sotw.publish(&["CDS eds-a=2 eds-b=1", "EDS eds-a=1 eds-b=1", "SDS s=1", "RDS r=2"]);
    assert_eq!(told(&change), ["CDS: eds-a=2 eds-b=1", "EDS: eds-a=1"]);
    sotw.ack(&change[1]);
    sotw.publish(&["CDS eds-a=3 eds-b=1", "EDS eds-a=1 eds-b=1", "SDS s=2", "RDS r=3"]);
    let endpoints = sotw.subscribe("EDS", &["eds-a", "eds-b"]);
    assert_eq!(sotw.settle(endpoints), ["EDS: eds-b=1"]);
    let secrets = sotw.subscribe("SDS", &["s", "x"]);
    assert_eq!(sotw.settle(secrets), [""; 0]);
    let late = sotw.publish(&["CDS eds-a=3 eds-b=1", "EDS eds-a=1 eds-b=1", "SDS s=2 x=1", "RDS r=3"]);
    assert_eq!(sotw.settle(late), ["SDS: x=1"]);
    let rest = sotw.ack(&change[0]);
    assert_eq!(sotw.settle(rest), ["CDS: eds-a=3 eds-b=1", "EDS: eds-a=1", "SDS: s=2", "RDS: r=3"]);
}

#[test]
fn an_answer_that_takes_too_long_holds_up_nothing() {
    let mut sotw = Sotw::new(&["CDS a=1", "RDS r=1"]);
    for (short, names) in [("CDS", &[][..]), ("RDS", &["r"])] {
        let first = sotw.subscribe(short, names);
        sotw.settle(first);
    }
    let stuck = sotw.publish(&["CDS a=2", "RDS r=2"]);
    assert_eq!(told(&sotw.tick()), [""; 0]);
    let late = sotw.tick();
    assert_eq!(sotw.settle(late), ["RDS: r=2"]);
    assert!(!sotw.session.awaits_answer());
    let fixed = sotw.publish(&["CDS a=3", "RDS r=2"]);
    assert_eq!(told(&fixed), ["CDS: a=3"]);
    // The client answers both, the first with a nonce that is old by now.
    assert_eq!(told(&sotw.ack(&stuck[0])), [""; 0]);
    assert_eq!(told(&sotw.ack(&fixed[0])), [""; 0]);
    assert!(sotw.session.status(sotw.snapshot.as_ref(), &sotw.memory).iter().all(|t| t.in_sync()));
}

#[test]
fn one_answer_to_the_last_of_several_responses_counts_for_all() {
    let mut sotw = Sotw::new(&["EDS a=1 b=1"]);
    let first = sotw.subscribe("EDS", &["a", "b"]);
    sotw.settle(first);
    sotw.publish(&["EDS a=2 b=1"]);
    sotw.tick();
    sotw.tick();
    let second = sotw.publish(&["EDS a=2 b=2"]);
    assert_eq!(told(&second), ["EDS: b=2"]);
    assert_eq!(told(&sotw.ack(&second[0])), [""; 0]);
    // And when the last is refused, the version in use tells of the others.
    let third = sotw.publish(&["EDS a=3 b=2"]);
    sotw.tick();
    sotw.tick();
    let fourth = sotw.publish(&["EDS a=3 b=bad"]);
    sotw.accepted.insert(url("EDS").to_owned(), third[0].version_info.clone());
    assert_eq!(told(&sotw.nack(&fourth[0], "no good")), [""; 0]);
    assert_eq!(nacks(&sotw.events), ["EDS: b"]);
}

#[test]
fn an_answer_that_was_refused_is_still_due_without_the_guilty() {
    let mut sotw = Sotw::new(&["CDS b=1"]);
    let first = sotw.subscribe("CDS", &["b"]);
    sotw.settle(first);
    sotw.reconnect();
    sotw.snapshot = Some(snapshot(&["CDS b=1 c=bad"]));
    // The client may have dropped b and want it back: a new stream does not tell.
    let answer = sotw.subscribe("CDS", &["b", "c"]);
    assert_eq!(told(&answer), ["CDS: b=1 c=bad"]);
    assert_eq!(told(&sotw.nack(&answer[0], "no good")), ["CDS: b=1"]);
}

#[test]
fn the_successor_of_a_refused_version_waits_like_any_change() {
    let mut sotw = Sotw::new(&["CDS c=1", "RDS r=bad"]);
    let clusters = sotw.subscribe("CDS", &[]);
    sotw.settle(clusters);
    let routes = sotw.subscribe("RDS", &["r"]);
    sotw.nack(&routes[0], "no good");
    sotw.subscribe("RDS", &[]);
    assert_eq!(told(&sotw.subscribe("RDS", &["r"])), [""; 0]);
    let change = sotw.publish(&["CDS c=2", "RDS r=2"]);
    assert_eq!(told(&change), ["CDS: c=2"]);
    assert_eq!(sotw.settle(change), ["CDS: c=2", "RDS: r=2"]);
}

#[test]
fn filters_travel_alone() {
    let mut sotw = Sotw::new(&["ECDS f=1 g=bad h=1"]);
    let first = sotw.subscribe("ECDS", &["f", "g", "h", "x"]);
    assert_eq!(told(&first), ["ECDS: f=1"]);
    let second = sotw.ack(&first[0]);
    assert_eq!(told(&second), ["ECDS: g=bad"]);
    let third = sotw.nack(&second[0], "no good");
    assert_eq!(sotw.settle(third), ["ECDS: h=1"]);
    assert_eq!(nacks(&sotw.events), ["ECDS: g"]);
}

#[test]
fn without_a_snapshot_a_client_waits() {
    let mut sotw = Sotw::with(Options::default(), None);
    assert_eq!(told(&sotw.subscribe("CDS", &[])), [""; 0]);
    assert_eq!(told(&sotw.subscribe("EDS", &["x"])), [""; 0]);
    assert_eq!(told(&sotw.publish(&["CDS a=1"])), ["CDS: a=1"]);
}

#[test]
fn limits_end_the_stream() {
    let options = Options { max_types: 1, max_names: 2, ..Options::default() };
    let mut sotw = Sotw::with(options, Some(snapshot(&[])));
    let request = |type_url: &str, names: &[&str]| DiscoveryRequest {
        type_url: type_url.to_owned(),
        resource_names: strings(names),
        ..Default::default()
    };
    let mut send =
        |request| sotw.session.on_request(request, sotw.snapshot.as_ref(), &mut sotw.memory).map(drop);
    assert_eq!(send(request("", &[])), Err(SessionError::NoTypeUrl));
    assert_eq!(send(request("t/one", &["a"])), Ok(()));
    assert_eq!(send(request("t/two", &["a"])), Err(SessionError::TooManyTypes { limit: 1 }));
    assert_eq!(send(request("t/one", &["a", "b"])), Err(SessionError::TooManyNames { limit: 2 }));
}
