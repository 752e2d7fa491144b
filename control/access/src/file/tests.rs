use std::os::unix::fs::PermissionsExt as _;

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::book::{TokenName, TokenRecord};
use crate::role::Role;
use crate::token::{Token, TokenDigest};

fn record(name: &str, seed: u8) -> TokenRecord {
    TokenRecord {
        name: TokenName::new(name).unwrap(),
        role: Role::Editor,
        namespaces: vec!["team".to_owned()],
        digest: digest(seed),
        created: Timestamp::from_second(1_700_000_000).unwrap(),
        expires: Some(Timestamp::from_second(1_800_000_000).unwrap()),
    }
}

fn digest(seed: u8) -> TokenDigest {
    Token::new(&[seed; 32]).digest()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// An error with its causes, as it is shown.
fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text += &format!(": {inner}");
        cause = inner.source();
    }
    text
}

#[test]
fn a_reader_sees_each_change_of_another_process_at_once() {
    let folder = folder();
    let (writer, reader) = (TokenFile::new(folder.path()), TokenFile::new(folder.path()));
    assert!(reader.book().unwrap().records().is_empty());
    for seed in 0..20 {
        let name = format!("t{seed}");
        writer.change(|book| book.add(record(&name, seed))).unwrap();
        assert!(reader.book().unwrap().find(&digest(seed)).is_some(), "{name} is not there");
        if seed % 2 == 0 {
            writer.change(|book| book.remove(&name)).unwrap();
            assert!(reader.book().unwrap().find(&digest(seed)).is_none(), "{name} is still there");
        }
    }
    assert_eq!(reader.book().unwrap().records().len(), 10);
    std::fs::remove_file(folder.path().join(NAME)).unwrap();
    assert!(reader.book().unwrap().records().is_empty());
}

#[test]
fn the_file_is_the_owners_alone_and_holds_no_token() {
    let folder = folder();
    let data = folder.path().join("new/data");
    let file = TokenFile::new(&data);
    let token = Token::new(&[5; 32]);
    file.change(|book| book.add(TokenRecord { digest: token.digest(), ..record("a", 5) })).unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&data), mode(&data.join(NAME))), (0o700, 0o600));
    let text = std::fs::read_to_string(data.join(NAME)).unwrap();
    assert!(text.contains(&token.digest().to_hex()), "{text}");
    assert!(!text.contains(&token.reveal()[4..40]), "{text}");
}

#[test]
fn a_change_that_fails_changes_nothing() {
    let folder = folder();
    let file = TokenFile::new(folder.path());
    file.change(|book| book.add(record("a", 1))).unwrap();
    let error = file.change(|book| {
        book.remove("a")?;
        book.remove("b")
    });
    assert_eq!(told(&error.unwrap_err()), "there is no token \"b\"");
    assert_eq!(file.book().unwrap().records().len(), 1);
}

#[test]
fn a_file_that_is_not_right_gives_no_list_at_all() {
    let folder = folder();
    let file = TokenFile::new(folder.path());
    file.change(|book| book.add(record("a", 1))).unwrap();
    let path = folder.path().join(NAME);
    let right = std::fs::read_to_string(&path).unwrap();
    for (wrong, reason) in [
        (String::new(), "EOF"),
        ("[]".to_owned(), "invalid"),
        (right.replace("editor", "owner"), "unknown variant `owner`"),
        (right.replace("\"role\"", "\"only\": 1, \"role\""), "unknown field `only`"),
        (right.replace(&digest(1).to_hex(), "kwt_secret"), "sha256 must be 64 hexadecimal digits"),
        (right.replace("\"a\"", "\"A\""), "no name for a token"),
    ] {
        std::fs::write(&path, &wrong).unwrap();
        let text = told(&file.book().unwrap_err());
        assert!(text.contains(reason) && !text.contains("kwt_secret"), "{text}");
        assert!(file.change(|_| Ok(())).is_err(), "a broken file was overwritten");
    }
    std::fs::write(&path, &right).unwrap();
    assert_eq!(file.book().unwrap().records().len(), 1);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o622)).unwrap();
    assert!(told(&file.book().unwrap_err()).contains("can be written by others"));
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let folder = folder();
    std::thread::scope(|scope| {
        for writer in 0..8_u8 {
            let file = TokenFile::new(folder.path());
            scope.spawn(move || {
                for number in 0..8_u8 {
                    let seed = writer * 8 + number;
                    file.change(|book| book.add(record(&format!("t{seed}"), seed))).unwrap();
                }
            });
        }
    });
    assert_eq!(TokenFile::new(folder.path()).book().unwrap().records().len(), 64);
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        tokens in proptest::collection::btree_map("[a-z][a-z0-9.-]{0,8}[a-z]", (
            proptest::sample::select(&Role::ALL),
            proptest::collection::vec("[a-z]{1,5}", 0..3),
            any::<u8>(),
            proptest::option::of(0_i64..4_000_000_000),
        ), 0..8),
    ) {
        let mut book = TokenBook::default();
        for (name, (role, namespaces, seed, expires)) in &tokens {
            let expires = expires.map(|second| Timestamp::from_second(second).unwrap());
            let (role, namespaces) = (*role, namespaces.clone());
            book.add(TokenRecord { role, namespaces, expires, ..record(name, *seed) }).unwrap();
        }
        let again = wire::parse(Path::new("t"), &wire::print(&book).unwrap()).unwrap();
        let shown = |book: &TokenBook| -> Vec<_> {
            let with_digest = |record: &TokenRecord| format!("{record:?} {}", record.digest.to_hex());
            book.records().iter().map(with_digest).collect()
        };
        prop_assert_eq!(shown(&again), shown(&book));
    }

    #[test]
    fn no_text_makes_the_reader_panic(text: Vec<u8>) {
        prop_assert!(wire::parse(Path::new("t"), &text).is_err());
    }
}
