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
