use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;
use crate::key;
use crate::wire::pack_entry;

type Model = BTreeMap<Digest, String>;

/// A small world of digests, so that random changes meet entries that are there. Neighbours differ
/// in the first or in the last byte.
fn digest() -> impl Strategy<Value = Digest> {
    (0_u16..1500, any::<bool>()).prop_map(|(number, front)| {
        let mut digest = [7; 16];
        let [high, low] = number.to_be_bytes();
        let at = if front { 0 } else { 14 };
        digest[at] = high;
        digest[at + 1] = low;
        digest
    })
}

/// A record: an identity, now and then with metadata.
fn identity() -> impl Strategy<Value = String> {
    let long = (0_usize..8_000).prop_map(|length| format!("ann\0note\0{}", "y".repeat(length)));
    prop_oneof![4 => "[a-z]{1,12}", 1 => "ü{1,126}", 1 => Just("x".repeat(253)), 1 => long]
}

fn pack<'a>(entries: impl IntoIterator<Item = (&'a Digest, &'a String)>) -> Vec<u8> {
    let mut packed = Vec::new();
    for (digest, identity) in entries {
        pack_entry(&mut packed, digest, identity);
    }
    packed
}

fn sum(model: &Model) -> u64 {
    model.iter().fold(0, |sum, (digest, identity)| sum.wrapping_add(entry_hash(digest, identity)))
}

fn build(model: &Model, chunk: usize) -> Result<Table, Refused> {
    let mut builder = Builder::new(model.len() as u64);
    let entries: Vec<_> = model.iter().collect();
    for chunk in entries.chunks(chunk) {
        builder.append(&pack(chunk.iter().copied()))?;
    }
    builder.finish(sum(model))
}

/// Everything that must hold of a table, after every step.
fn check(table: &Table, model: &Model) {
    assert_eq!(table.len(), model.len());
    assert_eq!(table.is_empty(), model.is_empty());
    assert_eq!(table.checksum(), sum(model));
    let entries = model.iter().map(|(digest, record)| (digest, record.as_bytes()));
    assert!(table.iter().map(|(digest, record)| (digest, record.as_bytes())).eq(entries));
    for (digest, identity) in model {
        assert_eq!(table.get(digest).map(Record::as_bytes), Some(identity.as_bytes()));
    }
    assert_eq!(table.separators.len(), table.segments.len().saturating_sub(1));
    assert!(table.separators.is_sorted_by(|one, next| one < next));
    for (at, segment) in table.segments.iter().enumerate() {
        assert!((1..=SEGMENT_MAX).contains(&segment.len()), "a segment of {}", segment.len());
        assert!(at == 0 || segment.first() >= table.separators.get(at - 1).copied());
    }
}

fn numbered(count: u32) -> Model {
    (0..count).map(|number| (key::digest(&number.to_le_bytes()), format!("user-{number:07}"))).collect()
}

#[derive(Debug, Clone)]
enum Step {
    Change { upserts: Model, removals: Vec<Digest> },
    Snapshot { entries: Model, chunk: usize },
    Damaged { upserts: Model, checksum: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let some = |most| btree_map(digest(), identity(), 0..most);
    prop_oneof![
        8 => (some(200), vec(digest(), 0..200)).prop_map(|(upserts, removals)| Step::Change { upserts, removals }),
        4 => vec(digest(), 0..600).prop_map(|removals| Step::Change { upserts: Model::new(), removals }),
        1 => (some(1500), 1_usize..700).prop_map(|(entries, chunk)| Step::Snapshot { entries, chunk }),
        1 => (some(50), any::<u64>()).prop_map(|(upserts, checksum)| Step::Damaged { upserts, checksum }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn behaves_like_a_map(steps in vec(step(), 1..24)) {
        let mut table = Table::new();
        let mut model = Model::new();
        for step in steps {
            match step {
                Step::Change { upserts, mut removals } => {
                    removals.retain(|digest| !upserts.contains_key(digest));
                    removals.sort_unstable();
                    removals.dedup();
                    model.retain(|digest, _| removals.binary_search(digest).is_err());
                    model.extend(upserts.clone());
                    prop_assert_eq!(table.apply(&pack(&upserts), removals.as_flattened(), sum(&model)), Ok(()));
                }
                Step::Snapshot { entries, chunk } => {
                    table = build(&entries, chunk).expect("a well-formed snapshot");
                    model = entries;
                }
                Step::Damaged { upserts, checksum } => {
                    let mut changed = model.clone();
                    changed.extend(upserts.clone());
                    prop_assume!(sum(&changed) != checksum);
                    let refused = Refused::Checksum { expected: checksum, actual: sum(&changed) };
                    prop_assert_eq!(table.apply(&pack(&upserts), &[], checksum), Err(refused));
                }
            }
            check(&table, &model);
        }
    }

    #[test]
    fn survives_any_bytes(upserts in vec(any::<u8>(), 0..200), removals in vec(any::<u8>(), 0..64)) {
        let model = numbered(100);
        let mut table = build(&model, 40).expect("a well-formed snapshot");
        // A change that is refused leaves no trace, whatever it was made of.
        if table.apply(&upserts, &removals, 1).is_err() {
            check(&table, &model);
        }
        let mut builder = Builder::new(3);
        let _ = builder.append(&upserts);
    }
}

#[test]
fn an_empty_table_knows_nobody() {
    let mut table = Table::new();
    assert_eq!(table.get(&[0; 16]), None);
    assert_eq!(table.apply(&[], &[9; 16], 0), Ok(()));
    check(&table, &Model::new());
}

#[test]
fn a_table_that_shrinks_to_nothing_gives_its_segments_back() {
    let mut model = numbered(5_000);
    let mut table = build(&model, 1_000).expect("a well-formed snapshot");
    let full = table.memory_bytes();
    while let Some((digest, _)) = model.pop_first() {
        assert_eq!(table.apply(&[], &digest, sum(&model)), Ok(()));
    }
    check(&table, &model);
    assert!(table.segments.is_empty());
    assert!(table.memory_bytes() < full / 20, "{} of {full} bytes are left", table.memory_bytes());
}

#[test]
fn replaced_identities_do_not_pile_up() {
    let mut model = numbered(1_000);
    let mut table = build(&model, 1_000).expect("a well-formed snapshot");
    let before = table.memory_bytes();
    for round in 0..50 {
        let upserts: Model = model.keys().map(|digest| (*digest, format!("user-{round:07}"))).collect();
        assert_eq!(table.apply(&pack(&upserts), &[], sum(&upserts)), Ok(()));
        model = upserts;
    }
    check(&table, &model);
    assert!(table.memory_bytes() < before * 3, "{before} grew to {}", table.memory_bytes());
}

#[test]
fn a_key_costs_less_than_its_budget() {
    // 16 bytes of digest, 4 of place, 12 of identity: 32. The budget of the whole is 48.
    let model = numbered(100_000);
    let mut table = build(&model, 4_096).expect("a well-formed snapshot");
    let per_key = table.memory_bytes() as f64 / table.len() as f64;
    assert!(per_key < 36.0, "{per_key:.1} bytes a key after a snapshot");

    let mut changed = model.clone();
    for number in 100_000_u32..200_000 {
        let (digest, identity) = (key::digest(&number.to_le_bytes()), format!("user-{number:07}"));
        table.insert(&digest, Record::known(identity.as_bytes())).expect("there is memory");
        changed.insert(digest, identity);
    }
    check(&table, &changed);
    let per_key = table.memory_bytes() as f64 / table.len() as f64;
    assert!(per_key < 48.0, "{per_key:.1} bytes a key after as many inserts");
}

#[test]
fn a_refused_change_leaves_everything_as_it_was() {
    let model = numbered(1_000);
    let mut table = build(&model, 100).expect("a well-formed snapshot");
    let (one, other) = ([1; 16], [2; 16]);
    let user = "someone".to_owned();

    let descending = [pack([(&other, &user)]), pack([(&one, &user)])].concat();
    assert_eq!(table.apply(&descending, &[], 0), Err(Refused::Order));
    let twice = [pack([(&one, &user)]), pack([(&one, &user)])].concat();
    assert_eq!(table.apply(&twice, &[], 0), Err(Refused::Order));
    assert_eq!(table.apply(&[], [other, one].as_flattened(), 0), Err(Refused::Order));
    assert_eq!(table.apply(&pack([(&one, &user)]), &one, 0), Err(Refused::Contradiction));
    assert_eq!(table.apply(&[], &one[1..], 0), Err(Malformed::Truncated.into()));
    // Good entries before a bad one are not applied either.
    let mut truncated = pack([(&one, &user), (&other, &user)]);
    truncated.pop();
    assert_eq!(table.apply(&truncated, &[], 0), Err(Malformed::Truncated.into()));
    check(&table, &model);
}

#[test]
fn a_snapshot_is_exactly_what_was_announced() {
    let model = numbered(10);
    let packed = pack(&model);

    let mut missing = Builder::new(11);
    assert_eq!(missing.append(&packed), Ok(()));
    assert_eq!(missing.finish(sum(&model)).err(), Some(Refused::Count { announced: 11, received: 10 }));

    let mut surplus = Builder::new(9);
    assert_eq!(surplus.append(&packed), Err(Refused::Count { announced: 9, received: 10 }));

    let mut repeated = Builder::new(20);
    assert_eq!(repeated.append(&packed), Ok(()));
    assert_eq!(repeated.append(&packed), Err(Refused::Order));

    let mut damaged = Builder::new(10);
    assert_eq!(damaged.append(&packed), Ok(()));
    let (expected, actual) = (1, sum(&model));
    assert_eq!(damaged.finish(expected).err(), Some(Refused::Checksum { expected, actual }));

    let empty = Builder::new(0).finish(0).expect("an empty snapshot");
    check(&empty, &Model::new());
}
