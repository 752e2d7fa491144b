use keyward_filter_core::config::Step;
use std::sync::Arc;

use keyward_resource::{ObjectKey, ObjectRef};
use keyward_translate::proxy::{Action, Auth, Chain, Listener, Route, RouteMatcher, VirtualHost};

use super::*;

const ROLE: &str = "keyward-system~gateway-proxy";

fn policy(id: &str) -> Policy {
    Policy::of(Step::new("api-key", id))
}

fn proxy(needed: &[&str], denied: &[&str]) -> Proxy {
    let secured =
        needed.iter().map(|id| Auth::Secured { auth_id: (*id).to_owned(), allowed: None, open: false });
    let closed = denied.iter().map(|id| Auth::Denied { auth_id: (*id).to_owned(), reason: String::new() });
    let from = ObjectKey::new("VirtualService", "a", "a");
    let routes = secured
        .chain(closed)
        .map(|auth| Route::new(from.clone(), RouteMatcher::prefix("/"), auth, Action::to_cluster("none")));
    let host = VirtualHost::new(ObjectRef::new("a", "a"), Vec::new(), routes.collect());
    let chain = Chain::plain(String::new(), vec![Arc::new(host)]);
    let listener = Listener::new(String::new(), ([127, 0, 0, 1], 8080).into(), vec![chain]);
    Proxy {
        role: ROLE.to_owned(),
        listeners: vec![listener],
        clusters: BTreeMap::new(),
        secrets: BTreeMap::new(),
        auth_headers: BTreeSet::new(),
        policies: needed.iter().map(|id| ((*id).to_owned(), policy(id))).collect(),
        allow_lists: BTreeMap::new(),
        tables: needed.iter().map(|id| (*id).to_owned()).collect(),
    }
}

/// What is told when nothing waits for keys.
fn told(rollouts: &mut Rollouts, needed: &[&str], denied: &[&str]) -> (Vec<String>, Vec<String>) {
    told_by(rollouts, needed, denied, false)
}

fn told_by(
    rollouts: &mut Rollouts,
    needed: &[&str],
    denied: &[&str],
    may_wait: bool,
) -> (Vec<String>, Vec<String>) {
    let mut proxy = proxy(needed, denied);
    rollouts.widen(&mut proxy, None, may_wait, Instant::now());
    (proxy.policies.into_keys().collect(), proxy.tables.into_iter().collect())
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn what_was_told_goes_policies_first_and_tables_last() {
    let (mut rollouts, start) = (Rollouts::default(), Instant::now());
    assert_eq!(told(&mut rollouts, &["a"], &[]), (names(&["a"]), names(&["a"])));
    assert!(!rollouts.pending());

    rollouts.restart(start);
    assert_eq!(told(&mut rollouts, &["b"], &[]), (names(&["a", "b"]), names(&["a", "b"])));
    assert!(rollouts.pending());
    assert!(!rollouts.advance(start, |_, _| true, |_| false, |_| true), "the routes are not accepted yet");
    assert!(!rollouts.advance(start, |_, _| true, |_| true, |_| true), "nor have they reached every worker");
    assert!(rollouts.advance(start + SETTLE, |_, _| true, |_| true, |_| true));

    assert_eq!(told(&mut rollouts, &["b"], &[]), (names(&["b"]), names(&["a", "b"])));
    let later = start + SETTLE;
    assert!(
        !rollouts.advance(later, |_, _| true, |_| true, |_| false),
        "a worker still runs with the old policies"
    );
    assert!(!rollouts.advance(later, |_, _| true, |_| true, |_| true));
    assert!(rollouts.advance(later + SETTLE, |_, _| true, |_| true, |_| true));

    assert_eq!(told(&mut rollouts, &["b"], &[]), (names(&["b"]), names(&["b"])));
    assert!(!rollouts.pending());
}

#[test]
fn the_policy_of_an_auth_config_that_is_gone_under_a_route_goes_at_once_but_its_table_waits() {
    let mut rollouts = Rollouts::default();
    told(&mut rollouts, &["a", "b"], &[]);
    rollouts.restart(Instant::now());
    assert_eq!(told(&mut rollouts, &["b"], &["a"]), (names(&["b"]), names(&["a", "b"])));
}

#[test]
fn a_change_during_a_rollout_starts_it_anew_and_forgets_nothing() {
    let (mut rollouts, start) = (Rollouts::default(), Instant::now());
    told(&mut rollouts, &["a"], &[]);
    rollouts.restart(start);
    told(&mut rollouts, &["b"], &[]);
    rollouts.restart(start);
    assert_eq!(told(&mut rollouts, &["c"], &[]).0, names(&["a", "b", "c"]));
}

#[test]
fn a_proxy_that_does_not_follow_is_not_waited_for_for_ever() {
    let (mut rollouts, start) = (Rollouts::default(), Instant::now());
    told(&mut rollouts, &["a"], &[]);
    rollouts.restart(start);
    told(&mut rollouts, &["b"], &[]);
    assert!(rollouts.advance(start + PATIENCE, |_, _| true, |_| false, |_| false));
    told(&mut rollouts, &["b"], &[]);
    assert!(rollouts.advance(start + PATIENCE * 2, |_, _| true, |_| false, |_| false));
    assert_eq!(told(&mut rollouts, &["b"], &[]), (names(&["b"]), names(&["b"])));
}

#[test]
fn a_change_that_retires_nothing_settles_at_once() {
    let mut rollouts = Rollouts::default();
    told(&mut rollouts, &["a"], &[]);
    rollouts.restart(Instant::now());
    told(&mut rollouts, &["a", "b"], &[]);
    assert!(!rollouts.pending());
}

#[test]
fn routes_that_need_new_keys_wait_for_them() {
    let (mut rollouts, start) = (Rollouts::default(), Instant::now());
    // Whoever has not been told anything has no old routes either.
    told_by(&mut rollouts, &["a"], &[], true);
    assert!(!rollouts.holds_any());

    rollouts.restart(start);
    assert_eq!(told_by(&mut rollouts, &["a", "b"], &[], true), (names(&["a", "b"]), names(&["a", "b"])));
    assert!(rollouts.holds_routes(ROLE));
    assert!(!rollouts.advance(start, |_, _| false, |_| true, |_| true), "the keys are not there");
    // What comes meanwhile waits with them, and the old policies stay, whatever is new.
    rollouts.restart(start);
    assert_eq!(told_by(&mut rollouts, &["b"], &[], true).0, names(&["a", "b"]));
    assert!(rollouts.holds_routes(ROLE));
    assert!(rollouts.advance(start, |_, _| true, |_| false, |_| false));
    assert!(!rollouts.holds_routes(ROLE));
    assert_eq!(
        told_by(&mut rollouts, &["b"], &[], true).0,
        names(&["a", "b"]),
        "the old routes are still used"
    );
    let waits = rollouts.waits()[ROLE];
    assert_eq!((waits.count, waits.expired, waits.since), (1, 0, None));
}

#[test]
fn a_policy_that_is_gone_is_gone_also_while_routes_wait_for_others() {
    let mut rollouts = Rollouts::default();
    told_by(&mut rollouts, &["a"], &[], true);
    rollouts.restart(Instant::now());
    assert_eq!(told_by(&mut rollouts, &["b"], &["a"], true).0, names(&["b"]));
    assert!(rollouts.holds_routes(ROLE));
}

#[test]
fn routes_do_not_wait_for_keys_for_ever_and_not_where_nothing_is_new() {
    let mut rollouts = Rollouts::default();
    told_by(&mut rollouts, &["a", "b"], &[], true);
    rollouts.restart(Instant::now());
    told_by(&mut rollouts, &["b"], &[], true);
    assert!(!rollouts.holds_any());
    rollouts.restart(Instant::now());
    told_by(&mut rollouts, &["b", "c"], &[], true);
    let since = rollouts.waits()[ROLE].since.expect("it waits");
    assert!(!rollouts.advance(since + PATIENCE / 2, |_, _| false, |_| true, |_| true));
    assert!(rollouts.advance(since + PATIENCE, |_, _| false, |_| true, |_| true));
    let waits = rollouts.waits()[ROLE];
    assert_eq!((waits.count, waits.expired, waits.longest), (1, 1, PATIENCE));
}

/// What a change comes to while routes wait, in tables that are held.
fn waits_after(rollouts: &mut Rollouts, before: &Proxy, mut after: Proxy, now: Instant) -> Proxy {
    let told = after.clone();
    rollouts.restart(now);
    rollouts.widen(&mut after, Some(before), true, now);
    told
}

#[test]
fn routes_wait_for_the_tables_that_they_need_and_for_no_others() {
    let (mut rollouts, start) = (Rollouts::default(), Instant::now());
    told_by(&mut rollouts, &["a"], &[], true);
    rollouts.restart(start);
    told_by(&mut rollouts, &["a", "b"], &[], true);
    let asked = |role: &str, tables: &BTreeSet<String>| {
        assert_eq!((role, tables), (ROLE, &BTreeSet::from(["b".to_owned()])));
        true
    };
    assert!(rollouts.advance(start, asked, |_| true, |_| true));
    assert!(!rollouts.holds_any());
    // What was in vain once is not waited for again.
    rollouts.restart(start);
    told_by(&mut rollouts, &["a", "b"], &[], true);
    assert!(!rollouts.holds_any());
}

#[test]
fn what_nobody_needs_any_more_is_not_waited_for() {
    let (mut rollouts, start) = (Rollouts::default(), Instant::now());
    told_by(&mut rollouts, &["a"], &[], true);
    rollouts.restart(start);
    told_by(&mut rollouts, &["a", "b"], &[], true);
    assert!(rollouts.holds_routes(ROLE));
    rollouts.restart(start);
    assert_eq!(told_by(&mut rollouts, &["a"], &[], true).1, names(&["a", "b"]));
    assert!(!rollouts.holds_any());
}

#[test]
fn a_change_that_closes_waits_for_keys_only_briefly() {
    let open = |domains: &[&str], auth: &Auth| {
        let from = ObjectKey::new("VirtualService", "a", "a");
        let route = Route::new(from, RouteMatcher::prefix("/"), auth.clone(), Action::to_cluster("none"));
        let domains = domains.iter().map(|domain| (*domain).to_owned()).collect();
        let host = VirtualHost::new(ObjectRef::new("a", "a"), domains, vec![route]);
        let chain = Chain::plain(String::new(), vec![Arc::new(host)]);
        Listener::new(String::new(), ([127, 0, 0, 1], 8081).into(), vec![chain])
    };
    let with = |needed: &[&str], domains: &[&str], auth: &Auth| {
        let mut proxy = proxy(needed, &[]);
        proxy.listeners.push(open(domains, auth));
        proxy
    };
    let by =
        |id: &str, allowed: Option<AllowList>| Auth::Secured { auth_id: id.to_owned(), allowed, open: false };
    let list = AllowList { identities: ["ann".to_owned()].into(), labels: BTreeMap::new() };
    let all = ["one.test", "two.test"];
    let denied = Auth::Denied { auth_id: "x".to_owned(), reason: String::new() };
    for (domains, before, after, brief) in [
        (&all[..], Auth::Open, Auth::Open, false),
        (&all[..1], Auth::Open, Auth::Open, true),
        (&[], Auth::Open, Auth::Open, true),
        (&all, Auth::Open, by("a", None), true),
        (&all, by("a", None), by("b", None), true),
        (&all, by("a", None), by("a@", Some(list.clone())), true),
        (&all, by("a@", Some(list)), by("a", None), false),
        (&all, by("a", None), Auth::Open, false),
        (&all, by("a", None), denied.clone(), true),
        (&all, denied, by("a", None), false),
    ] {
        let (mut rollouts, start) = (Rollouts::default(), Instant::now());
        let first = with(&["a"], &all, &before);
        rollouts.widen(&mut first.clone(), None, true, start);
        let second = waits_after(&mut rollouts, &first, with(&["a", "b"], &all, &before), start);
        assert!(rollouts.holds_routes(ROLE));
        let half = start + PATIENCE / 2;
        assert!(!rollouts.advance(half, |_, _| false, |_| true, |_| true));
        waits_after(&mut rollouts, &second, with(&["a", "b"], domains, &after), half);
        assert!(rollouts.holds_routes(ROLE));
        assert!(!rollouts.advance(half, |_, _| false, |_| true, |_| true), "not at once");
        let over = rollouts.advance(half + BRIEFLY, |_, _| false, |_| true, |_| true);
        assert_eq!(over, brief, "{domains:?}, {before:?}, {after:?}");
    }
}

/// A proxy with one host: each route by its prefix and who is let in.
fn with_routes(domain: &str, routes: &[(&str, &Auth)]) -> Proxy {
    let from = ObjectKey::new("VirtualService", "a", "a");
    let route = |(prefix, auth): &(&str, &Auth)| {
        Route::new(from.clone(), RouteMatcher::prefix(*prefix), (*auth).clone(), Action::to_cluster("none"))
    };
    let routes = routes.iter().map(route).collect();
    let host = VirtualHost::new(ObjectRef::new("a", "a"), vec![domain.to_owned()], routes);
    let chain = Chain::plain(String::new(), vec![Arc::new(host)]);
    let listener = Listener::new(String::new(), ([127, 0, 0, 1], 8080).into(), vec![chain]);
    Proxy { listeners: vec![listener], ..proxy(&[], &[]) }
}

/// The same with a host more.
fn beside(mut one: Proxy, other: Proxy) -> Proxy {
    let hosts =
        other.listeners.into_iter().flat_map(|listener| listener.chains).flat_map(|it| it.virtual_hosts);
    one.listeners[0].chains[0].virtual_hosts.extend(hosts);
    one
}

#[test]
fn a_route_closes_what_it_is_put_before() {
    let (open, denied) = (&Auth::Open, &Auth::Denied { auth_id: "x".to_owned(), reason: String::new() });
    let [a, b] = ["a", "b"].map(|id| Auth::Secured { auth_id: id.to_owned(), allowed: None, open: false });
    let (a, b) = (&a, &b);
    for (before, after, closes_any) in [
        (&[("/", open)][..], &[("/admin", a), ("/", open)][..], true),
        (&[("/", open)], &[("/admin", denied), ("/", open)], true),
        (&[("/", open)], &[("/admin", open), ("/", open)], false),
        (&[("/a", open)], &[("/a", open), ("/admin", a)], false),
        (&[("/", a)], &[("/admin", a), ("/", a)], false),
        (&[("/", a)], &[("/admin", b), ("/", a)], true),
        (&[("/", denied)], &[("/admin", a), ("/", denied)], false),
        // It was there, but was never asked.
        (&[("/", open), ("/admin", a)], &[("/admin", a), ("/", open)], true),
        (&[("/admin", a), ("/", open)], &[("/", open), ("/admin", a)], false),
        (&[("/b", a), ("/", open)], &[("/b", a), ("/a", open), ("/", open)], false),
        (&[("/b", a), ("/", open)], &[("/a", a), ("/b", a), ("/", open)], true),
    ] {
        let (was, is) = (with_routes("*", before), with_routes("*", after));
        assert_eq!(closes(&was, &is), closes_any, "{before:?} {after:?}");
    }
    for (wide, domain, routes, closes_any) in [
        ("*", "a.test", &[("/", a)][..], true),
        ("*.test", "a.test", &[("/", a)], true),
        ("a.*", "a.test", &[("/", a)], true),
        ("*.test", "*.a.test", &[("/", a)], true),
        ("*", "a.test", &[("/", open)], false),
        // What else it was asked for is not found any more.
        ("*", "a.test", &[("/a", open)], true),
        ("*.test", "a.example", &[("/", a)], false),
        ("b.test", "a.test", &[("/", a)], false),
    ] {
        let was = with_routes(wide, &[("/", open)]);
        let is = beside(was.clone(), with_routes(domain, routes));
        assert_eq!(closes(&was, &is), closes_any, "{wide} {domain} {routes:?}");
        assert!(closes(&is, &was), "a host goes");
    }
}

#[test]
fn a_role_that_is_served_no_more_keeps_its_tables_until_its_proxies_know() {
    let left = |rollouts: &Rollouts, exists: bool| -> Vec<Vec<String>> {
        rollouts.left_tables(|_| exists).map(|(_, tables)| tables.into_iter().collect()).collect()
    };
    let (mut rollouts, start) = (Rollouts::default(), Instant::now());
    told(&mut rollouts, &["a"], &[]);
    rollouts.remove(ROLE, start);
    rollouts.forget(|_| false);
    assert!(rollouts.pending());
    assert!(!rollouts.advance(start, |_, _| true, |_| false, |_| true));
    for exists in [true, false] {
        assert_eq!(left(&rollouts, exists), [["a"]], "requests still ask for it");
    }
    assert!(!rollouts.advance(start, |_, _| true, |_| true, |_| true));
    assert!(rollouts.advance(start + SETTLE, |_, _| true, |_| true, |_| true));
    assert!(!rollouts.pending());
    // As long as there are workers a revocation has to reach them.
    rollouts.forget(|_| true);
    assert_eq!(left(&rollouts, true), [["a"]]);
    assert_eq!(left(&rollouts, false), [Vec::<String>::new()]);
    rollouts.forget(|_| false);
    assert!(left(&rollouts, true).is_empty());
}

#[test]
fn a_role_that_is_served_again_goes_on_from_what_it_was_told() {
    let (mut rollouts, start) = (Rollouts::default(), Instant::now());
    told(&mut rollouts, &["a"], &[]);
    rollouts.remove(ROLE, start);
    assert_eq!(told(&mut rollouts, &["b"], &[]), (names(&["b"]), names(&["a", "b"])));
    assert_eq!(rollouts.left_tables(|_| true).count(), 0);
    assert!(!rollouts.holds_any() && rollouts.pending());
    // Nobody is waited for for ever.
    rollouts.remove(ROLE, start);
    assert!(rollouts.advance(start + PATIENCE, |_, _| true, |_| false, |_| true));
    assert!(!rollouts.pending());
}
