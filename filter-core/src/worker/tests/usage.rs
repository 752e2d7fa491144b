//! Which keys were used, as the server is told.

use super::*;
use crate::key;
use crate::wire::{Digest, UsageAck, server_message, uses};

/// The tables of a report, with their revisions and how often each key was used.
type Told = Vec<(String, u64, Vec<(Digest, u32, u32)>)>;

fn ack(seq: u64) -> Vec<u8> {
    crate::fake::encode(server_message::Kind::UsageAck(UsageAck { seq }))
}

/// The reports on the open stream, by number.
fn reports(world: &World) -> Vec<(u64, Told)> {
    let usage = world.host.sent().iter().filter_map(|kind| match kind {
        ClientKind::Usage(usage) => Some(usage),
        _ => None,
    });
    let told = |usage: &crate::wire::Usage| {
        let tables = usage.tables.iter().map(|table| {
            let mut all: Vec<_> = uses(&table.uses).expect("whole uses").collect();
            all.sort_unstable();
            (table.table.clone(), table.revision, all)
        });
        (usage.seq, tables.collect())
    };
    usage.map(told).collect()
}

fn of(key: &str, count: u32, last: u32) -> (Digest, u32, u32) {
    (key::digest(key.as_bytes()), count, last)
}

/// A worker whose server takes reports.
fn reporting() -> World {
    let mut world = World::with(&keys());
    world.message(&ack(0));
    world
}

#[test]
fn each_interval_tells_which_keys_let_requests_pass() {
    let mut world = reporting();
    for key in ["k1", "k2", "k1", "nope", ""] {
        world.request(key);
    }
    world.tick(8_000);
    world.request("k1");
    assert_eq!(reports(&world), []);
    world.tick(3_000);
    let [(1, told)] = &reports(&world)[..] else { panic!("one report: {:?}", reports(&world)) };
    let [(table, 5, uses)] = &told[..] else { panic!("one table: {told:?}") };
    let mut expected = [of("k1", 3, 8), of("k2", 1, 0)];
    expected.sort_unstable();
    assert_eq!((table.as_str(), &uses[..]), ("t", &expected[..]));
    world.message(&ack(1));
    world.tick(30_000);
    assert_eq!(reports(&world).len(), 1, "nothing was used since");
}

#[test]
fn the_interval_is_that_of_the_configuration() {
    let mut world = World::new();
    let json =
        br#"{"version": 2, "role": "ns~gw", "controlCluster": "control", "identityHeader": "x-user-id",
        "waitForKeysMs": 5000, "usageReportMs": 1000,
        "policies": {"ns/a": {"steps": [{"keyHeader": "api-key", "table": "t"}]}}}"#;
    world.host.current = ROOT;
    let config = world.worker.on_configure(ROOT, json, &mut world.host).expect("a good one");
    world.configs.insert(ROOT, config);
    world.tick(50);
    world.accept();
    world.deliver(&keys());
    world.message(&ack(0));
    world.request("k1");
    world.tick(2_000);
    assert_eq!(reports(&world).len(), 1);
}

#[test]
fn a_server_that_takes_no_reports_is_sent_none() {
    let mut world = World::with(&keys());
    world.request("k1");
    world.tick(60_000);
    assert_eq!(reports(&world), []);
    // And when there is another one, it is told all of it.
    world.cut();
    world.tick(100);
    world.message(&ack(0));
    world.tick(1_000);
    let [(1, told)] = &reports(&world)[..] else { panic!("one report: {:?}", reports(&world)) };
    assert_eq!(told[0].2, [of("k1", 1, 0)]);
}

#[test]
fn a_report_that_was_not_stored_is_sent_again_on_the_next_stream() {
    let mut world = reporting();
    world.request("k1");
    world.tick(10_000);
    let before = reports(&world);
    assert_eq!(before.len(), 1);
    world.cut();
    world.tick(100);
    assert_eq!(reports(&world), []);
    world.message(&ack(0));
    assert_eq!(reports(&world), before);
    // Neither does a new configuration lose it, which moves the stream.
    world.configure(200, 2);
    world.message(&ack(0));
    assert_eq!(reports(&world), before);
    world.message(&ack(1));
    world.cut();
    world.tick(100);
    world.message(&ack(1));
    world.tick(20_000);
    assert_eq!(reports(&world), []);
}

#[test]
fn uses_before_a_change_of_a_key_are_told_apart_from_those_after_it() {
    let mut world = reporting();
    world.request("k1");
    world.request("k2");
    let mut next = keys();
    next.revision = 6;
    next.insert("k1", b"somebody-else");
    next.entries.remove(&key::digest(b"k3"));
    world.message(&keys().delta("t", &next));
    world.request("k1");
    world.request("k2");
    world.tick(10_000);
    let [(1, told)] = &reports(&world)[..] else { panic!("one report: {:?}", reports(&world)) };
    let mut told = told.clone();
    told.sort_unstable();
    let mut after = vec![of("k1", 1, 0), of("k2", 2, 0)];
    after.sort_unstable();
    let expected = [("t".to_owned(), 5, vec![of("k1", 1, 0)]), ("t".to_owned(), 6, after)];
    assert_eq!(told, expected);
}

#[test]
fn uses_of_a_table_that_is_taken_back_or_replaced_are_told() {
    let mut world = reporting();
    world.request("k1");
    let mut next = keys();
    next.revision = 8;
    world.deliver(&next);
    world.request("k1");
    world.message(&drop_table("t"));
    world.tick(10_000);
    let [(1, told)] = &reports(&world)[..] else { panic!("one report: {:?}", reports(&world)) };
    let mut told = told.clone();
    told.sort_unstable();
    let one = || vec![of("k1", 1, 0)];
    assert_eq!(told, [("t".to_owned(), 5, one()), ("t".to_owned(), 8, one())]);
}

#[test]
fn many_keys_are_told_before_the_interval_is_over() {
    let mut world = World::new();
    world.tick(10);
    world.accept();
    let names: Vec<String> = (0..40_000).map(|number| format!("key-{number}")).collect();
    let table: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "ann")).collect();
    for message in FakeTable::new(5, &table).snapshot("t", 4_096) {
        world.message(&message);
    }
    world.message(&ack(0));
    world.tick(50);
    assert_eq!(world.host.roots[&ROOT], IDLE_TICK_MS);
    for name in &names {
        let context = world.request(name);
        world.end_request(context);
    }
    assert_eq!(world.host.roots[&ROOT], BUSY_TICK_MS);
    world.tick(u64::from(BUSY_TICK_MS));
    let told: usize = reports(&world).iter().flat_map(|(_, told)| told).map(|(.., uses)| uses.len()).sum();
    assert_eq!((told, world.host.roots[&ROOT]), (40_000, IDLE_TICK_MS));
    assert_eq!(world.host.metric(Metric::UsesLost), 0);
}
