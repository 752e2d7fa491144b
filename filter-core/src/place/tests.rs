use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

struct Headers(BTreeMap<&'static str, &'static str>);

impl Facts for Headers {
    fn values(&mut self, header: &str) -> Vec<Vec<u8>> {
        self.0.get(header).map(|value| value.as_bytes().to_vec()).into_iter().collect()
    }

    fn now(&mut self) -> Option<u64> {
        None
    }
}

fn keys(place: PlaceRef<'_>, value: &'static str) -> Vec<String> {
    let headers = ["x-key", PATH, COOKIE].map(|name| (name, value));
    let keys = place.keys(&mut Headers(BTreeMap::from(headers)));
    keys.into_iter().map(|key| String::from_utf8(key).expect("text")).collect()
}

fn text(bytes: Option<Vec<u8>>) -> Option<String> {
    bytes.map(|bytes| String::from_utf8(bytes).expect("text"))
}

#[test]
fn a_prefix_is_known_in_letters_of_any_case_and_ends_in_a_blank() {
    let bearer = PlaceRef::Header("x-key", Some("Bearer"));
    for value in ["Bearer k1", "bearer k1", "BEARER\tk1", "Bearer   k1"] {
        assert_eq!(keys(bearer, value), ["k1"], "{value}");
    }
    for value in ["k1", "Bearerk1", "Bearer", "Bearer ", "Basic k1", " Bearer", "Bear", ""] {
        assert_eq!(keys(bearer, value), [""; 0], "{value}");
    }
    assert_eq!(keys(PlaceRef::Header("x-key", Some("key:")), "KEY:k1"), ["k1"]);
    assert_eq!(keys(PlaceRef::Header("x-key", None), "Bearer k1"), ["Bearer k1"]);
}

#[test]
fn a_query_parameter_is_decoded_and_nothing_else_is_taken_for_it() {
    let query = PlaceRef::Query("key");
    for (path, expected) in [
        ("/?key=k1", &["k1"][..]),
        ("/a/b?x=1&key=k1&y=2", &["k1"]),
        ("/?key=a%2Fb+c%3D", &["a/b+c="]),
        ("/?k%65y=k1", &["k1"]),
        ("/?key=k1&key=k2", &["k1", "k2"]),
        ("/?key=%zz%4", &["%zz%4"]),
        ("/?key=a=b?c", &["a=b?c"]),
        ("/?key=&key", &[]),
        ("/key=k1", &[]),
        ("/?KEY=k1", &[]),
        ("/?xkey=k1&keyx=k1", &[]),
        ("", &[]),
    ] {
        assert_eq!(keys(query, path), expected, "{path}");
    }
}

#[test]
fn a_query_parameter_is_taken_out_and_the_others_stay_as_they_are() {
    for (path, expected) in [
        ("/?key=k1", Some("/")),
        ("/a?x=1&key=k1&y=2", Some("/a?x=1&y=2")),
        ("/a?key=k1&x=%41&key=k2&&", Some("/a?x=%41&&")),
        ("/a?k%65y=k1&x", Some("/a?x")),
        ("/a?key", Some("/a")),
        ("/a?x=key", None),
        ("/a?", None),
        ("/a", None),
    ] {
        assert_eq!(text(query::without(path.as_bytes(), "key")).as_deref(), expected, "{path}");
    }
}

#[test]
fn a_cookie_is_found_among_others_and_taken_out() {
    for (cookies, found, rest) in [
        ("key=k1", &["k1"][..], Some("")),
        ("a=b; key=k1; c=d", &["k1"], Some("a=b; c=d")),
        ("a=b;key = k1 ;c=d", &["k1"], Some("a=b; c=d")),
        ("key=k1; key=k2", &["k1", "k2"], Some("")),
        ("key=a=b", &["a=b"], Some("")),
        ("key=; a=b", &[], Some("a=b")),
        ("xkey=k1; key", &[], None),
        ("", &[], None),
    ] {
        assert_eq!(keys(PlaceRef::Cookie("key"), cookies), found, "{cookies}");
        assert_eq!(text(cookie::without(cookies.as_bytes(), "key")).as_deref(), rest, "{cookies}");
    }
}

proptest! {
    #[test]
    fn what_was_taken_out_is_not_found_again(value in "[ -~]{0,60}") {
        if let Some(path) = query::without(value.as_bytes(), "k") {
            prop_assert!(query::values(&path, "k").is_empty());
        } else {
            prop_assert!(query::values(value.as_bytes(), "k").is_empty());
        }
        if let Some(cookies) = cookie::without(value.as_bytes(), "k") {
            prop_assert!(cookie::values(&cookies, "k").is_empty());
        } else {
            prop_assert!(cookie::values(value.as_bytes(), "k").is_empty());
        }
    }
}
