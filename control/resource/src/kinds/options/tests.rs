//! Tests of how options are merged.

use super::*;

#[test]
fn what_is_unset_is_filled_in_field_by_field() {
    let mut own = RouteOptions { timeout: Some(Duration::ZERO), ..RouteOptions::default() };
    own.fill(&RouteOptions {
        timeout: Some(Duration::from_secs(5)),
        idle_timeout: Some(Duration::from_secs(6)),
        extauth: Some(ExtAuth::Disable),
        ..RouteOptions::default()
    });
    let expected = RouteOptions {
        timeout: Some(Duration::ZERO),
        idle_timeout: Some(Duration::from_secs(6)),
        extauth: Some(ExtAuth::Disable),
        ..RouteOptions::default()
    };
    assert_eq!(own, expected);
    let mut host = VirtualHostOptions { extauth: Some(ExtAuth::Disable), ..VirtualHostOptions::default() };
    host.fill(&VirtualHostOptions { include_request_attempt_count: Some(true), ..host.clone() });
    assert_eq!((host.extauth, host.include_request_attempt_count), (Some(ExtAuth::Disable), Some(true)));
}

#[test]
fn the_two_rewrites_of_a_path_never_come_together() {
    let prefix = || RouteOptions { prefix_rewrite: Some("/a".to_owned()), ..RouteOptions::default() };
    let rewrite = RegexRewrite { regex: "a".to_owned(), substitution: String::new() };
    let regex = || RouteOptions { regex_rewrite: Some(rewrite.clone()), ..RouteOptions::default() };
    for (own, from) in [(prefix(), regex()), (regex(), prefix())] {
        let mut filled = own.clone();
        filled.fill(&from);
        assert_eq!(filled, own);
    }
    let mut filled = RouteOptions::default();
    filled.fill(&regex());
    assert_eq!(filled, regex());
}

#[test]
fn who_decides_and_who_is_allowed_are_filled_in_each_by_itself() {
    let config = |name: &str| ExtAuth::ConfigRef(ObjectRef::new("apps", name));
    let only = |name: &str| {
        Allowed::Only(AllowList { identities: [name.to_owned()].into(), ..AllowList::default() })
    };
    let options = |extauth: Option<ExtAuth>, allowed: Option<Allowed>| RouteOptions {
        extauth,
        allowed,
        ..RouteOptions::default()
    };
    for (own, from, expected) in [
        ((None, None), (Some(config("a")), Some(only("x"))), (Some(config("a")), Some(only("x")))),
        (
            (Some(config("b")), None),
            (Some(config("a")), Some(only("x"))),
            (Some(config("b")), Some(only("x"))),
        ),
        ((None, Some(only("y"))), (Some(config("a")), Some(only("x"))), (Some(config("a")), Some(only("y")))),
        ((None, Some(Allowed::Everyone)), (None, Some(only("x"))), (None, Some(Allowed::Everyone))),
        // Who opens a route leaves no list behind.
        ((Some(ExtAuth::Disable), None), (None, Some(only("x"))), (Some(ExtAuth::Disable), None)),
        // But a list does not go because somebody further out opens.
        ((None, Some(only("y"))), (Some(ExtAuth::Disable), None), (Some(ExtAuth::Disable), Some(only("y")))),
    ] {
        let mut filled = options(own.0.clone(), own.1.clone());
        filled.fill(&options(from.0.clone(), from.1.clone()));
        assert_eq!((filled.extauth, filled.allowed), expected, "{own:?} and {from:?}");
        let mut route = options(own.0.clone(), own.1.clone());
        let host = VirtualHostOptions { extauth: from.0.clone(), allowed: from.1, ..Default::default() };
        route.fill_authentication(&host);
        assert_eq!((route.extauth, route.allowed), expected, "{own:?} in a host");
    }
}

#[test]
fn a_list_allows_who_is_named_and_who_has_all_labels_and_an_empty_one_nobody() {
    let pairs = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    };
    let list = AllowList { identities: ["ann".to_owned()].into(), labels: pairs(&[("a", "1"), ("b", "")]) };
    assert!(list.allows("ann", &pairs(&[])));
    assert!(list.allows("bob", &pairs(&[("a", "1"), ("b", ""), ("c", "3")])));
    for labels in [&[][..], &[("a", "1")], &[("a", "2"), ("b", "")]] {
        assert!(!list.allows("bob", &pairs(labels)), "{labels:?}");
    }
    assert!(!AllowList::default().allows("ann", &pairs(&[("a", "1")])));
    assert!(!AllowList::default().allows("", &pairs(&[])));
}
