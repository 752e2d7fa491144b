use super::*;
use crate::token::Token;

fn record(name: &str, seed: u8) -> TokenRecord {
    TokenRecord {
        name: TokenName::new(name).unwrap(),
        role: Role::Viewer,
        namespaces: Vec::new(),
        digest: Token::new(&[seed; 32]).digest(),
        created: Timestamp::UNIX_EPOCH,
        expires: None,
    }
}

#[test]
fn a_name_is_one_that_can_be_typed_and_logged() {
    for (text, taken) in [
        ("ci", true),
        ("ci-1.prod", true),
        ("0", true),
        ("", false),
        ("-ci", false),
        ("ci.", false),
        ("CI", false),
        ("c i", false),
        ("c\ni", false),
        (&"a".repeat(63), true),
        (&"a".repeat(64), false),
    ] {
        assert_eq!(TokenName::new(text).is_ok(), taken, "{text:?}");
    }
}

#[test]
fn tokens_are_found_by_digest_and_taken_out_by_name() {
    let mut book = TokenBook::default();
    for (name, seed) in [("b", 1), ("c", 2), ("a", 3)] {
        book.add(record(name, seed)).unwrap();
    }
    let names = |book: &TokenBook| -> Vec<_> { book.records().iter().map(|r| r.name.to_string()).collect() };
    assert_eq!(names(&book), ["a", "b", "c"]);
    assert_eq!(book.add(record("b", 9)).unwrap_err(), BookError::Exists { name: "b".to_owned() });
    let found = |book: &TokenBook, seed: u8| {
        book.find(&Token::new(&[seed; 32]).digest()).map(|record| record.name.to_string())
    };
    assert_eq!(found(&book, 1).as_deref(), Some("b"));
    assert_eq!(found(&book, 9), None);
    book.remove("b").unwrap();
    assert_eq!(book.remove("b").unwrap_err(), BookError::Missing { name: "b".to_owned() });
    assert_eq!((found(&book, 1), found(&book, 3).as_deref()), (None, Some("a")));
}

#[test]
fn a_token_ends_at_its_end() {
    let mut record = record("a", 1);
    let at = |seconds| Timestamp::from_second(seconds).unwrap();
    assert!(!record.is_expired(at(1 << 33)));
    record.expires = Some(at(100));
    assert_eq!([99, 100, 101].map(|now| record.is_expired(at(now))), [false, true, true]);
}
