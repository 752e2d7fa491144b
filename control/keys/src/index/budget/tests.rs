use keyward_filter_core::wire::Version;

use super::*;
use crate::fixtures::{digest, put, put_config};
use crate::view::Wanted;

const LIMITS: LogLimits = LogLimits { changes: 1_000, bytes: 2_000 };
/// Enough for a delta of a few changes.
const DELTA: usize = 4_096;

fn version(index: &KeyIndex, table: &str) -> Version {
    index.view(Wanted::new()).table(table).expect("the table exists").version()
}

/// Whether a worker that holds this version is sent a delta; otherwise it is sent a snapshot.
fn is_followed(index: &KeyIndex, table: &str, held: Version) -> bool {
    index.view(Wanted::new()).table(table).expect("the table exists").since(held, 0, DELTA, false).is_some()
}

fn held(index: &KeyIndex) -> u64 {
    index.tables.values().map(|placed| placed.table.log_bytes()).sum()
}

#[test]
fn all_tables_together_forget_their_oldest_changes_first() {
    let mut index = KeyIndex::with_log_limits(LIMITS);
    index.apply(1, [put_config("a/old", "team=x", &[]), put_config("a/new", "team=y", &[])]);
    index.apply(2, [put("a/ann", "team=x", 1)]);
    let (old, new) = (version(&index, "a/old"), version(&index, "a/new"));
    index.apply(3, [put("a/ann", "team=x", 2)]);
    index.apply(4, [put("a/bob", "team=y", 100)]);
    assert!(is_followed(&index, "a/old", old) && is_followed(&index, "a/new", new));

    // Only the second table changes from here on, so the change of the first is the oldest.
    let mut revision = 4;
    while is_followed(&index, "a/old", old) {
        assert!(is_followed(&index, "a/new", new), "a newer change went first, at {revision}");
        assert!(held(&index) <= LIMITS.bytes);
        revision += 1;
        assert!(revision < 200, "nothing is ever forgotten");
        index.apply(revision, [put("a/bob", "team=y", u8::try_from(revision).unwrap())]);
    }
    assert!(is_followed(&index, "a/new", new));
    assert!(revision > 10, "much is forgotten too early: {revision}");
    let table = index.view(Wanted::new());
    assert!(table.table("a/old").unwrap().get(&digest(2)).is_some(), "what it holds is no matter of its log");
}

#[test]
fn one_change_of_many_keys_is_bounded_too() {
    let mut index = KeyIndex::with_log_limits(LIMITS);
    index.apply(1, [put_config("a/one", "team=x", &[])]);
    let before = version(&index, "a/one");
    index.apply(2, (0..200).map(|key| put(&format!("a/user-{key}"), "team=x", key)));
    assert!(held(&index) <= LIMITS.bytes, "{}", held(&index));
    assert!(!is_followed(&index, "a/one", before));
    assert_eq!(index.view(Wanted::new()).table("a/one").unwrap().len(), 200);
}
