//! Of several Secrets with one key who held it first has it.

use keyward_filter_core::record::Record;
use keyward_resource::kinds::secret::PreviousKey;

use super::*;

/// A Secret whose key came into it with a revision.
fn since(name: &str, key: u8, held_since: u64) -> ApiKeySecret {
    ApiKeySecret { held_since, ..secret(name, "team=x", key) }
}

/// The same with a key before the present one, which came with a revision and ends at a time.
fn before(secret: ApiKeySecret, key: u8, held_since: u64, expires_at: u64) -> ApiKeySecret {
    let previous = PreviousKey { key: [key; 32], held_since, expires_at, any_shape: false };
    ApiKeySecret { previous: Some(previous), ..secret }
}

fn owner(index: &KeyIndex, key: u8) -> Option<String> {
    let view = index.view(Wanted::new());
    let record = view.table("a/one").expect("a table").get(&digest(key)).map(Record::parse);
    record.map(|record| String::from_utf8_lossy(record.expect("a record").identity()).into_owned())
}

fn named(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test]
fn who_held_it_first_has_it_whatever_the_names() {
    let put = Change::PutSecret;
    let mut index = index([vec![put(since("b/zoe", 1, 3)), put_config("a/one", "team=x", &[])]]);
    index.apply(5, [put(since("a/ann", 1, 5))]);
    assert_eq!(owner(&index, 1), named("zoe"));
    let same = "the Secrets b/zoe, a/ann hold the same key: b/zoe is the identity";
    assert_eq!(warnings(&index, SECRET, "a/ann"), [format!("selected by AuthConfig a/one: {same}")]);
    // An older Secret that is given the key later has it later.
    index.apply(6, [put(since("a/abe", 1, 6))]);
    assert_eq!(owner(&index, 1), named("zoe"));
    index.apply(7, [delete("b/zoe")]);
    assert_eq!(owner(&index, 1), named("ann"));
}

#[test]
fn what_is_stopped_stays_with_who_stopped_it() {
    let lives = [
        KeyLife { disabled: true, ..KeyLife::default() },
        KeyLife { expires_at: Some(1), ..KeyLife::default() },
        KeyLife { not_before: Some(u64::MAX), ..KeyLife::default() },
    ];
    for life in lives {
        let stopped = ApiKeySecret { life, ..since("b/zoe", 1, 3) };
        let index = index([vec![
            Change::PutSecret(stopped),
            Change::PutSecret(since("a/ann", 1, 5)),
            put_config("a/one", "team=x", &[]),
            Change::Time(1_000),
        ]]);
        assert_eq!(owner(&index, 1), named("zoe"), "{life:?}");
    }
}

#[test]
fn a_key_is_its_former_secrets_until_the_overlap_is_over_and_then_free() {
    let rotated = before(since("b/zoe", 2, 6), 1, 3, 7_000);
    let mut index = index([vec![
        Change::Time(5_000),
        Change::PutSecret(rotated),
        Change::PutSecret(since("a/ann", 1, 5)),
        put_config("a/one", "team=x", &[]),
    ]]);
    assert_eq!((owner(&index, 1), index.next_end()), (named("zoe"), Some(7_000)));
    assert_eq!(warnings(&index, SECRET, "a/ann").len(), 1);
    let version = index.view(Wanted::new()).table("a/one").map(Table::version);
    index.apply(1, [Change::Time(6_999)]);
    assert_eq!(index.view(Wanted::new()).table("a/one").map(Table::version), version);
    index.apply(1, [Change::Time(7_000)]);
    assert_eq!((owner(&index, 1), index.next_end()), (named("ann"), None));
    assert_eq!(owner(&index, 2), named("zoe"));
    for (kind, name) in [(SECRET, "a/ann"), (SECRET, "b/zoe"), (AUTH_CONFIG, "a/one")] {
        assert_eq!(warnings(&index, kind, name), [""; 0], "{name}");
    }
    // A clock that is set back gives nothing back.
    index.apply(2, [Change::Time(1)]);
    assert_eq!(owner(&index, 1), named("ann"));
    // Whoever is the last one to hold it at all is told apart from nobody.
    index.apply(3, [delete("a/ann")]);
    assert_eq!(owner(&index, 1), named("zoe"));
}

#[test]
fn uses_count_for_who_held_it_first() {
    let mut index = index([vec![
        Change::PutSecret(since("b/zoe", 1, 3)),
        Change::PutSecret(since("a/ann", 1, 5)),
        put_config("a/one", "team=x", &[]),
    ]]);
    let user = |index: &KeyIndex| {
        let users = index.users("a/one", 1);
        users.of(&digest(1)).map(|(found, _)| found.clone())
    };
    assert_eq!(user(&index), Some(id("b/zoe")));
    index.apply(2, [Change::PutSecret(since("b/zoe", 7, 6)), Change::PutSecret(since("a/ann", 8, 6))]);
    assert_eq!(user(&index), Some(id("b/zoe")));
}

#[test]
fn no_record_is_made_that_a_worker_refuses() {
    let mut config = config("a/one", "team=x", &[]);
    let entry = MetadataEntry { name: "plan".to_owned(), required: false };
    config.steps[0].api_key_auth.headers_from_metadata.insert("x-plan".to_owned(), entry);
    for (at, value) in (1..).zip(["gold ", "\tgold", "two\nlines", "\0", "go\u{7f}ld", "gold\n\n"]) {
        let mut stored = secret("a/ann", "team=x", at);
        stored.metadata.insert("plan".to_owned(), value.as_bytes().to_vec().into());
        let neighbour = put("a/bob", "team=x", 99);
        let index =
            index([vec![Change::PutSecret(stored), neighbour, Change::PutAuthConfig(config.clone())]]);
        let view = index.view(Wanted::new());
        let table = view.table("a/one").expect("a table");
        assert!(table.iter().all(|(_, record)| Record::parse(record).is_ok()), "{value:?}");
        assert_eq!(owner(&index, 99), named("bob"));
    }
}
