//! What the tables say of keys.

use super::*;

/// An `AuthConfig` that puts `data.team` into a header.
fn with_team(name: &str, required: bool) -> Change {
    let mut config = config(name, "team=x", &[]);
    let entry = MetadataEntry { name: "team".to_owned(), required };
    config.steps[0].api_key_auth.headers_from_metadata.insert("x-team".to_owned(), entry);
    Change::PutAuthConfig(config)
}

/// A Secret with `data.team`.
fn of_team(name: &str, key: u8, team: &[u8]) -> Change {
    let mut secret = secret(name, "team=x", key);
    secret.metadata.insert("team".to_owned(), team.to_vec().into());
    secret.metadata.insert("other".to_owned(), b"unseen".to_vec().into());
    Change::PutSecret(secret)
}

#[test]
fn metadata_travel_with_the_key_where_a_header_wants_them() {
    let mut index = index([vec![
        of_team("a/ann", 1, b"blue\n"),
        put("a/bob", "team=x", 2),
        with_team("a/one", false),
        put_config("a/two", "team=x", &[]),
    ]]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann\0team\0blue"), (2, "bob")]));
    assert_eq!(table(&index, "a/two"), keys(&[(1, "ann"), (2, "bob")]));
    index.apply(2, [of_team("a/ann", 1, b"red")]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann\0team\0red"), (2, "bob")]));
    index.apply(3, [put_config("a/one", "team=x", &[])]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann"), (2, "bob")]));
}

#[test]
fn a_key_without_the_metadata_that_a_header_requires_is_not_valid() {
    let mut index = index([vec![
        of_team("a/ann", 1, b"blue"),
        of_team("a/bob", 2, b"two\nlines"),
        put("a/cat", "team=x", 3),
        of_team("a/dan", 4, &[b'x'; 9_000]),
        with_team("a/one", true),
    ]]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann\0team\0blue")]));
    let said = warnings(&index, AUTH_CONFIG, "a/one");
    assert_eq!(said.len(), 1);
    assert!(said[0].starts_with("3 of the selected Secrets lack data that a header requires"), "{said:?}");
    for name in ["a/bob", "a/cat"] {
        let said = warnings(&index, SECRET, name);
        assert!(said[0].starts_with("selected by AuthConfig a/one, which requires data.team"), "{said:?}");
    }
    assert!(warnings(&index, SECRET, "a/dan")[0].contains("longer than"));
    index.apply(2, [of_team("a/cat", 3, b"green"), delete("a/bob"), delete("a/dan")]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann\0team\0blue"), (3, "cat\0team\0green")]));
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [""; 0]);
    assert_eq!(warnings(&index, SECRET, "a/cat"), [""; 0]);
}

#[test]
fn what_is_said_of_a_key_goes_into_its_record_and_changes_the_version() {
    let lived = |life| ApiKeySecret { life, ..secret("a/ann", "team=x", 1) };
    let record = |index: &KeyIndex| {
        let view = index.view(Wanted::new());
        let table = view.table("a/one").expect("a table");
        (table.get(&digest(1)).map(<[u8]>::to_vec), table.version())
    };
    let life = KeyLife { not_before: Some(1), expires_at: Some(2), disabled: true };
    let packed = record::pack(
        Life { not_before: Some(1), expires_at: Some(2), disabled: true, any_shape: false },
        "ann",
        [],
    );
    let mut index = index([vec![put("a/ann", "team=x", 1), put_config("a/one", "team=x", &[])]]);
    let (plain, first) = record(&index);
    assert_eq!(plain.as_deref(), Some(&b"ann"[..]));
    index.apply(2, [Change::PutSecret(lived(life))]);
    let (limited, second) = record(&index);
    assert_eq!((limited, second.revision), (Some(packed), 2));
    index.apply(3, [Change::PutSecret(lived(life))]);
    assert_eq!(record(&index).1, second);
    index.apply(4, [Change::PutSecret(lived(KeyLife::default()))]);
    assert_eq!(record(&index), (plain, Version { revision: 4, ..first }));
}
