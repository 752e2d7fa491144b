//! Make before break, and what goes along with what.

use crate::testing::{Delta, nacks, snapshot, told};

/// A client that has everything of a small gateway.
fn settled() -> Delta {
    let mut delta = Delta::new(&["CDS a=1", "ECDS f=1", "LDS l=1", "RDS r=1"]);
    for (short, names) in [("CDS", &[][..]), ("LDS", &[]), ("ECDS", &["f"]), ("RDS", &["r"])] {
        let responses = delta.subscribe(short, names);
        assert_eq!(delta.settle(responses).len(), 1);
    }
    delta
}

#[test]
fn additions_go_from_what_is_referred_to_to_what_refers() {
    let mut delta = settled();
    let first = delta.publish(&["CDS a=2", "ECDS f=2", "LDS l=2", "RDS r=2"]);
    assert_eq!(told(&first), ["CDS: a=2"], "the others wait for the answer");
    assert_eq!(delta.settle(first), ["CDS: a=2", "ECDS: f=2", "LDS: l=2", "RDS: r=2"]);
}

#[test]
fn a_request_that_comes_before_the_news_of_a_snapshot_does_not_overtake_it() {
    let mut delta = settled();
    let first = delta.publish(&["CDS a=1", "ECDS f=1", "LDS l=1", "RDS r=2"]);
    delta.snapshot = Some(snapshot(&["CDS a=2", "ECDS f=2", "LDS l=1", "RDS r=3"]));
    assert_eq!(delta.settle(first), ["RDS: r=2", "CDS: a=2", "ECDS: f=2", "RDS: r=3"]);
}

#[test]
fn a_refusal_lets_the_others_go_on() {
    let mut delta = settled();
    let first = delta.publish(&["CDS a=bad", "ECDS f=1", "LDS l=1", "RDS r=2"]);
    assert_eq!(told(&delta.nack(&first[0], "no good")), ["RDS: r=2"]);
    assert_eq!(nacks(&delta.events), ["CDS: a"]);
}

#[test]
fn what_is_referred_to_is_removed_last() {
    let mut delta = settled();
    let first = delta.publish(&["CDS b=1", "RDS r=2"]);
    assert_eq!(delta.settle(first), ["CDS: b=1", "LDS: -l", "RDS: r=2", "ECDS: -f", "CDS: -a"]);
}

#[test]
fn endpoints_are_removed_after_their_cluster() {
    let mut delta = Delta::new(&["CDS eds-a=1 b=1", "EDS eds-a=1", "RDS r=1"]);
    for (short, names) in [("CDS", &[][..]), ("EDS", &["eds-a"]), ("RDS", &["r"])] {
        let responses = delta.subscribe(short, names);
        delta.settle(responses);
    }
    let first = delta.publish(&["CDS b=1", "RDS r=2"]);
    assert_eq!(delta.settle(first), ["RDS: r=2", "CDS: -eds-a", "EDS: -eds-a"]);
}

#[test]
fn removals_wait_for_the_answers_to_what_referred_to_them() {
    let mut delta = settled();
    let first = delta.publish(&["ECDS f=1", "LDS l=1", "RDS r=2"]);
    assert_eq!(told(&first), ["RDS: r=2"]);
    assert_eq!(told(&delta.publish(&["ECDS f=1", "LDS l=1", "RDS r=2"])), [""; 0]);
    assert_eq!(told(&delta.ack(&first[0])), ["CDS: -a"]);
}

#[test]
fn a_new_subscription_does_not_wait_for_answers_of_other_types() {
    let mut delta = Delta::new(&["CDS a=1", "LDS l=1", "RDS r=1"]);
    assert_eq!(told(&delta.subscribe("CDS", &[])), ["CDS: a=1"]);
    assert_eq!(told(&delta.subscribe("LDS", &[])), ["LDS: l=1"]);
    assert_eq!(told(&delta.subscribe("RDS", &["r"])), ["RDS: r=1"]);
}

#[test]
fn a_new_subscription_waits_for_what_it_may_refer_to_to_be_sent() {
    let mut delta = Delta::new(&["CDS a=1", "RDS r=1"]);
    let clusters = delta.subscribe("CDS", &[]);
    delta.publish(&["CDS a=1 b=1", "RDS r=2"]);
    assert_eq!(told(&delta.subscribe("RDS", &["r"])), [""; 0], "route 2 may use cluster b");
    assert_eq!(told(&delta.ack(&clusters[0])), ["CDS: b=1", "RDS: r=2"]);
}

#[test]
fn endpoints_are_sent_again_when_their_cluster_changes() {
    let mut delta = Delta::new(&["CDS eds-a=1 eds-b=1", "EDS eds-a=1 eds-b=1"]);
    for (short, names) in [("CDS", &[][..]), ("EDS", &["eds-a", "eds-b"])] {
        let responses = delta.subscribe(short, names);
        assert_eq!(delta.settle(responses).len(), 1);
    }
    let change = delta.publish(&["CDS eds-a=2 eds-b=1", "EDS eds-a=1 eds-b=1"]);
    assert_eq!(delta.settle(change), ["CDS: eds-a=2", "EDS: eds-a=1"]);
}

#[test]
fn endpoints_asked_for_after_the_change_are_sent_once() {
    let mut delta = Delta::new(&["CDS eds-a=1", "EDS eds-a=1"]);
    let clusters = delta.subscribe("CDS", &[]);
    let endpoints = delta.subscribe("EDS", &["eds-a"]);
    assert_eq!(told(&endpoints), ["EDS: eds-a=1"]);
    delta.settle(endpoints);
    assert_eq!(delta.settle(clusters), ["CDS: eds-a=1"]);
}

#[test]
fn endpoints_of_a_refused_cluster_are_not_sent_again() {
    let mut delta = Delta::new(&["CDS eds-a=1", "EDS eds-a=1"]);
    for (short, names) in [("CDS", &[][..]), ("EDS", &["eds-a"])] {
        let responses = delta.subscribe(short, names);
        delta.settle(responses);
    }
    let change = delta.publish(&["CDS eds-a=bad", "EDS eds-a=1"]);
    // They go along with the cluster, as it may be accepted only when it has them.
    assert_eq!(told(&change), ["CDS: eds-a=bad", "EDS: eds-a=1"]);
    delta.ack(&change[1]);
    let next = delta.publish(&["CDS eds-a=2", "EDS eds-a=1"]);
    assert_eq!(told(&next), [""; 0], "one at a time");
    assert_eq!(told(&delta.nack(&change[0], "no good")), ["CDS: eds-a=2", "EDS: eds-a=1"]);
}

#[test]
fn a_mark_left_by_a_refused_cluster_is_taken_back() {
    let mut delta = Delta::new(&["CDS eds-a=1", "EDS eds-a=1"]);
    let clusters = delta.subscribe("CDS", &[]);
    delta.settle(clusters);
    let endpoints = delta.subscribe("EDS", &["eds-a"]);
    // The endpoints are still under way when the cluster is refused.
    let change = delta.publish(&["CDS eds-a=bad", "EDS eds-a=1"]);
    assert_eq!(told(&change), ["CDS: eds-a=bad"]);
    delta.nack(&change[0], "no good");
    assert_eq!(delta.settle(endpoints), ["EDS: eds-a=1"]);
}

/// A client that accepts clusters only when they are warm, as Envoy does.
#[test]
fn what_a_cluster_needs_does_not_wait_for_the_cluster() {
    let mut delta = Delta::new(&["CDS eds-a=1", "EDS eds-a=1", "SDS s=1", "RDS r=1"]);
    for (short, names) in [("CDS", &[][..]), ("EDS", &["eds-a"]), ("SDS", &["s"]), ("RDS", &["r"])] {
        let responses = delta.subscribe(short, names);
        delta.settle(responses);
    }
    let change = delta.publish(&["CDS eds-a=2 eds-b=1", "EDS eds-a=1 eds-b=1", "SDS s=1 t=1", "RDS r=2"]);
    assert_eq!(told(&change), ["CDS: eds-a=2 eds-b=1", "EDS: eds-a=1"]);
    delta.ack(&change[1]);
    // The new cluster makes the client ask for more, and meanwhile the next change arrives.
    let next = delta.publish(&["CDS eds-a=3 eds-b=1", "EDS eds-a=1 eds-b=1", "SDS s=2 t=1 u=1", "RDS r=3"]);
    assert_eq!(told(&next), [""; 0]);
    let endpoints = delta.subscribe("EDS", &["eds-b"]);
    assert_eq!(delta.settle(endpoints), ["EDS: eds-b=1"]);
    let secrets = delta.subscribe("SDS", &["t", "x"]);
    assert_eq!(delta.settle(secrets), ["SDS: t=1", "SDS: -x"], "what is held already waits");
    // A secret that comes to exist only now may be what the cluster is waiting for.
    let late = delta.publish(&["CDS eds-a=3 eds-b=1", "EDS eds-a=1 eds-b=1", "SDS s=2 t=1 x=1", "RDS r=3"]);
    assert_eq!(delta.settle(late), ["SDS: x=1"]);
    let rest = delta.ack(&change[0]);
    assert_eq!(delta.settle(rest), ["CDS: eds-a=3", "EDS: eds-a=1", "SDS: s=2", "RDS: r=3"]);
}

#[test]
fn an_answer_that_takes_too_long_holds_up_nothing() {
    let mut delta = settled();
    let stuck = delta.publish(&["CDS a=2", "ECDS f=1", "LDS l=1", "RDS r=2"]);
    assert_eq!(told(&stuck), ["CDS: a=2"]);
    assert!(delta.session.awaits_answer());
    assert_eq!(told(&delta.tick()), [""; 0]);
    let late = delta.tick();
    assert_eq!(delta.settle(late), ["RDS: r=2"]);
    assert!(!delta.session.awaits_answer());
    // The correction of what takes too long must get through.
    let fixed = delta.publish(&["CDS a=3", "ECDS f=1", "LDS l=1", "RDS r=2"]);
    assert_eq!(delta.settle(fixed), ["CDS: a=3"]);
    assert_eq!(told(&delta.ack(&stuck[0])), [""; 0]);
    assert!(delta.session.status(delta.snapshot.as_ref(), &delta.memory).iter().all(|t| t.in_sync()));
}

#[test]
fn a_client_that_answers_nothing_is_not_sent_responses_without_end() {
    let mut delta = Delta::new(&["CDS a=0"]);
    let mut sent = delta.subscribe("CDS", &[]).len();
    for n in 1..100 {
        delta.tick();
        delta.tick();
        sent += delta.publish(&[&format!("CDS a={n}")]).len();
    }
    assert_eq!(sent, 8);
}

#[test]
fn endpoints_refused_along_with_bad_ones_are_still_sent_again() {
    let mut delta = Delta::new(&["CDS eds-a=1", "EDS eds-a=1 b=1"]);
    for (short, names) in [("CDS", &[][..]), ("EDS", &["eds-a", "b"])] {
        let responses = delta.subscribe(short, names);
        delta.settle(responses);
    }
    let change = delta.publish(&["CDS eds-a=2", "EDS eds-a=1 b=bad"]);
    assert_eq!(told(&change), ["CDS: eds-a=2", "EDS: b=bad eds-a=1"]);
    assert_eq!(told(&delta.nack(&change[1], "no good")), ["EDS: eds-a=1"]);
}

#[test]
fn unknown_types_go_between_endpoints_and_listeners() {
    let mut delta = Delta::new(&["CDS a=1", "SDS s=1", "LDS l=1"]);
    for (short, names) in [("LDS", &[][..]), ("SDS", &["s"]), ("CDS", &[])] {
        let responses = delta.subscribe(short, names);
        delta.settle(responses);
    }
    let change = delta.publish(&["LDS l=2", "SDS s=2", "CDS a=2"]);
    assert_eq!(delta.settle(change), ["CDS: a=2", "SDS: s=2", "LDS: l=2"]);
}
