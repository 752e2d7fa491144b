use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::config::{Policy, Rule, Step};
use crate::fake::{FakeHost, FakeRequest, FakeTable};
use crate::life::Life;
use crate::place::Place;
use crate::record;
use crate::replica::Replica;

fn config() -> FilterConfig {
    let step = |key_header: &str, forward_key| Step {
        key_header: key_header.to_owned(),
        places: Vec::new(),
        table: "t".to_owned(),
        forward_key,
        headers: Vec::new(),
        anonymous: false,
        allowed: None,
    };
    let team = || MetadataHeader { header: "x-team".to_owned(), entry: "team".to_owned() };
    let either = Some(Rule::Any(vec![Rule::Step(0), Rule::Step(1)]));
    FilterConfig {
        version: 1,
        role: "default~gateway".to_owned(),
        control_cluster: "control".to_owned(),
        identity_header: "x-user-id".to_owned(),
        wait_for_keys_ms: 5_000,
        usage_report_ms: crate::config::DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: crate::config::DEFAULT_MAX_TABLE_BYTES,
        access_log: false,
        policies: BTreeMap::from([
            ("ns/places".to_owned(), Policy::of(Step { places: places(), ..step("", false) })),
            ("ns/places-kept".to_owned(), Policy::of(Step { places: places(), ..step("", true) })),
            ("ns/a".to_owned(), Policy::of(step("api-key", false))),
            ("ns/forward".to_owned(), Policy::of(step("api-key", true))),
            ("ns/clash".to_owned(), Policy::of(step("x-user-id", false))),
            ("ns/team".to_owned(), Policy::of(Step { headers: vec![team()], ..step("api-key", false) })),
            ("ns/open".to_owned(), Policy::of(Step { anonymous: true, ..step("api-key", true) })),
            (
                "ns/open-team".to_owned(),
                Policy::of(Step { anonymous: true, headers: vec![team()], ..step("api-key", false) }),
            ),
            (
                "ns/a@1".to_owned(),
                Policy::of(Step { allowed: Some("t@1".to_owned()), ..step("api-key", false) }),
            ),
            ("ns/either".to_owned(), Policy::new(vec![step("api-key", false), step("x-key", true)], either)),
        ]),
        standalone: None,
    }
}

/// One place of each sort.
fn places() -> Vec<Place> {
    let header = |name: &str, prefix: Option<&str>| Place::Header {
        name: name.to_owned(),
        prefix: prefix.map(str::to_owned),
    };
    vec![
        header("api-key", None),
        header("authorization", Some("Bearer")),
        Place::Query("key".to_owned()),
        Place::Cookie("key".to_owned()),
    ]
}

fn keys() -> Replica {
    let mut replica = Replica::new();
    let list = FakeTable::new(1, &[("k2", "bob")]).snapshot("t@1", 9);
    for message in FakeTable::new(1, &[("k1", "ann"), ("k2", "bob")]).snapshot("t", 9).into_iter().chain(list)
    {
        replica.on_message(&message).expect("a message");
    }
    replica
}

fn run(host: &mut FakeHost) -> Outcome {
    on_request_headers(&config(), &keys(), host)
}

/// What the upstream gets in the two headers that matter, or the status that the client gets.
fn check(route: &str, headers: &[(&str, &str)], expected: &str) {
    let mut host = FakeHost::with(FakeRequest::new(route, headers));
    let seen = match run(&mut host) {
        Outcome::Forward(_) => {
            let request = host.request();
            assert!(request.replies.is_empty());
            format!("x-user-id {:?} api-key {:?}", request.values("x-user-id"), request.values("api-key"))
        }
        Outcome::Answered => host.request().fate(),
        Outcome::Wait => "waits".to_owned(),
    };
    assert_eq!(seen, expected, "{route} with {headers:?}");
    assert_eq!(host.metrics.values().sum::<i64>(), 1, "one thing is counted for one request");
}

#[test]
fn a_valid_key_becomes_an_identity_and_goes_no_further() {
    check("ns/a|r", &[("api-key", "k1")], r#"x-user-id ["ann"] api-key []"#);
    check("ns/a|r", &[("api-key", "k1"), ("api-key", "k1")], r#"x-user-id ["ann"] api-key []"#);
    check("ns/a|r", &[("api-key", ""), ("api-key", "k1")], r#"x-user-id ["ann"] api-key []"#);
}

#[test]
fn two_different_keys_are_refused_also_in_one_header() {
    for (one, other) in [("k1", "k2"), ("k1", "nope"), ("nope", "k1")] {
        check("ns/a|r", &[("api-key", one), ("api-key", other)], "401");
        let request = FakeRequest::new("ns/a|r", &[("api-key", one), ("x-between", ","), ("api-key", other)]);
        let mut host = FakeHost::with(request);
        run(&mut host);
        assert_eq!(host.request().denial, Some("ambiguous"), "{one} and {other}");
    }
}

#[test]
fn an_identity_that_a_client_brings_is_overwritten() {
    let headers = [("x-user-id", "root"), ("api-key", "k1"), ("x-user-id", "admin")];
    check("ns/a|r", &headers, r#"x-user-id ["ann"] api-key []"#);
    check("ns/a|r", &[("x-user-id", "root")], "401");
}

#[test]
fn a_key_that_is_forwarded_is_the_one_that_was_verified() {
    check("ns/forward|r", &[("api-key", "k1")], r#"x-user-id ["ann"] api-key ["k1"]"#);
    check("ns/forward|r", &[("api-key", "k1"), ("api-key", "k1")], r#"x-user-id ["ann"] api-key ["k1"]"#);
    check("ns/forward|r", &[("api-key", "k1"), ("api-key", "smuggled")], "401");
}

#[test]
fn an_identity_stands_even_if_the_key_came_in_its_header() {
    check("ns/clash|r", &[("x-user-id", "k1")], r#"x-user-id ["ann"] api-key []"#);
}

#[test]
fn who_has_no_valid_key_is_told_so() {
    check("ns/a|r", &[], "401");
    check("ns/a|r", &[("api-key", "")], "401");
    check("ns/a|r", &[("api-key", "K1")], "401");
    let mut host = FakeHost::with(FakeRequest::new("ns/a|r", &[]));
    assert_eq!(run(&mut host), Outcome::Answered);
    let reply = host.request().replies[0];
    assert_eq!(reply.headers, [("www-authenticate", "API key is missing or invalid")]);
}

#[test]
fn a_route_without_a_policy_lets_nobody_pass() {
    check("ns/gone|r", &[("api-key", "k1")], "403");
    check("plain", &[("api-key", "k1")], "403");
    let mut host = FakeHost::with(FakeRequest::new("", &[("api-key", "k1")]));
    host.requests.get_mut(&1).expect("the request").route = None;
    assert_eq!(run(&mut host), Outcome::Answered);
    assert_eq!(host.request().fate(), "403");
}

#[test]
fn without_keys_a_request_waits_and_nothing_is_done_to_it() {
    let before = FakeRequest::new("ns/a|r", &[("api-key", "k1"), ("x-user-id", "root")]);
    let mut host = FakeHost::with(before.clone());
    assert_eq!(on_request_headers(&config(), &Replica::new(), &mut host), Outcome::Wait);
    assert_eq!(host.request().headers, before.headers);
    assert_eq!(host.request().fate(), "waits");
    assert!(host.metrics.is_empty());
}

#[test]
fn what_the_proxy_refuses_to_do_is_never_a_reason_to_let_pass() {
    for route in ["ns/a|r", "ns/forward|r"] {
        for after in 0..2 {
            let mut host = FakeHost::with(FakeRequest::new(route, &[("api-key", "k1")]));
            host.refuse_after = Some(after);
            assert_eq!(run(&mut host), Outcome::Answered, "{route}, call {after}");
            assert_eq!(host.request().fate(), "503", "{route}, call {after}");
            assert_eq!(host.metric(Metric::Unavailable), 1);
        }
    }
}

#[test]
fn an_identity_in_a_response_is_removed() {
    let mut request = FakeRequest::new("ns/a|r", &[]);
    let header = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    request.response = vec![header("x-user-id", "a"), header("etag", "b"), header("x-user-id", "c")];
    let mut host = FakeHost::with(request);
    assert_eq!(on_response_headers(&config(), &mut host), Ok(()));
    assert_eq!(host.request().response, [header("etag", "b")]);
}

proptest! {
    /// Whatever a client sends: exactly who sent a valid key and no other is forwarded, under his own name.
    #[test]
    fn nobody_passes_under_another_name(
        headers in prop::collection::vec(
            (
                prop_oneof![Just("api-key"), Just("x-user-id"), Just("other")],
                prop_oneof![
                    Just(b"k1".to_vec()),
                    Just(b"k2".to_vec()),
                    prop::collection::vec(any::<u8>(), 0..40),
                ],
            ),
            0..8,
        ),
        route in prop_oneof![
            Just(b"ns/a|r".to_vec()),
            Just(b"ns/forward|r".to_vec()),
            prop::collection::vec(any::<u8>(), 0..12),
        ],
    ) {
        let sent = headers.iter().filter(|(name, value)| *name == "api-key" && !value.is_empty());
        let sent: BTreeSet<&[u8]> = sent.map(|(_, value)| value.as_slice()).collect();
        let known = [&b"ns/a|r"[..], b"ns/forward|r"].contains(&route.as_slice());
        let owner = match sent.into_iter().collect::<Vec<_>>()[..] {
            [b"k1"] if known => Some("ann"),
            [b"k2"] if known => Some("bob"),
            _ => None,
        };
        let mut request = FakeRequest::new("", &[]);
        request.route = Some(route);
        request.headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
        let mut host = FakeHost::with(request);
        match run(&mut host) {
            Outcome::Forward(_) => {
                let names = host.request().values("x-user-id");
                prop_assert_eq!(names.iter().map(String::as_str).collect::<Vec<_>>(), Vec::from_iter(owner));
            }
            Outcome::Answered => {
                prop_assert_eq!(owner, None);
                prop_assert!(matches!(host.request().fate().as_str(), "401" | "403"));
            }
            Outcome::Wait => prop_assert!(false, "the keys are there"),
        }
    }
}

#[test]
fn metadata_of_the_key_go_into_headers_and_nobody_else_brings_them() {
    let record = record::pack(Life::ALWAYS, "ann", [("team", &b"blue"[..])]);
    let mut keys = FakeTable::new(1, &[("k2", "bob")]);
    keys.insert("k1", &record);
    let mut replica = Replica::new();
    for message in keys.snapshot("t", 9) {
        replica.on_message(&message).expect("a message");
    }
    for (key, team) in [("k1", vec!["blue"]), ("k2", vec![])] {
        let headers = [("x-team", "smuggled"), ("api-key", key)];
        let mut host = FakeHost::with(FakeRequest::new("ns/team|r", &headers));
        assert!(matches!(on_request_headers(&config(), &replica, &mut host), Outcome::Forward(_)));
        assert_eq!(host.request().values("x-team"), team, "{key}");
    }
}

/// A table with one key of this life.
fn lived(life: Life) -> Replica {
    let mut keys = FakeTable::new(1, &[("k2", "bob")]);
    keys.insert("k1", &record::pack(life, "ann", [("team", &b"blue"[..])]));
    let mut replica = Replica::new();
    for message in keys.snapshot("t", 9) {
        replica.on_message(&message).expect("a message");
    }
    replica
}

#[test]
fn a_key_is_valid_in_its_time_and_clients_are_told_nothing_else_but_401() {
    let (from, until) = (Some(1_000), Some(2_000));
    for (now, life, expected) in [
        (
            999,
            Life { not_before: from, expires_at: until, disabled: false, any_shape: false },
            "not-yet-valid",
        ),
        (1_000, Life { not_before: from, expires_at: until, disabled: false, any_shape: false }, ""),
        (1_999, Life { not_before: from, expires_at: until, disabled: false, any_shape: false }, ""),
        (2_000, Life { not_before: from, expires_at: until, disabled: false, any_shape: false }, "expired"),
        (1_500, Life { not_before: from, expires_at: until, disabled: true, any_shape: true }, "disabled"),
        (9_999, Life { disabled: true, ..Life::ALWAYS }, "disabled"),
    ] {
        let mut host = FakeHost::with(FakeRequest::new("ns/team|r", &[("api-key", "k1")]));
        host.now = now;
        let outcome = on_request_headers(&config(), &lived(life), &mut host);
        assert_eq!(host.request().denial.unwrap_or_default(), expected, "{life:?} at {now}");
        if expected.is_empty() {
            assert!(matches!(outcome, Outcome::Forward(_)));
            assert_eq!(host.request().values("x-user-id"), ["ann"]);
            assert_eq!(host.request().values("x-team"), ["blue"]);
        } else {
            assert_eq!(outcome, Outcome::Answered);
            assert_eq!(host.request().replies, [UNAUTHORIZED]);
            let metric = format!("keyward.denied.{}", expected.replace('-', "_"));
            assert_eq!(host.metrics, BTreeMap::from([(metric.as_str(), 1)]));
        }
    }
}

#[test]
fn without_a_clock_only_a_key_without_a_time_is_valid() {
    for (key, fate) in [("k1", "401"), ("k2", "forward")] {
        let mut host = FakeHost::with(FakeRequest::new("ns/a|r", &[("api-key", key)]));
        host.timeless = true;
        let life = Life { expires_at: Some(u64::MAX), ..Life::ALWAYS };
        let outcome = on_request_headers(&config(), &lived(life), &mut host);
        assert_eq!(matches!(outcome, Outcome::Forward(_)), fate == "forward", "{key}");
    }
}

/// What the upstream gets of the places, or why nobody does.
fn check_places(route: &str, headers: &[(&str, &str)], expected: &str) {
    let mut host = FakeHost::with(FakeRequest::new(route, headers));
    let outcome = run(&mut host);
    let request = host.request();
    let seen = if matches!(outcome, Outcome::Forward(_)) {
        let names = ["x-user-id", "api-key", "authorization", ":path", "cookie"];
        names.map(|name| request.values(name).join("+")).join(" | ")
    } else {
        assert_eq!(request.replies, [UNAUTHORIZED]);
        request.denial.unwrap_or_default().to_owned()
    };
    assert_eq!(seen, expected, "{route} with {headers:?}");
}

#[test]
fn a_key_is_found_in_each_of_its_places_and_taken_out() {
    let check = |headers: &[(&str, &str)], expected: &str| check_places("ns/places|r", headers, expected);
    check(&[(":path", "/a?x=1"), ("api-key", "k1")], "ann |  |  | /a?x=1 | ");
    check(&[(":path", "/a"), ("authorization", "bearer k1")], "ann |  |  | /a | ");
    check(&[(":path", "/a?x=1&key=k1"), ("authorization", "Basic abc")], "ann |  | Basic abc | /a?x=1 | ");
    check(&[(":path", "/a"), ("cookie", "a=b; key=k2")], "bob |  |  | /a | a=b");
    check(&[(":path", "/a"), ("cookie", "key=k2")], "bob |  |  | /a | ");
    check(&[(":path", "/a?key=k1"), ("api-key", "k1"), ("cookie", "key=k1")], "ann |  |  | /a | ");
    // In each of several values, or of several that a proxy has made one of.
    check(&[(":path", "/a"), ("api-key", "k1"), ("api-key", "k1")], "ann |  |  | /a | ");
    check(&[(":path", "/a"), ("authorization", "Bearer k1,bearer k1")], "ann |  |  | /a | ");
    check(&[(":path", "/a"), ("authorization", "Basic abc, Bearer k1")], "ann |  | Basic abc | /a | ");
    let several = ["Basic a,b", "Bearer k1", "Digest c"].map(|value| ("authorization", value));
    check(&[&[(":path", "/a")], &several[..]].concat(), "ann |  | Basic a,b,Digest c | /a | ");
    let several = ["a=b,c", "key=k2", "d=e; key=k2"].map(|value| ("cookie", value));
    check(&[&[(":path", "/a")], &several[..]].concat(), "bob |  |  | /a | a=b,c; d=e");
}

#[test]
fn two_different_keys_are_refused_wherever_they_stand() {
    for route in ["ns/places|r", "ns/places-kept|r"] {
        let check = |headers: &[(&str, &str)], expected: &str| check_places(route, headers, expected);
        check(&[(":path", "/?key=k2"), ("api-key", "k1")], "ambiguous");
        check(&[(":path", "/?key=k1&key=k2")], "ambiguous");
        check(&[(":path", "/"), ("api-key", "k1"), ("authorization", "Bearer nope")], "ambiguous");
        check(&[(":path", "/"), ("api-key", "nope"), ("cookie", "key=k1")], "ambiguous");
        for (name, one, other) in [
            ("api-key", "k1", "k2"),
            ("authorization", "Bearer k1", "Bearer k2"),
            ("authorization", "Bearer k1,Bearer nope", "Basic abc"),
            ("cookie", "key=k1", "a=b; key=k2"),
            ("cookie", "key=nope", "key=k1"),
        ] {
            check(&[(":path", "/"), (name, one), (name, other)], "ambiguous");
            check(&[(":path", "/"), (name, other), (name, one)], "ambiguous");
        }
        check(&[(":path", "/?key=nope"), ("api-key", "")], "unknown");
        check(&[(":path", "/?key="), ("authorization", "Basic k1"), ("cookie", "other=k1")], "missing");
    }
}

#[test]
fn a_key_that_is_forwarded_stays_where_it_stood() {
    let check =
        |headers: &[(&str, &str)], expected: &str| check_places("ns/places-kept|r", headers, expected);
    check(&[(":path", "/a?key=k1"), ("cookie", "a=b")], "ann |  |  | /a?key=k1 | a=b");
    check(&[(":path", "/a"), ("authorization", "bearer k1")], "ann |  | bearer k1 | /a | ");
    check(&[(":path", "/a"), ("api-key", "k1"), ("api-key", "k1")], "ann | k1 |  | /a | ");
}

#[test]
fn a_denial_is_noted_with_its_reason() {
    for (headers, expected) in [
        (&[][..], Some("missing")),
        (&[("api-key", "")], Some("missing")),
        (&[("api-key", "nope")], Some("unknown")),
        (&[("api-key", "k1")], None),
    ] {
        let mut host = FakeHost::with(FakeRequest::new("ns/a|r", headers));
        run(&mut host);
        assert_eq!(host.request().denial, expected, "{headers:?}");
    }
}

#[test]
fn who_is_not_allowed_is_told_403_and_operators_why() {
    for (headers, status, why, metric) in [
        (&[("api-key", "k1")][..], "403", "not-allowed", Metric::DeniedNotAllowed),
        (&[("api-key", "nope")], "401", "unknown", Metric::DeniedUnknown),
        (&[], "401", "missing", Metric::DeniedMissing),
    ] {
        let mut host = FakeHost::with(FakeRequest::new("ns/a@1|r", headers));
        assert_eq!(run(&mut host), Outcome::Answered);
        assert_eq!((host.request().fate().as_str(), host.request().denial), (status, Some(why)));
        assert_eq!(host.metrics, BTreeMap::from([(metric.name(), 1)]));
    }
    check("ns/a@1|r", &[("api-key", "k2")], r#"x-user-id ["bob"] api-key []"#);
}

#[test]
fn who_passes_without_a_key_has_no_identity_and_the_guard_is_told() {
    let smuggled = [("x-user-id", "root"), ("x-team", "red"), ("api-key", ""), ("api-key", "")];
    for route in ["ns/open|r", "ns/open-team|r"] {
        let mut host = FakeHost::with(FakeRequest::new(route, &smuggled));
        assert!(matches!(run(&mut host), Outcome::Forward(_)));
        assert!(host.request().anonymous && host.request().denial.is_none());
        let kept = if route == "ns/open|r" { vec!["red"] } else { vec![] };
        assert_eq!(host.request().values("x-team"), kept);
        for gone in ["x-user-id", "api-key"] {
            assert!(host.request().values(gone).is_empty(), "{gone} on {route}");
        }
        assert_eq!(host.metrics, BTreeMap::from([(Metric::Anonymous.name(), 1)]));
    }
    let mut host = FakeHost::with(FakeRequest::new("ns/open|r", &[("api-key", "k1")]));
    assert!(matches!(run(&mut host), Outcome::Forward(_)));
    assert!(!host.request().anonymous);
    assert_eq!(host.request().values("x-user-id"), ["ann"]);
    check("ns/open|r", &[("api-key", "nope")], "401");
}

#[test]
fn a_guard_that_cannot_be_told_is_no_reason_to_let_pass() {
    for after in 0..3 {
        let mut host = FakeHost::with(FakeRequest::new("ns/open|r", &[]));
        host.refuse_after = Some(after);
        assert_eq!(run(&mut host), Outcome::Answered, "call {after}");
        assert_eq!(host.request().fate(), "503", "call {after}");
        assert!(!host.request().anonymous);
    }
}

#[test]
fn a_key_that_nobody_looked_at_goes_no_further_either() {
    let headers = [("api-key", "k1"), ("x-key", "k2")];
    let mut host = FakeHost::with(FakeRequest::new("ns/either|r", &headers));
    assert!(matches!(run(&mut host), Outcome::Forward(_)));
    assert!(host.request().values("x-key").is_empty());
    assert_eq!(host.request().values("x-user-id"), ["ann"]);
}

/// What is counted and what an access log is told of a request.
fn decided(
    config: &FilterConfig,
    route: &str,
    headers: &[(&str, &str)],
) -> (Vec<(String, i64)>, BTreeMap<Note, String>) {
    let mut host = FakeHost::with(FakeRequest::new(route, headers));
    let mut config = config.clone();
    for (auth_id, policy) in &mut config.policies {
        policy.row = host.row(without_list(auth_id));
    }
    on_request_headers(&config, &keys(), &mut host);
    (host.decided(), host.request().notes.clone())
}

#[test]
fn every_decision_is_counted_under_its_auth_config_and_reason() {
    for (route, headers, expected) in [
        ("ns/a|r", &[("api-key", "k1")][..], "ns/a|allowed"),
        ("ns/forward|r", &[("api-key", "k1")], "ns/forward|allowed"),
        ("ns/a|r", &[], "ns/a|missing"),
        ("ns/a|r", &[("api-key", "nope")], "ns/a|unknown"),
        ("ns/places|r", &[(":path", "/?key=k2"), ("api-key", "k1")], "ns/places|ambiguous"),
        ("ns/open|r", &[], "ns/open|anonymous"),
        // Who is on which list is not told apart.
        ("ns/a@1|r", &[("api-key", "k1")], "ns/a|not_allowed"),
        ("ns/a@1|r", &[("api-key", "k2")], "ns/a|allowed"),
        ("ns/gone|r", &[("api-key", "k1")], "ns/gone|no_policy"),
        ("!ns/closed|r", &[("api-key", "k1")], "!ns/closed|no_policy"),
        ("no-separator", &[("api-key", "k1")], "none|no_policy"),
    ] {
        let (counted, notes) = decided(&config(), route, headers);
        assert_eq!(counted, [(expected.to_owned(), 1)], "{route} with {headers:?}");
        assert_eq!(notes, BTreeMap::new(), "no access log is told anything unless there is one");
    }
}

#[test]
fn an_access_log_is_told_which_key_it_was_if_it_is_one_that_is_known() {
    let config = FilterConfig { access_log: true, ..config() };
    let id = |key: &str| String::from_utf8_lossy(&key::id(&key::digest(key.as_bytes()))).into_owned();
    let smuggled = ("x-user-id", "root");
    for (route, headers, [reason, auth_config, identity, key]) in [
        ("ns/a|r", &[("api-key", "k1"), smuggled][..], ["allowed", "ns/a", "ann", "k1"]),
        ("ns/a|r", &[smuggled], ["missing", "ns/a", "", ""]),
        ("ns/a|r", &[("api-key", "nope"), smuggled], ["unknown", "ns/a", "", ""]),
        ("ns/open|r", &[smuggled], ["anonymous", "ns/open", "", ""]),
        ("ns/a@1|r", &[("api-key", "k1")], ["not_allowed", "ns/a", "", "k1"]),
        ("ns/either|r", &[("api-key", "nope"), ("x-key", "k2")], ["allowed", "ns/either", "bob", "k2"]),
        ("ns/gone|r", &[("api-key", "k1")], ["no_policy", "ns/gone", "", ""]),
        ("no-separator", &[], ["no_policy", "", "", ""]),
    ] {
        let (_, notes) = decided(&config, route, headers);
        let key = if key.is_empty() { String::new() } else { id(key) };
        let told = [Note::Reason, Note::AuthConfig, Note::Identity, Note::KeyId];
        let told = told.map(|note| notes.get(&note).cloned().unwrap_or_default());
        let expected = [reason.to_owned(), auth_config.to_owned(), identity.to_owned(), key];
        assert_eq!(told, expected, "{route} with {headers:?}");
    }
    let life = Life { disabled: true, ..Life::ALWAYS };
    let mut host = FakeHost::with(FakeRequest::new("ns/a|r", &[("api-key", "k1")]));
    on_request_headers(&config, &lived(life), &mut host);
    assert_eq!(host.request().notes[&Note::Reason], "disabled");
    assert_eq!(host.request().notes[&Note::KeyId], id("k1"), "whose it is can be found out");
}
