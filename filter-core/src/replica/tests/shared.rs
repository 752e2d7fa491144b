//! Tables that are the same: once in memory, each on its own way as soon as it goes one.

use super::*;

/// Names of tables.
const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Debug, Clone)]
enum Step {
    /// Those of these tables that are the same as the first one change to these entries.
    Change(Vec<&'static str>, Entries),
    Snapshot(&'static str, Entries),
    Alias(&'static str, &'static str),
    Drop(&'static str),
}

fn name() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(&NAMES[..])
}

fn entries() -> impl Strategy<Value = Entries> {
    btree_map(any::<u8>(), 0..3_u8, 0..120)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (vec(name(), 1..4), entries()).prop_map(|(names, entries)| Step::Change(names, entries)),
        2 => (name(), entries()).prop_map(|(name, entries)| Step::Snapshot(name, entries)),
        4 => (name(), name()).prop_map(|(one, other)| Step::Alias(one, other)),
        1 => name().prop_map(Step::Drop),
    ]
}

fn many(revision: u64, count: usize) -> FakeTable {
    let mut table = FakeTable::new(revision, &[]);
    (0..count).for_each(|number| table.insert(&format!("k{number}"), b"somebody"));
    table
}

fn assert_is(replica: &Replica, name: &str, table: &FakeTable) {
    let held = replica.table(name).unwrap_or_else(|| panic!("{name} is held"));
    assert!(held.iter().eq(table.entries.iter().map(|(digest, who)| (digest, Record::known(who)))), "{name}");
    assert_eq!(replica.version(name), Some(table.version()));
}

#[test]
fn an_alias_is_a_table_of_its_own_for_no_memory() {
    let all = many(5, 10_000);
    let mut replica = Replica::new();
    tell_all(&mut replica, &all.snapshot("a", 500));
    let alone = replica.memory_bytes();
    assert_eq!(tell(&mut replica, &all.alias("b", "a")), "new b at 5");
    assert_is(&replica, "b", &all);
    assert!(replica.memory_bytes() <= alone + 2, "{} of {alone}", replica.memory_bytes());

    // A change of both leaves them one.
    let mut next = FakeTable { revision: 6, ..all.clone() };
    next.insert("more", b"somebody");
    assert_eq!(tell(&mut replica, &all.delta_of("a", &["b"], &next)), "ack a at 6");
    assert_is(&replica, "a", &next);
    assert_is(&replica, "b", &next);
    assert!(replica.memory_bytes() <= alone + 4096, "{} of {alone}", replica.memory_bytes());

    // A change of one takes apart what it touches and nothing else.
    let mut other = FakeTable { revision: 7, ..next.clone() };
    other.entries.remove(&crate::key::digest(b"k1"));
    assert_eq!(tell(&mut replica, &next.delta("b", &other)), "ack b at 7");
    assert_is(&replica, "a", &next);
    assert_is(&replica, "b", &other);
    assert!(replica.memory_bytes() <= alone + alone / 8, "{} of {alone}", replica.memory_bytes());

    // Whoever goes takes nothing from who stays.
    assert_eq!(tell(&mut replica, &drop_table("a")), "dropped");
    assert_is(&replica, "b", &other);
}

#[test]
fn an_alias_of_what_is_not_held_so_is_refused_and_what_is_held_stays() {
    let (old, new) = (many(5, 3), many(6, 4));
    let mut replica = holding(&three());
    let refused = "nack t: the table that it should be the same as is not held at that version";
    assert_eq!(tell(&mut replica, &old.alias("t", "a")), refused);
    tell_all(&mut replica, &old.snapshot("a", 10));
    assert_eq!(tell(&mut replica, &new.alias("t", "a")), refused);
    assert_holds(&replica, &three());
    assert_eq!(tell(&mut replica, &old.alias("t", "a")), "ack t at 5");
    assert_is(&replica, "t", &old);
}

#[test]
fn a_change_of_several_is_refused_for_all_when_one_of_them_is_held_at_another_version() {
    let (old, new) = (many(5, 3), many(6, 4));
    let mut replica = Replica::new();
    tell_all(&mut replica, &old.snapshot("a", 10));
    tell_all(&mut replica, &new.snapshot("b", 10));
    let gap = "nack a: the change starts from another version than the one held";
    assert_eq!(tell(&mut replica, &old.delta_of("a", &["b"], &new)), gap);
    assert_eq!(tell(&mut replica, &old.delta_of("a", &["nobody"], &new)), gap);
    assert_is(&replica, "a", &old);
    assert_is(&replica, "b", &new);
}

#[test]
fn a_revocation_without_room_is_one_for_all_tables_that_it_names_and_for_no_other() {
    let mut replica = Replica::new();
    tell_all(&mut replica, &three().snapshot("a", 10));
    for name in ["b", "c"] {
        tell(&mut replica, &three().alias(name, "a"));
    }
    replica.set_limit(32 * 1024);
    let mut next = with_many(&three());
    next.entries.remove(&crate::key::digest(b"k1"));
    assert!(tell(&mut replica, &three().delta_of("a", &["b"], &next)).starts_with("no room a: "));
    let holds =
        |name: &str| replica.table(name).is_some_and(|it| it.get(&crate::key::digest(b"k1")).is_some());
    assert_eq!(NAMES.map(holds), [false, false, true, false]);
    // With room it goes on from what was acknowledged.
    replica.set_limit(1024 * 1024);
    assert_eq!(tell(&mut replica, &three().delta_of("a", &["b"], &next)), "ack a at 6");
    assert_is(&replica, "b", &next);
    assert_is(&replica, "c", &three());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_shared_and_parted_each_table_is_what_it_was_told(steps in vec(step(), 1..60)) {
        let mut replica = Replica::new();
        let mut model: BTreeMap<&str, FakeTable> = BTreeMap::new();
        for (revision, step) in (1..).zip(steps) {
            match step {
                Step::Change(names, entries) => {
                    let Some(from) = model.get(names[0]).cloned() else { continue };
                    let to = table(revision, &entries);
                    let mut alike: Vec<_> =
                        NAMES.into_iter().filter(|name| names.contains(name) && *name != names[0]).collect();
                    alike.retain(|name| model.get(name).is_some_and(|it| it.version() == from.version()));
                    let said = tell(&mut replica, &from.delta_of(names[0], &alike, &to));
                    prop_assert_eq!(said, format!("ack {} at {revision}", names[0]));
                    alike.push(names[0]);
                    model.extend(alike.into_iter().map(|name| (name, to.clone())));
                }
                Step::Snapshot(name, entries) => {
                    let to = table(revision, &entries);
                    tell_all(&mut replica, &to.snapshot(name, 50));
                    model.insert(name, to);
                }
                Step::Alias(name, of) => {
                    let Some(other) = model.get(of).cloned() else { continue };
                    tell(&mut replica, &other.alias(name, of));
                    model.insert(name, other);
                }
                Step::Drop(name) => {
                    tell(&mut replica, &drop_table(name));
                    model.remove(name);
                }
            }
            for name in NAMES {
                match model.get(name) {
                    Some(table) => assert_is(&replica, name, table),
                    None => prop_assert!(replica.table(name).is_none()),
                }
            }
        }
    }
}
