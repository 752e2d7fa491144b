//! Who is older, and so owns what two ask for.

use std::collections::BTreeMap;

use keyward_resource::kinds::VirtualService;
use keyward_resource::{Meta, ObjectRef};
use keyward_translate::{Input, LastGood, translate};
use proptest::prelude::*;

use crate::support::{Put, gateway, meta, settings, virtual_service};

/// A creation: the store's revision, the time, the name.
type Creation<'a> = (u64, &'a str, &'a str);

/// Who of two that ask for the same gets it.
fn older(one: Creation<'_>, other: Creation<'_>) -> String {
    let mut input = Input::default();
    for (created, time, name) in [one, other] {
        let meta = Meta { created, ..meta("default", name, time) };
        let mut service = virtual_service(name, &["a.example.com"], Vec::new());
        service.meta = meta.clone();
        service.put(&mut input);
        let mut gateway = gateway(name, ([127, 0, 0, 1], 8080).into());
        gateway.meta = meta;
        gateway.put(&mut input);
    }
    let output = translate(&input, &settings(), &LastGood::default());
    let listeners: Vec<_> = output.proxies.values().flat_map(|proxy| &proxy.listeners).collect();
    let owners: Vec<&ObjectRef> = listeners[0].virtual_hosts().map(|host| &host.virtual_service).collect();
    assert_eq!((listeners.len(), &owners[..]), (1, &[listeners[0].gateway.as_ref().expect("a gateway")][..]));
    owners[0].name.clone()
}

#[test]
fn the_revision_decides_against_a_clock_that_stepped_back() {
    assert_eq!(older((7, "2026-01-02T00:00:00Z", "zebra"), (8, "2026-01-01T00:00:00Z", "ant")), "zebra");
}

#[test]
fn the_revision_decides_within_a_second() {
    assert_eq!(older((9, "2026-01-01T00:00:00Z", "zebra"), (10, "2026-01-01T00:00:00Z", "ant")), "zebra");
}

#[test]
fn time_decides_where_no_revision_is_known() {
    assert_eq!(older((0, "2026-01-01T00:00:00Z", "zebra"), (0, "2026-01-02T00:00:00Z", "ant")), "zebra");
    assert_eq!(older((0, "2026-01-01T00:00:00Z", "zebra"), (0, "", "ant")), "zebra");
}

#[test]
fn who_is_stored_is_older_than_who_is_not_yet() {
    assert_eq!(older((3, "2026-01-02T00:00:00Z", "zebra"), (0, "", "ant")), "zebra");
    assert_eq!(older((3, "", "zebra"), (0, "2026-01-01T00:00:00Z", "ant")), "zebra");
}

#[test]
fn the_name_decides_at_last() {
    assert_eq!(older((3, "2026-01-01T00:00:00Z", "zebra"), (3, "2026-01-01T00:00:00Z", "ant")), "ant");
    assert_eq!(older((0, "", "zebra"), (0, "", "ant")), "ant");
}

/// Two virtual services, of which the first is older. What each asks for.
fn two(older: &[&str], younger: &[&str]) -> Input {
    let mut input = Input::default();
    for (name, created, domains) in [("older", 1, older), ("younger", 2, younger)] {
        let mut service = virtual_service(name, domains, Vec::new());
        service.meta.created = created;
        service.put(&mut input);
    }
    input
}

/// Who is served with which domains.
fn domains(output: &keyward_translate::Output) -> BTreeMap<String, Vec<String>> {
    let hosts =
        output.proxies.values().flat_map(|proxy| &proxy.listeners).flat_map(|one| one.virtual_hosts());
    hosts.map(|host| (host.name.clone(), host.domains.clone())).collect()
}

/// What is remembered of one kind of object alone, as after a restart.
fn restored(service: &str, of: &Input) -> LastGood {
    let mut last_good = LastGood::default();
    let service = &of.virtual_services[&ObjectRef::new("default", service)];
    last_good.restore(keyward_resource::Resource::VirtualService(VirtualService::clone(service)));
    last_good
}

#[test]
fn who_had_a_domain_keeps_it_from_who_is_older_also_after_a_restart() {
    let before = two(&["o"], &["pol"]);
    let edited = two(&["o", "pol"], &["pol"]);
    let last_good = translate(&before, &settings(), &LastGood::default()).last_good;
    let expected = domains(&translate(&before, &settings(), &LastGood::default()));
    let output = translate(&edited, &settings(), &last_good);
    assert_eq!(domains(&output), expected);
    assert_eq!(domains(&translate(&edited, &settings(), &output.last_good)), expected);
    // Of those who are as they were, nothing is kept.
    assert_eq!(domains(&translate(&edited, &settings(), &restored("older", &before))), expected);
}

#[test]
fn who_never_had_anything_takes_nothing_that_is_held() {
    let pol = translate(&two(&["x"], &["pol"]), &settings(), &LastGood::default());
    // The older one has been rejected ever since: there is no version of it to fall back to.
    let last_good = restored("younger", &two(&["x"], &["pol"]));
    let input = two(&["pol"], &["pol"]);
    let output = translate(&input, &settings(), &last_good);
    let served = |output| domains(output).remove("default.younger");
    assert!(served(&pol).is_some(), "{:?}", domains(&pol));
    assert_eq!(served(&output), served(&pol));
    // So that it is the same after a restart, it has to be known who had it.
    let key = keyward_resource::ObjectKey::new("VirtualService", "default", "younger");
    assert!(output.last_good.holds_against_older(&key));
}

#[test]
fn a_domain_that_is_given_up_goes_to_who_asks_for_it() {
    let before = two(&["o"], &["pol", "new"]);
    let last_good = translate(&before, &settings(), &LastGood::default()).last_good;
    let after = two(&["o", "pol"], &["new"]);
    let output = translate(&after, &settings(), &last_good);
    assert_eq!(domains(&output), domains(&translate(&after, &settings(), &LastGood::default())));
    let exchanged = two(&["pol", "new"], &["o"]);
    let output = translate(&exchanged, &settings(), &last_good);
    assert_eq!(domains(&output), domains(&translate(&exchanged, &settings(), &LastGood::default())));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever mix of known and unknown: the same one is the oldest, however the others are named.
    #[test]
    fn age_is_an_order(creations in prop::collection::vec((0..3u64, 0..3u8), 3)) {
        let time = |day: u8| if day == 0 { String::new() } else { format!("2026-01-0{day}T00:00:00Z") };
        let times: BTreeMap<usize, String> =
            creations.iter().enumerate().map(|(index, (_, day))| (index, time(*day))).collect();
        let creation = |index: usize| (creations[index].0, times[&index].as_str(), ["a", "b", "c"][index]);
        let wins = |one: usize, other: usize| older(creation(one), creation(other)) == creation(one).2;
        for (one, two, three) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            prop_assert!(wins(one, two) != wins(two, one));
            prop_assert!(!(wins(one, two) && wins(two, three) && wins(three, one)));
        }
    }
}
