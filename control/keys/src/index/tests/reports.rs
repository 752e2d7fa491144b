//! What is said of Secrets and `AuthConfig`s.

use super::*;

#[test]
fn a_selection_of_nothing_is_rejected_and_has_no_table() {
    let mut index = index([vec![put("a/ann", "team=x", 1), put_config("a/one", "", &[])]]);
    let rejected = Report { state: State::Rejected, reasons: vec![ApiKeyAuth::SELECTS_NOTHING.to_owned()] };
    assert_eq!(report(&index, AUTH_CONFIG, "a/one"), rejected);
    assert_eq!(table(&index, "a/one"), None);
    index.apply(2, [put_config("a/one", "team=x", &[])]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [""; 0]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann")]));
    index.apply(3, [put_config("a/one", "", &[])]);
    assert_eq!(report(&index, AUTH_CONFIG, "a/one"), rejected);
    assert_eq!(table(&index, "a/one"), None);
}

#[test]
fn a_selection_that_matches_nobody_denies_all_and_says_so() {
    let mut index = index([vec![put("a/ann", "team=y", 1), put_config("a/one", "team=x", &[])]]);
    let nobody = ["no Secret is selected: all requests are denied"];
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), nobody);
    assert_eq!(table(&index, "a/one"), keys(&[]));
    index.apply(2, [put("a/ann", "team=x", 1)]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [""; 0]);
    index.apply(3, [delete("a/ann")]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), nobody);
}

#[test]
fn a_secret_without_a_usable_key_is_skipped_and_reported_and_its_neighbours_are_not() {
    let problems = [
        KeyProblem::Missing,
        KeyProblem::Empty,
        KeyProblem::TooLong,
        KeyProblem::Unsendable,
        KeyProblem::Metadata,
    ];
    for problem in problems {
        let mut index = index([vec![
            Change::PutSecret(broken("a/ann", "team=x", problem)),
            put_config("a/one", "team=x", &[]),
        ]]);
        let skipped = [format!("holds no usable key and is skipped: {problem}")];
        let report = report(&index, SECRET, "a/ann");
        let state = if problem == KeyProblem::Missing { State::Warning } else { State::Rejected };
        assert_eq!((report.state, report.reasons), (state, skipped.to_vec()));
        let useless = "no selected Secret holds a usable key: all requests are denied";
        assert_eq!(warnings(&index, AUTH_CONFIG, "a/one").first().map(String::as_str), Some(useless));
        index.apply(2, [put("a/bob", "team=x", 2)]);
        assert_eq!(table(&index, "a/one"), keys(&[(2, "bob")]));
        let named = format!("the key of Secret a/ann is not valid: {problem}");
        let named = if problem == KeyProblem::Missing { vec![] } else { vec![named] };
        assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), named);
        assert_eq!(warnings(&index, SECRET, "a/bob"), [""; 0]);
        index.apply(3, [put("a/ann", "team=x", 1)]);
        assert_eq!(table(&index, "a/one"), keys(&[(1, "ann"), (2, "bob")]));
        assert_eq!(warnings(&index, SECRET, "a/ann"), [""; 0]);
        index.apply(4, [Change::PutSecret(broken("a/ann", "team=x", problem))]);
        assert_eq!(table(&index, "a/one"), keys(&[(2, "bob")]));
    }
}

#[test]
fn a_secret_that_could_not_be_written_so_is_named_by_who_selects_it() {
    let stored = broken("a/ann", "team=x", KeyProblem::ExpiresAt);
    let mut index = index([vec![
        Change::PutSecret(stored.clone()),
        put("a/bob", "team=x", 2),
        put_config("a/one", "team=x", &[]),
    ]]);
    let named = ["the key of Secret a/ann is not valid: data.expires-at is not a time as in RFC 3339"];
    assert_eq!(table(&index, "a/one"), keys(&[(2, "bob")]));
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), named);
    index.apply(2, [put("a/ann", "team=x", 1)]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [""; 0]);
    index.apply(3, [Change::PutSecret(stored), put_config("a/one", "", &["a/ann"])]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one").last().map(String::as_str), Some(named[0]));
    index.apply(4, [delete("a/ann")]);
    assert!(!warnings(&index, AUTH_CONFIG, "a/one").iter().any(|said| said == named[0]));
}

#[test]
fn a_newline_that_was_dropped_is_mentioned() {
    let newline = ApiKeySecret { trailing_newline: true, ..secret("a/ann", "team=x", 1) };
    let index = index([vec![Change::PutSecret(newline), put_config("a/one", "team=x", &[])]]);
    let sentence = "the newline at the end of data.api-key is not part of the key";
    assert_eq!(warnings(&index, SECRET, "a/ann"), [sentence]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann")]));
}

#[test]
fn of_secrets_that_hold_a_key_since_the_same_moment_the_first_by_name_is_the_identity() {
    let mut index = index([
        vec![put_config("c/one", "team=x", &[]), put("b/ann", "team=x", 0xab)],
        vec![put("a/dan", "team=x", 0xab)],
        vec![put("a/cat", "team=x", 0xab)],
        vec![put("a/bob", "", 0xab)],
    ]);
    assert_eq!(table(&index, "c/one"), keys(&[(0xab, "cat")]));
    let same = "the Secrets a/cat, a/dan, b/ann hold the same key: a/cat is the identity";
    assert_eq!(warnings(&index, AUTH_CONFIG, "c/one"), [same]);
    for name in ["a/cat", "a/dan", "b/ann"] {
        assert_eq!(warnings(&index, SECRET, name), [format!("selected by AuthConfig c/one: {same}")]);
    }
    assert_eq!(warnings(&index, SECRET, "a/bob"), [""; 0]);

    index.apply(5, [delete("a/cat")]);
    assert_eq!(table(&index, "c/one"), keys(&[(0xab, "dan")]));
    index.apply(6, [put("a/dan", "team=x", 7)]);
    assert_eq!(table(&index, "c/one"), keys(&[(7, "dan"), (0xab, "ann")]));
    assert_eq!(warnings(&index, AUTH_CONFIG, "c/one"), [""; 0]);
    assert_eq!(warnings(&index, SECRET, "b/ann"), [""; 0]);
    index.apply(7, [put("a/bob", "team=x", 0xab)]);
    assert_eq!(table(&index, "c/one"), keys(&[(7, "dan"), (0xab, "bob")]));
}

#[test]
fn the_same_key_under_different_auth_configs_is_nobodys_mistake() {
    let index = index([vec![
        put("a/ann", "team=x", 1),
        put("a/bob", "team=y", 1),
        put_config("a/one", "team=x", &[]),
        put_config("a/two", "team=y", &[]),
    ]]);
    assert_eq!(table(&index, "a/one"), keys(&[(1, "ann")]));
    assert_eq!(table(&index, "a/two"), keys(&[(1, "bob")]));
    for (kind, name) in [(SECRET, "a/ann"), (SECRET, "a/bob"), (AUTH_CONFIG, "a/one"), (AUTH_CONFIG, "a/two")]
    {
        assert_eq!(warnings(&index, kind, name), [""; 0]);
    }
}

#[test]
fn a_secret_that_is_named_and_missing_is_reported_until_it_comes() {
    let sentence = |name: &str| {
        format!("apiKeySecretRefs names Secret {name}, which does not exist or holds no API key")
    };
    let mut index = index([vec![put("a/ann", "", 1), put_config("a/one", "", &["a/ann", "b/bob", "a/cat"])]]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [sentence("a/cat"), sentence("b/bob")]);
    index.apply(2, [put("b/bob", "", 2)]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [sentence("a/cat")]);
    index.apply(3, [Change::PutSecret(broken("a/cat", "", KeyProblem::Missing))]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [""; 0]);
    index.apply(4, [delete("a/ann")]);
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [sentence("a/ann")]);
    assert_eq!(table(&index, "a/one"), keys(&[(2, "bob")]));
}

#[test]
fn what_is_reported_too_often_is_counted() {
    let missing: Vec<String> = (0..13).map(|number| format!("m/{number:02}")).collect();
    let missing: Vec<&str> = missing.iter().map(String::as_str).collect();
    let twelve = (0..12_u8).map(|key| put(&format!("a/{key:02}"), "team=x", key));
    let again = (0..12_u8).map(|key| put(&format!("b/{key:02}"), "team=x", key));
    let same = (0..14_u8).map(|number| put(&format!("c/{number:02}"), "team=y", 99));
    let mut index = KeyIndex::new();
    index.apply(1, twelve.chain(again).chain(same));
    index.apply(2, [put_config("a/one", "team=x", &missing), put_config("a/two", "team=y", &[])]);
    let said = warnings(&index, AUTH_CONFIG, "a/one");
    assert_eq!(said.len(), 22);
    assert_eq!(said[10], "apiKeySecretRefs names 3 more Secrets that do not exist");
    assert_eq!(said[21], "2 more keys are held by several of the selected Secrets");
    let said = warnings(&index, AUTH_CONFIG, "a/two");
    assert_eq!(said.len(), 1);
    assert!(said[0].ends_with("c/08, c/09 and 4 more hold the same key: c/00 is the identity"), "{said:?}");
}

#[test]
fn no_report_tells_a_key_or_its_digest() {
    let newline = ApiKeySecret { trailing_newline: true, ..secret("a/cat", "team=x", 0xab) };
    let index = index([vec![
        put("a/ann", "team=x", 0xab),
        put("a/bob", "team=x", 0xab),
        Change::PutSecret(newline),
        Change::PutSecret(broken("a/dan", "team=x", KeyProblem::TooLong)),
        put_config("a/one", "team=x", &["a/eve"]),
    ]]);
    let said: Vec<String> = index.reports().iter().flat_map(|(_, report)| report.reasons.clone()).collect();
    assert_eq!(said.len(), 3 + 1 + 1 + 3);
    for sentence in said {
        let sentence = sentence.to_lowercase();
        assert!(!sentence.contains("abab") && !sentence.contains("171"), "{sentence}");
    }
}

#[test]
fn nothing_is_said_about_what_the_index_does_not_know() {
    let index = index([vec![put("a/one", "", 1), put_config("a/two", "", &["a/one"])]]);
    for (kind, name) in [(SECRET, "two"), (AUTH_CONFIG, "one"), ("VirtualService", "one")] {
        assert_eq!(index.report(&ObjectKey::new(kind, "a", name)), None);
    }
    assert_eq!(index.reports().iter().count(), 2);
}

#[test]
fn a_previous_key_that_somebody_else_has_is_mentioned() {
    let index = index([vec![
        Change::PutSecret(rotated("a/ann", "team=x", 2, 1, 7_000)),
        put("a/bob", "team=x", 1),
        put_config("a/one", "team=x", &[]),
    ]]);
    let same = "the Secrets a/ann, a/bob hold the same key: a/ann is the identity";
    assert_eq!(warnings(&index, AUTH_CONFIG, "a/one"), [same]);
    assert_eq!(warnings(&index, SECRET, "a/bob"), [format!("selected by AuthConfig a/one: {same}")]);
}
