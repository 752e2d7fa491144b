//! Random events, in any order, against what a worker must never do.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::{ROOT, World};
use crate::fake::FakeTable;
use crate::metric::Metric;
use crate::worker::IDLE_TICK_MS;

/// What may happen to a worker.
#[derive(Debug, Clone)]
enum Event {
    Tick(u64),
    Request { key: u8 },
    EndRequest { which: u8 },
    Change(Vec<(u8, u8)>),
    Snapshot(Vec<(u8, u8)>),
    Cut,
    Away(bool),
    Configure,
    RemoveOldest,
}

fn event() -> impl Strategy<Value = Event> {
    let entries = || prop::collection::vec((0_u8..20, 0_u8..5), 0..12);
    prop_oneof![
        6 => (1_u64..3_000).prop_map(Event::Tick),
        6 => (0_u8..20).prop_map(|key| Event::Request { key }),
        2 => any::<u8>().prop_map(|which| Event::EndRequest { which }),
        4 => entries().prop_map(Event::Change),
        2 => entries().prop_map(Event::Snapshot),
        1 => Just(Event::Cut),
        1 => any::<bool>().prop_map(Event::Away),
        1 => Just(Event::Configure),
        1 => Just(Event::RemoveOldest),
    ]
}

fn table(revision: u64, entries: &[(u8, u8)]) -> FakeTable {
    let named: Vec<_> = entries.iter().map(|(key, who)| (format!("k{key}"), format!("u{who}"))).collect();
    FakeTable::new(revision, &named.iter().map(|(key, who)| (key.as_str(), who.as_str())).collect::<Vec<_>>())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    /// In whatever order things happen: who is forwarded has a key of the table as it stands, who is
    /// denied has none, and who waits waits for a table that is not there and not forever.
    #[test]
    fn no_order_of_events_makes_a_wrong_decision(events in prop::collection::vec(event(), 1..60)) {
        let mut world = World::new();
        let mut held: Option<FakeTable> = None;
        let mut newest = ROOT;
        let mut waiting: BTreeMap<u32, (u8, u64)> = BTreeMap::new();
        for (revision, event) in (1..).zip(events) {
            let expected = |table: &FakeTable, key: u8| {
                let digest = crate::key::digest(format!("k{key}").as_bytes());
                table.entries.get(&digest).map_or("401".to_owned(), |who| format!("forward as {}", String::from_utf8_lossy(who)))
            };
            match event {
                Event::Tick(milliseconds) => world.tick(milliseconds),
                Event::Request { key } => {
                    let context = world.request_at(newest, "ns/a|r", &format!("k{key}"));
                    match &held {
                        Some(table) => prop_assert_eq!(world.fate(context), expected(table, key)),
                        None => {
                            prop_assert_eq!(world.fate(context), "waits");
                            waiting.insert(context, (key, world.host.now));
                        }
                    }
                }
                Event::EndRequest { which } => {
                    let nth = usize::from(which) % world.host.requests.len().max(1);
                    let context = world.host.requests.keys().nth(nth).copied();
                    if let Some(context) = context {
                        world.end_request(context);
                        waiting.remove(&context);
                    }
                }
                Event::Change(entries) if !world.host.streams.is_empty() => {
                    let next = table(revision, &entries);
                    if let Some(from) = &held {
                        world.message(&from.delta("t", &next));
                        held = Some(next);
                    }
                }
                Event::Snapshot(entries) if !world.host.streams.is_empty() => {
                    let next = table(revision, &entries);
                    world.deliver(&next);
                    held = Some(next);
                }
                Event::Change(_) | Event::Snapshot(_) => {}
                Event::Cut if !world.host.streams.is_empty() => world.cut(),
                Event::Cut => {}
                Event::Away(away) => world.host.unreachable = away,
                Event::Configure => {
                    newest += 1_000;
                    world.configure(newest, revision);
                }
                Event::RemoveOldest => {
                    let oldest = world.configs.keys().copied().next().filter(|oldest| *oldest != newest);
                    if let Some(oldest) = oldest {
                        world.remove_root(oldest);
                    }
                }
            }
            prop_assert!(world.host.streams.len() <= 1, "one stream at most");
            for (context, (key, since)) in std::mem::take(&mut waiting) {
                match (world.fate(context).as_str(), &held) {
                    ("waits", None) => {
                        prop_assert!(world.host.now - since <= 5_000 + u64::from(IDLE_TICK_MS));
                        waiting.insert(context, (key, since));
                    }
                    ("503", None) => prop_assert!(world.host.now - since >= 5_000),
                    // The table that decided is the one that arrived first, and that is this one.
                    (fate, Some(table)) => prop_assert_eq!(fate, expected(table, key)),
                    (fate, None) => prop_assert!(false, "{fate} without a table"),
                }
            }
            let parked = i64::try_from(waiting.len()).expect("a small number");
            prop_assert_eq!(world.host.metric(Metric::Parked), parked);
        }
    }
}
