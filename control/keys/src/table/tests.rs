use std::collections::BTreeSet;

use keyward_filter_core::wire::{Entries, removals};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

use super::*;
use crate::fixtures::{self, digest, entries, foreign};

/// What is to become of some keys.
type Batch = BTreeMap<u8, Option<String>>;

/// The entries of a worker.
type Replica = BTreeMap<Digest, String>;

/// A batch of one revision.
fn at(revision: u64) -> Span {
    Span { after: revision.saturating_sub(1), to: revision }
}

fn update(table: &mut Table, revision: u64, batch: &Batch) -> bool {
    let changes = batch
        .iter()
        .map(|(key, identity)| (digest(*key), identity.as_deref().map(|it| it.as_bytes().into())));
    table.update(at(revision), changes)
}

fn one(key: u8, identity: &str) -> Batch {
    Batch::from([(key, Some(identity.to_owned()))])
}

fn gone(key: u8) -> Batch {
    Batch::from([(key, None)])
}

/// A digest that differs from its neighbours in the last bytes.
fn numbered(number: u16) -> Digest {
    let mut digest = Digest::default();
    digest[DIGEST_LEN - 2..].copy_from_slice(&number.to_be_bytes());
    digest
}

fn unpack(packed: &[u8]) -> Vec<(Digest, String)> {
    Entries::new(packed)
        .map(|entry| entry.map(|(digest, identity)| (digest, fixtures::text(identity))).expect("well formed"))
        .collect()
}

/// What a worker does with a delta, which must say everything once and nothing in vain.
fn take(replica: &mut Replica, difference: &Difference) {
    let upserts = unpack(&difference.upserts);
    let removed = removals(&difference.removals).expect("whole digests");
    assert!(upserts.is_sorted_by(|(one, _), (next, _)| one < next));
    assert!(removed.is_sorted_by(|one, next| one < next));
    for digest in removed {
        assert!(replica.remove(digest).is_some(), "removed what is not there");
    }
    for (digest, identity) in upserts {
        let before = replica.insert(digest, identity.clone());
        assert_ne!(before, Some(identity), "set what is so already");
    }
    let held = replica.iter().map(|(digest, identity)| (digest, identity.as_bytes()));
    assert_eq!(fixtures::checksum(held), difference.to.checksum);
}

fn assert_bounded(table: &Table) {
    let log = &table.log;
    assert_eq!(log.changes, log.steps.iter().map(|step| step.changes.len()).sum::<usize>());
    assert!(log.changes <= log.limit);
    assert!(log.steps.iter().all(|step| step.bytes > 0));
    let packed: usize = table.iter().map(|(_, identity)| ENTRY_OVERHEAD + identity.len()).sum();
    assert_eq!(table.content.bytes, packed as u64);
}

#[test]
fn only_what_changes_something_counts() {
    let mut table = Table::new(1, 10);
    assert_eq!(table.version(), Version { revision: 1, checksum: 0 });
    assert!(!update(&mut table, 2, &gone(1)));
    assert!(!update(&mut table, 2, &Batch::new()));
    assert_eq!(table.version().revision, 1);
    assert!(update(&mut table, 3, &one(1, "ann")));
    assert!(!update(&mut table, 4, &one(1, "ann")));
    assert_eq!((table.version().revision, table.len(), table.is_empty()), (3, 1, false));
    assert!(update(&mut table, 5, &one(1, "bob")));
    assert_eq!(table.get(&digest(1)), Some(&b"bob"[..]));
    assert!(update(&mut table, 6, &gone(1)));
    assert_eq!(table.version(), Version { revision: 6, checksum: 0 });
    assert!(table.is_empty());
    assert_bounded(&table);
}

#[test]
fn changes_that_undo_each_other_are_no_difference() {
    let mut table = Table::new(1, 10);
    update(&mut table, 2, &one(1, "ann"));
    let from = table.version();
    update(&mut table, 3, &one(2, "bob"));
    update(&mut table, 4, &one(1, "cat"));
    update(&mut table, 5, &gone(2));
    let Difference { to, upserts, removals } =
        table.since(from, 0, usize::MAX, false).expect("the log reaches back");
    assert_eq!((to, unpack(&upserts)), (table.version(), vec![(digest(1), "cat".to_owned())]));
    assert_eq!(removals, [0; 0]);
    update(&mut table, 6, &one(1, "ann"));
    let back = table.since(from, 0, usize::MAX, false).expect("the content is the same");
    assert_eq!(back, Difference { to: table.version(), upserts: Vec::new(), removals: Vec::new() });
}

#[test]
fn the_content_counts_and_not_the_revision() {
    let mut table = Table::new(1, 10);
    update(&mut table, 2, &one(1, "ann"));
    let other_life = Version { revision: 99, ..table.version() };
    update(&mut table, 3, &one(2, "bob"));
    let difference = table.since(other_life, 0, usize::MAX, false).expect("the log knows the content");
    assert_eq!(unpack(&difference.upserts), [(digest(2), "bob".to_owned())]);
    assert_eq!(table.since(foreign(), 0, usize::MAX, false), None);
}

#[test]
fn the_log_forgets_the_oldest() {
    let mut table = Table::new(1, 2);
    let mut versions = vec![table.version()];
    for key in 1..=4_u8 {
        update(&mut table, u64::from(key) + 1, &one(key, "ann"));
        versions.push(table.version());
        assert_bounded(&table);
    }
    let reach: Vec<bool> =
        versions.iter().map(|from| table.since(*from, 0, usize::MAX, false).is_some()).collect();
    assert_eq!(reach, [false, false, true, true, true]);
    let mut none = Table::new(1, 0);
    update(&mut none, 2, &one(1, "ann"));
    assert_eq!(none.since(versions[0], 0, usize::MAX, false), None);
    assert_bounded(&none);
}

#[test]
fn a_way_that_is_longer_than_the_table_is_a_snapshot_unless_it_is_short() {
    let mut table = Table::new(1, usize::MAX);
    let from = table.version();
    let mut way = 0;
    let mut revision = 1;
    while way + (ENTRY_OVERHEAD + 3) as u64 <= SMALL_DELTA_BYTES {
        revision += 1;
        update(&mut table, revision, &one(1, if revision % 2 == 0 { "ann" } else { "bob" }));
        way += (ENTRY_OVERHEAD + 3) as u64;
        assert!(way > table.content.bytes || revision == 2);
        assert!(table.since(from, 0, usize::MAX, false).is_some());
    }
    update(&mut table, revision + 1, &one(1, "cat"));
    assert_eq!(table.since(from, 0, usize::MAX, false), None);
}

/// All keys are replaced at once, so that it takes several steps.
fn rotated(revision: u64) -> (Table, Version, Replica) {
    const KEYS: u16 = 2_000;
    let mut table = Table::new(1, usize::MAX);
    let identity = |number: u16| Some(Record::from(format!("who-{number}").as_bytes()));
    // Content of its own, so that the way is not longer than the table.
    let others = (10_000..14_000).map(|number| (numbered(number), identity(number)));
    table.update(at(2), others.chain((0..KEYS).map(|number| (numbered(number), identity(number)))));
    let before = (table.version(), entries(&table));
    let old = (0..KEYS).map(|number| (numbered(number), None));
    table
        .update(at(revision), old.chain((0..KEYS).map(|number| (numbered(number + KEYS), identity(number)))));
    (table, before.0, before.1)
}

#[test]
fn a_large_change_comes_in_steps_and_nobody_is_without_a_key_in_between() {
    let (table, from, mut replica) = rotated(3);
    let everybody: BTreeSet<String> = replica.values().cloned().collect();
    let mut at = from;
    let mut steps = 0;
    while at != table.version() {
        assert_eq!(at.revision, 2, "a revision is reached with all of it");
        let difference = table.since(at, 0, 1, false).expect("the log reaches back");
        let bytes = difference.upserts.len() + difference.removals.len();
        assert!(bytes < log::STEP_BYTES + ENTRY_OVERHEAD + 16, "{bytes}");
        take(&mut replica, &difference);
        assert_eq!(replica.values().cloned().collect::<BTreeSet<_>>(), everybody);
        at = difference.to;
        steps += 1;
    }
    assert_eq!(replica, entries(&table));
    assert_eq!(at.revision, 3);
    assert!(steps > 3, "{steps}");
}

#[test]
fn a_large_change_without_a_revision_of_its_own_is_not_met_half_way() {
    let (table, from, _) = rotated(2);
    assert_eq!(table.version().revision, 2);
    assert_eq!(table.since(from, 0, usize::MAX, false), None);
    assert_bounded(&table);
}

fn batches() -> impl Strategy<Value = Vec<Batch>> {
    vec(btree_map(0..12_u8, option::of("[a-c]{1,3}"), 0..5), 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn deltas_of_any_size_lead_from_any_version_in_the_log_to_the_present(
        batches in batches(),
        limit in 0..40_usize,
        max_bytes in prop_oneof![Just(0), 1..200_usize, Just(usize::MAX)],
    ) {
        let mut table = Table::new(1, limit);
        let mut past = vec![(table.version(), Replica::new())];
        let mut changes = vec![0];
        for (revision, batch) in (2..).zip(&batches) {
            let before = past.last().map(|(_, entries)| entries.clone()).unwrap_or_default();
            let changed = update(&mut table, revision, batch);
            let after = entries(&table);
            prop_assert_eq!(changed, before != after);
            prop_assert_eq!(table.version().revision == revision, changed);
            let keys: BTreeSet<&Digest> = before.keys().chain(after.keys()).collect();
            changes.push(keys.iter().filter(|key| before.get(**key) != after.get(**key)).count());
            past.push((table.version(), after));
            assert_bounded(&table);
        }
        let now = entries(&table);
        for (index, (from, entries)) in past.iter().enumerate() {
            let Some(first) = table.since(*from, 0, max_bytes, false) else {
                // Only what the log cannot hold any more is forgotten.
                prop_assert!(changes[index + 1..].iter().sum::<usize>() > limit);
                continue;
            };
            let mut replica = entries.clone();
            take(&mut replica, &first);
            let mut at = first.to;
            for _ in &batches {
                let next = table.since(at, 0, max_bytes, false).expect("what is on the way is in the log");
                take(&mut replica, &next);
                at = next.to;
            }
            prop_assert_eq!(at, table.version());
            prop_assert_eq!(&replica, &now);
        }
    }

    #[test]
    fn chunks_of_any_size_are_all_entries_in_order(
        table in btree_map(any::<u8>(), "[a-z]{1,9}", 0..60),
        max_bytes in 0..400_usize,
    ) {
        let mut built = Table::new(1, 0);
        update(&mut built, 2, &table.into_iter().map(|(key, identity)| (key, Some(identity))).collect());
        let content = built.content().clone();
        // What is being sent stays as it is, whatever becomes of the table.
        let all = entries(&built);
        update(&mut built, 3, &one(7, "another"));
        let mut sent = Vec::new();
        let mut last = None;
        while let Some(chunk) = content.chunk(last, max_bytes) {
            let entries = unpack(&chunk.entries);
            prop_assert!(!entries.is_empty());
            prop_assert!(chunk.entries.len() <= max_bytes || entries.len() == 1);
            prop_assert_eq!(entries.last().map(|(digest, _)| *digest), Some(chunk.last));
            last = Some(chunk.last);
            sent.extend(entries);
        }
        prop_assert_eq!(sent, all.into_iter().collect::<Vec<_>>());
    }
}
