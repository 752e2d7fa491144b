//! Whom a refusal is held against.

use super::{blamed, cut};
use crate::testing::resource;

#[test]
fn the_named_are_blamed_and_else_everybody() {
    let cases: &[(&str, &[&str], &[&str])] = &[
        ("listener(s) a: no such filter", &["a", "b"], &["a"]),
        ("clusters a, b", &["a", "b", "c"], &["a", "b"]),
        ("a-b is bad", &["a", "a-b"], &["a-b"]),
        ("ab is bad", &["a", "b"], &["a", "b"]),
        ("in 'ns~proxy'.", &["ns~proxy", "proxy"], &["ns~proxy"]),
        ("cluster a.", &["a", "b"], &["a"]),
        ("host a.example.com is bad", &["a", "b"], &["a", "b"]),
        ("port a:80 is bad", &["a", "b"], &["a", "b"]),
        ("unknown", &["a"], &["a"]),
        ("", &["", "a"], &["", "a"]),
        ("cluster äa", &["a", "äa"], &["äa"]),
    ];
    for (message, names, expected) in cases {
        let resources: Vec<_> = names.iter().map(|name| resource("CDS", name, "1")).collect();
        let names: Vec<_> =
            blamed(&resources, message, |_| true).iter().map(|r| r.name().to_string()).collect();
        assert_eq!(names, *expected, "{message}");
    }
}

#[test]
fn what_was_accepted_before_is_innocent_unless_named() {
    let resources = [resource("CDS", "old", "1"), resource("CDS", "new", "1")];
    let names = |message: &str, news: &[&str]| -> Vec<String> {
        let guilty = blamed(&resources, message, |r| news.contains(&&**r.name()));
        guilty.iter().map(|r| r.name().to_string()).collect()
    };
    assert_eq!(names("bad", &["new"]), ["new"]);
    assert_eq!(names("old is bad", &["new"]), ["old"]);
    assert_eq!(names("bad", &[]), ["old", "new"]);
}

#[test]
fn a_long_message_is_cut_between_characters() {
    assert_eq!(cut("häß", 2), "h");
    assert_eq!(cut("häß", 3), "hä");
    assert_eq!(cut("häß", 100), "häß");
}
