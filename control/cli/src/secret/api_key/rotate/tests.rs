use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use clap::Parser;

use super::*;
use crate::key::fixture;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: RotateArgs,
}

fn now() -> Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn found(entries: &[(&str, &str)]) -> Found {
    let object = fixture::secret(entries);
    let secret = Entry::secret(&object).unwrap();
    Found { object, secret }
}

/// Entries of the data, with their texts.
type Entries = Vec<(String, String)>;

/// What the data are after a rotation with these flags, and what is said.
fn rotated(entries: &[(&str, &str)], flags: &[&str]) -> anyhow::Result<(Entries, Vec<String>)> {
    let words = ["rotate", "ann"].into_iter().chain(flags.iter().copied());
    let args = Cli::try_parse_from(words).unwrap().args;
    let found = found(entries);
    let is_digest = found.data(KEY_FIELD).is_null();
    let material = args.key.or_generated(is_digest).material(&mut &b"from-stdin\n"[..]).unwrap();
    let plan = args.plan(&found, &material, now())?;
    let mut data = found.object["data"].as_object().unwrap().clone();
    for (entry, value) in plan.patch["data"].as_object().unwrap() {
        match value {
            Value::Null => drop(data.remove(entry)),
            value => drop(data.insert(entry.clone(), value.clone())),
        }
    }
    let decoded = data.into_iter().map(|(entry, value)| {
        let bytes = BASE64_STANDARD.decode(value.as_str().unwrap()).unwrap();
        (entry, String::from_utf8(bytes).unwrap())
    });
    Ok((decoded.collect(), plan.notes))
}

fn pairs(entries: &[(&str, &str)]) -> Vec<(String, String)> {
    entries.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

const NEW: &[&str] = &["--apikey", "new"];

#[test]
fn the_old_key_moves_and_ends_with_the_overlap() {
    let (data, notes) = rotated(&[("api-key", "old"), ("team", "infra")], NEW).unwrap();
    let expected = [
        ("api-key", "new"),
        ("previous-api-key", "old"),
        ("previous-expires-at", "2026-06-02T00:00:00Z"),
        ("team", "infra"),
    ];
    assert_eq!(data, pairs(&expected));
    assert_eq!(
        notes,
        ["key 7ad6a1e3 is valid until 2026-06-02T00:00:00Z"]
            .map(|note| { note.replace("7ad6a1e3", &id_of(&crate::key::sha256(b"old"))) })
    );
}

#[test]
fn a_second_rotation_in_the_overlap_ends_the_oldest_key() {
    let (data, notes) = rotated(
        &[
            ("api-key", "old"),
            ("previous-api-key", "oldest"),
            ("previous-expires-at", "2026-06-01T12:00:00Z"),
        ],
        &["--apikey", "new", "--overlap", "1h"],
    )
    .unwrap();
    let expected =
        [("api-key", "new"), ("previous-api-key", "old"), ("previous-expires-at", "2026-06-01T01:00:00Z")];
    assert_eq!(data, pairs(&expected));
    let oldest = id_of(&crate::key::sha256(b"oldest"));
    assert!(
        notes[1].starts_with(&format!("key {oldest}, from the rotation before, ends at once")),
        "{notes:?}"
    );
}

#[test]
fn the_key_before_can_come_back() {
    let (data, notes) = rotated(
        &[("api-key", "b"), ("previous-api-key", "a"), ("previous-expires-at", "2026-06-01T12:00:00Z")],
        &["--apikey", "a"],
    )
    .unwrap();
    let expected =
        [("api-key", "a"), ("previous-api-key", "b"), ("previous-expires-at", "2026-06-02T00:00:00Z")];
    assert_eq!(data, pairs(&expected));
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn no_rotation_makes_an_old_key_valid_for_longer_than_it_was() {
    // It ends before the overlap does, and so does the new one, unless told.
    let soon = ("expires-at", "2026-06-01T06:00:00Z");
    let (data, notes) = rotated(&[("api-key", "old"), soon], NEW).unwrap();
    assert!(data.contains(&("previous-expires-at".into(), "2026-06-01T06:00:00Z".into())), "{data:?}");
    assert!(data.contains(&("expires-at".into(), "2026-06-01T06:00:00Z".into())), "{data:?}");
    assert!(notes.iter().any(|note| note.contains("the new key is valid until 2026-06-01T06:00:00Z")));
    let (data, _) = rotated(&[("api-key", "old"), soon], &["--apikey", "new", "--no-expiry"]).unwrap();
    assert!(!data.iter().any(|(entry, _)| entry == "expires-at"), "{data:?}");

    // It is over, or has not begun, or the overlap is nothing: it is gone.
    let over = ("expires-at", "2026-05-01T00:00:00Z");
    assert!(rotated(&[("api-key", "old"), over], NEW).unwrap_err().to_string().contains("has expired"));
    for (entry, flags) in [
        (over, &["--apikey", "new", "--expires-in", "1d"][..]),
        (("not-before", "2026-07-01T00:00:00Z"), NEW),
        (("team", "a"), &["--apikey", "new", "--overlap", "0"]),
    ] {
        let (data, _) = rotated(&[("api-key", "old"), entry], flags).unwrap();
        assert!(!data.iter().any(|(entry, _)| entry.starts_with("previous")), "{data:?}");
        assert!(!data.iter().any(|(entry, _)| entry == "not-before"), "{data:?}");
    }
}

#[test]
fn who_keeps_digests_goes_on_so() {
    let digest = "ea77193cc4e6f18656f3130e296203880c4b9b3772afc855211b82fdd46e9185";
    let (data, _) = rotated(&[("api-key-sha256", digest)], &["--apikey-stdin"]).unwrap();
    let entries: Vec<&str> = data.iter().map(|(entry, _)| entry.as_str()).collect();
    assert_eq!(entries, ["api-key-sha256", "previous-api-key-sha256", "previous-expires-at"]);
    assert_eq!(data[1].1, digest);
    let (data, _) = rotated(&[("api-key", "old")], &["--digest-only"]).unwrap();
    assert!(
        data[0].0 == "api-key-sha256" && data[1] == ("previous-api-key".into(), "old".into()),
        "{data:?}"
    );
}

#[test]
fn what_is_no_rotation_is_refused() {
    assert!(rotated(&[("api-key", "new")], NEW).unwrap_err().to_string().contains("the one that you give"));
    let broken = rotated(&[("api-key", "old"), ("disabled", "?")], NEW).unwrap_err().to_string();
    assert!(broken.contains("holds no usable key"), "{broken}");
    let (_, notes) = rotated(&[("api-key", "old"), ("disabled", "true")], NEW).unwrap();
    assert!(notes.iter().any(|note| note.contains("is disabled")), "{notes:?}");
}
