//! The rules of the incremental protocol, one test each.

mod order;

use crate::{
    SessionError,
    event::Event,
    options::Options,
    testing::{Delta, nacks, snapshot, strings, told, url, version},
};
use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;

#[test]
fn an_empty_first_request_means_everything_for_listeners_and_clusters_only() {
    let mut delta = Delta::new(&["CDS a=1 b=1", "LDS l=1", "EDS a=1", "ECDS f=1"]);
    assert_eq!(told(&delta.subscribe("CDS", &[])), ["CDS: a=1 b=1"]);
    assert_eq!(told(&delta.subscribe("EDS", &[])), [""; 0]);
    assert_eq!(told(&delta.subscribe("ECDS", &[])), [""; 0]);
    assert_eq!(told(&delta.subscribe("LDS", &[])), ["LDS: l=1"]);
}

#[test]
fn a_wildcard_is_answered_even_when_there_is_nothing() {
    let mut delta = Delta::new(&[]);
    let first = delta.subscribe("CDS", &[]);
    assert_eq!(told(&first), ["CDS:"]);
    assert_eq!(told(&delta.ack(&first[0])), [""; 0]);
    assert_eq!(told(&delta.subscribe("LDS", &["*"])), ["LDS:"]);
}

#[test]
fn an_explicit_wildcard_goes_with_names() {
    let mut delta = Delta::new(&["CDS a=1 b=1"]);
    let first = delta.subscribe("CDS", &["*", "z"]);
    assert_eq!(told(&first), ["CDS: a=1 b=1 -z"]);
    delta.settle(first);
    // Without the wildcard, only the name stays.
    assert_eq!(told(&delta.unsubscribe("CDS", &["*"])), [""; 0]);
    let next = delta.publish(&["CDS a=2 b=2 z=1"]);
    assert_eq!(told(&next), ["CDS: z=1"]);
}

#[test]
fn a_name_added_to_a_legacy_wildcard_leaves_the_wildcard() {
    let mut delta = Delta::new(&["CDS a=1 b=1"]);
    let first = delta.subscribe("CDS", &[]);
    delta.settle(first);
    let second = delta.subscribe("CDS", &["a"]);
    assert_eq!(told(&second), ["CDS: a=1"], "a new subscription is answered although held");
    delta.settle(second);
    let third = delta.publish(&["CDS a=2 b=2"]);
    assert_eq!(told(&third), ["CDS: a=2 b=2"]);
    delta.settle(third);
    delta.unsubscribe("CDS", &["*"]);
    delta.unsubscribe("CDS", &["a"]);
    assert_eq!(told(&delta.publish(&["CDS a=3 b=3"])), [""; 0], "an empty list is no wildcard any more");
}

#[test]
fn only_what_changed_is_sent() {
    let mut delta = Delta::new(&["CDS a=1 b=1 c=1"]);
    let first = delta.subscribe("CDS", &[]);
    delta.settle(first);
    let next = delta.publish(&["CDS a=1 b=2 d=1"]);
    assert_eq!(delta.settle(next), ["CDS: b=2 d=1", "CDS: -c"]);
    assert_eq!(told(&delta.publish(&["CDS a=1 b=2 d=1"])), [""; 0]);
}

#[test]
fn a_response_carries_names_versions_and_types() {
    let mut delta = Delta::with(
        Options { control_plane: "test".to_owned(), ..Options::default() },
        Some(snapshot(&["LDS a=1"])),
    );
    let response = delta.subscribe("LDS", &[]).remove(0);
    let resource = &response.resources[0];
    assert_eq!((resource.name.as_str(), resource.version.as_str()), ("a", version("a", "1").as_str()));
    assert_eq!(resource.resource.as_ref().map(|any| any.type_url.as_str()), Some(url("LDS")));
    assert_eq!(response.type_url, url("LDS"));
    assert_eq!(response.control_plane.map(|plane| plane.identifier).as_deref(), Some("test"));
    assert!(!response.nonce.is_empty() && !response.system_version_info.is_empty());
}

#[test]
fn an_unknown_name_is_told_gone_and_remembered() {
    let mut delta = Delta::new(&["EDS a=1"]);
    let first = delta.subscribe("EDS", &["a", "b"]);
    assert_eq!(told(&first), ["EDS: a=1 -b"]);
    delta.settle(first);
    assert_eq!(told(&delta.publish(&["EDS a=1 b=1 c=1"])), ["EDS: b=1"]);
}

#[test]
fn every_subscription_is_answered_even_a_repeated_one() {
    let mut delta = Delta::new(&["EDS a=1"]);
    for _ in 0..3 {
        let answer = delta.subscribe("EDS", &["a", "a", "x"]);
        assert_eq!(told(&answer), ["EDS: a=1 -x"]);
        delta.settle(answer);
    }
}

#[test]
fn a_subscription_while_a_response_is_under_way_is_answered_after_it() {
    let mut delta = Delta::new(&["EDS a=1 b=1"]);
    let first = delta.subscribe("EDS", &["a"]);
    assert_eq!(told(&delta.subscribe("EDS", &["a", "b"])), [""; 0]);
    assert_eq!(told(&delta.ack(&first[0])), ["EDS: a=1 b=1"]);
}

#[test]
fn what_is_unsubscribed_is_not_sent_any_more() {
    let mut delta = Delta::new(&["EDS a=1 b=1"]);
    let first = delta.subscribe("EDS", &["a", "b"]);
    // Unsubscribing crosses the response.
    delta.unsubscribe("EDS", &["b"]);
    delta.settle(first);
    let status = delta.session.status(delta.snapshot.as_ref(), &delta.memory);
    assert_eq!((status[0].names, status[0].held), (1, 1));
    let next = delta.publish(&["EDS a=2 b=2"]);
    assert_eq!(told(&next), ["EDS: a=2"]);
    delta.settle(next);
    let again = delta.subscribe("EDS", &["b"]);
    assert_eq!(told(&again), ["EDS: b=2"]);
    delta.settle(again);
    delta.unsubscribe("EDS", &["a", "b"]);
    assert_eq!(told(&delta.publish(&["EDS a=3"])), [""; 0]);
}

#[test]
fn unsubscribing_a_name_under_a_wildcard_is_answered() {
    let mut delta = Delta::new(&["LDS a=1"]);
    let first = delta.subscribe("LDS", &["*", "a", "x"]);
    delta.settle(first);
    let answer = delta.unsubscribe("LDS", &["a", "x"]);
    assert_eq!(told(&answer), ["LDS: a=1 -x"]);
    delta.settle(answer);
    assert_eq!(told(&delta.unsubscribe("LDS", &["a", "never"])), [""; 0]);
    assert_eq!(told(&delta.publish(&["LDS a=2"])), ["LDS: a=2"]);
}

#[test]
fn a_stale_nonce_acknowledges_nothing_but_its_names_count() {
    let mut delta = Delta::new(&["EDS a=1 b=1"]);
    let first = delta.subscribe("EDS", &["a"]);
    let stale = DeltaDiscoveryRequest {
        type_url: url("EDS").to_owned(),
        response_nonce: "no such nonce".to_owned(),
        resource_names_subscribe: strings(&["b"]),
        error_detail: Some(Default::default()),
        ..Default::default()
    };
    assert_eq!(told(&delta.request(stale)), [""; 0]);
    assert_eq!(nacks(&delta.events), [""; 0]);
    assert_eq!(told(&delta.ack(&first[0])), ["EDS: b=1"]);
    assert_eq!(told(&delta.ack(&first[0])), [""; 0], "an ACK counts once");
}

#[test]
fn one_response_of_a_type_is_under_way_at_a_time_and_changes_merge() {
    let mut delta = Delta::new(&["LDS a=1"]);
    let first = delta.subscribe("LDS", &[]);
    assert_eq!(told(&delta.publish(&["LDS a=2 b=1"])), [""; 0]);
    assert_eq!(told(&delta.publish(&["LDS a=3"])), [""; 0]);
    assert_eq!(delta.settle(first), ["LDS: a=1", "LDS: a=3"]);
}

#[test]
fn a_change_taken_back_before_it_was_sent_is_not_sent() {
    let mut delta = Delta::new(&["LDS a=1"]);
    let first = delta.subscribe("LDS", &[]);
    delta.publish(&["LDS a=2"]);
    delta.publish(&["LDS a=1"]);
    assert_eq!(delta.settle(first), ["LDS: a=1"]);
}

#[test]
fn a_refused_version_is_not_sent_again_until_it_changes() {
    let mut delta = Delta::new(&["LDS a=bad"]);
    let first = delta.subscribe("LDS", &[]);
    assert_eq!(told(&delta.nack(&first[0], "no good")), [""; 0]);
    assert_eq!(nacks(&delta.events), ["LDS: a"]);
    assert_eq!(told(&delta.publish(&["LDS a=bad b=1"])), ["LDS: b=1"]);
    let status = &delta.session.status(delta.snapshot.as_ref(), &delta.memory)[0];
    assert_eq!(status.rejected.len(), 1);
    assert_eq!((&*status.rejected[0].name, &*status.rejected[0].message), ("a", "no good"));
    assert!(!status.in_sync());
    let next = delta.publish(&["LDS a=good b=1"]);
    assert_eq!(told(&next), [""; 0], "the response before is still under way");
}

#[test]
fn a_refused_version_is_not_sent_after_a_reconnect() {
    let mut delta = Delta::new(&["CDS c=1", "LDS a=1"]);
    let all = delta.subscribe("LDS", &[]);
    delta.settle(all);
    let bad = delta.publish(&["CDS c=1", "LDS a=bad"]);
    delta.nack(&bad[0], "no good");
    delta.reconnect();
    assert_eq!(told(&delta.resume("LDS", &[], &["a=1"])), [""; 0]);
    assert_eq!(told(&delta.publish(&["LDS a=2"])), ["LDS: a=2"]);
}

#[test]
fn a_new_process_is_offered_what_the_old_one_refused() {
    let mut delta = Delta::new(&["LDS a=1 b=1"]);
    let first = delta.subscribe("LDS", &[]);
    delta.settle(first);
    let bad = delta.publish(&["LDS a=1 b=bad"]);
    delta.nack(&bad[0], "port in use");
    delta.reconnect();
    assert_eq!(told(&delta.subscribe("LDS", &[])), ["LDS: a=1 b=bad"]);
    assert!(delta.events.contains(&Event::Restarted));
}

#[test]
fn a_client_that_never_held_anything_keeps_its_refusals() {
    let mut delta = Delta::new(&["LDS a=bad"]);
    let first = delta.subscribe("LDS", &[]);
    delta.nack(&first[0], "no good");
    delta.reconnect();
    assert_eq!(told(&delta.subscribe("LDS", &[])), ["LDS:"], "answered, but without the refused one");
}

#[test]
fn a_refusal_that_names_the_bad_one_spares_the_others() {
    let mut delta = Delta::new(&["LDS a=1 bad=1 b=1"]);
    let first = delta.subscribe("LDS", &[]);
    let second = delta.nack(&first[0], "Error adding/updating listener(s) bad: no such filter");
    assert_eq!(told(&second), ["LDS: a=1 b=1"]);
    assert_eq!(nacks(&delta.events), ["LDS: bad"]);
    assert_eq!(delta.settle(second), ["LDS: a=1 b=1"]);
}

#[test]
fn a_refusal_that_names_nothing_is_held_against_all() {
    let mut delta = Delta::new(&["LDS a=1 b=1"]);
    let first = delta.subscribe("LDS", &[]);
    assert_eq!(told(&delta.nack(&first[0], "something is wrong")), [""; 0]);
    assert_eq!(nacks(&delta.events), ["LDS: a,b"]);
    assert_eq!(told(&delta.publish(&["LDS a=1 b=2"])), ["LDS: b=2"]);
}

#[test]
fn answers_that_were_refused_along_with_a_bad_one_are_still_due() {
    let mut delta = Delta::new(&["EDS a=1 b=1"]);
    let first = delta.subscribe("EDS", &["a", "b", "x"]);
    delta.settle(first);
    delta.publish(&["EDS a=1 b=1"]);
    // The client has dropped what it names again, and a bad one comes in between.
    delta.snapshot = Some(snapshot(&["EDS a=1 b=bad"]));
    let answer = delta.subscribe("EDS", &["a", "b", "x"]);
    assert_eq!(told(&answer), ["EDS: a=1 b=bad -x"]);
    assert_eq!(told(&delta.nack(&answer[0], "no good")), ["EDS: a=1 -x"]);
    assert_eq!(nacks(&delta.events), ["EDS: b"], "only what was new is at fault");
}

#[test]
fn the_successor_of_a_refused_version_waits_like_any_change() {
    let mut delta = Delta::new(&["CDS c=1", "RDS r=bad"]);
    let clusters = delta.subscribe("CDS", &[]);
    delta.settle(clusters);
    let routes = delta.subscribe("RDS", &["r"]);
    delta.nack(&routes[0], "no good");
    assert_eq!(told(&delta.subscribe("RDS", &["r"])), [""; 0]);
    let change = delta.publish(&["CDS c=2", "RDS r=2"]);
    assert_eq!(told(&change), ["CDS: c=2"]);
    assert_eq!(delta.settle(change), ["CDS: c=2", "RDS: r=2"]);
}

#[test]
fn what_a_wildcard_client_runs_on_is_removed_even_if_its_successor_was_refused() {
    let mut delta = Delta::new(&["LDS a=1"]);
    let first = delta.subscribe("LDS", &["*", "a"]);
    delta.settle(first);
    let bad = delta.publish(&["LDS a=bad"]);
    delta.nack(&bad[0], "no good");
    assert_eq!(told(&delta.unsubscribe("LDS", &["a"])), [""; 0]);
    assert_eq!(told(&delta.publish(&[])), ["LDS: -a"]);
}

#[test]
fn a_refused_removal_is_not_repeated() {
    let mut delta = Delta::new(&["LDS a=1"]);
    let first = delta.subscribe("LDS", &[]);
    delta.settle(first);
    let removal = delta.publish(&[]);
    assert_eq!(told(&removal), ["LDS: -a"]);
    assert_eq!(told(&delta.nack(&removal[0], "will not")), [""; 0]);
    assert_eq!(told(&delta.publish(&[])), [""; 0]);
}

#[test]
fn a_refused_version_that_was_replaced_may_come_back() {
    let mut delta = Delta::new(&["LDS a=bad"]);
    let first = delta.subscribe("LDS", &[]);
    delta.nack(&first[0], "no good");
    let next = delta.publish(&["LDS a=2"]);
    delta.settle(next);
    assert_eq!(told(&delta.publish(&["LDS a=bad"])), ["LDS: a=bad"]);
}

#[test]
fn a_reconnect_sends_nothing_that_is_held() {
    let mut delta = Delta::new(&["CDS a=1 b=1", "EDS a=1 b=1", "LDS l=1"]);
    assert_eq!(told(&delta.resume("CDS", &[], &["a=1", "b=1"])), [""; 0]);
    assert_eq!(told(&delta.resume("EDS", &["a", "b"], &["a=1", "b=1"])), [""; 0]);
    assert_eq!(told(&delta.resume("LDS", &["*"], &["l=1"])), [""; 0]);
    assert_eq!(told(&delta.grace_over()), [""; 0]);
    assert!(delta.session.status(delta.snapshot.as_ref(), &delta.memory).iter().all(|t| t.in_sync()));
}

#[test]
fn a_reconnect_sends_the_difference() {
    let mut delta = Delta::new(&["LDS a=1 b=2 c=1", "RDS r=1"]);
    let listeners = delta.resume("LDS", &[], &["a=1", "b=1", "gone=1"]);
    assert_eq!(told(&listeners), ["LDS: b=2 c=1 -gone"]);
    delta.settle(listeners);
    // A name that is new with this stream, one that is gone, one that is held.
    let routes = delta.resume("RDS", &["r", "s", "t"], &["r=1", "s=1"]);
    assert_eq!(delta.settle(routes), ["RDS: -t -s"]);
}

#[test]
fn after_a_reconnect_removals_wait_until_the_client_has_said_all_it_uses() {
    let mut delta = Delta::new(&["CDS a=1", "LDS l=2"]);
    assert_eq!(told(&delta.resume("CDS", &[], &["a=1", "gone=1"])), [""; 0]);
    let listeners = delta.resume("LDS", &[], &["l=1"]);
    assert_eq!(delta.settle(listeners), ["LDS: l=2"]);
    assert_eq!(told(&delta.grace_over()), ["CDS: -gone"]);
}

#[test]
fn filters_travel_alone() {
    let mut delta = Delta::new(&["ECDS f=1 g=bad h=1"]);
    let first = delta.subscribe("ECDS", &["f", "g", "h", "x"]);
    assert_eq!(told(&first), ["ECDS: f=1"]);
    let second = delta.ack(&first[0]);
    assert_eq!(told(&second), ["ECDS: g=bad"]);
    let third = delta.nack(&second[0], "no good");
    assert_eq!(delta.settle(third), ["ECDS: h=1", "ECDS: -x"]);
    assert_eq!(nacks(&delta.events), ["ECDS: g"]);
}

#[test]
fn without_a_snapshot_a_client_waits() {
    let mut delta = Delta::with(Options::default(), None);
    assert_eq!(told(&delta.subscribe("CDS", &[])), [""; 0]);
    assert_eq!(told(&delta.subscribe("EDS", &["x"])), [""; 0]);
    assert_eq!(told(&delta.publish(&["CDS a=1"])), ["CDS: a=1", "EDS: -x"]);
}

#[test]
fn limits_end_the_stream() {
    let options = Options { max_types: 1, max_names: 2, ..Options::default() };
    let mut delta = Delta::with(options, Some(snapshot(&[])));
    let request = |type_url: &str, names: &[&str]| DeltaDiscoveryRequest {
        type_url: type_url.to_owned(),
        resource_names_subscribe: strings(names),
        ..Default::default()
    };
    let mut send =
        |request| delta.session.on_request(request, delta.snapshot.as_ref(), &mut delta.memory).map(drop);
    assert_eq!(send(request("", &[])), Err(SessionError::NoTypeUrl));
    assert_eq!(send(request("t/one", &["a"])), Ok(()));
    assert_eq!(send(request("t/two", &["a"])), Err(SessionError::TooManyTypes { limit: 1 }));
    assert_eq!(send(request("t/one", &["b", "c"])), Err(SessionError::TooManyNames { limit: 2 }));
}
