//! What holds of the headers that policies set and take, over generated objects.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyward_resource::kinds::auth_config::{AuthConfig, MetadataEntry};
use keyward_resource::kinds::options::{HeaderToAdd, Source};
use keyward_resource::kinds::route::{HeaderMatcher, Matcher, ValueMatcher};
use keyward_resource::kinds::{ExtAuth, Route};
use keyward_resource::{ObjectKey, ObjectRef, State};
use keyward_translate::proxy::{Auth, VirtualHost};
use keyward_translate::{Input, LastGood, Output, translate};
use proptest::prelude::*;
use proptest::sample::select;

use crate::changes::{built, change};
use crate::support::{Put, auth_config, route, settings, virtual_service};

/// The youngest of all, by its name.
const LAST: &str = "zzz";

fn fresh(input: &Input) -> Output {
    translate(input, &settings(), &LastGood::default())
}

fn telling(name: &str, header: &str) -> AuthConfig {
    let mut config = auth_config(name);
    let entry = MetadataEntry { name: "team".to_owned(), required: false };
    config.meta.namespace = LAST.to_owned();
    config.steps[0].api_key_auth.headers_from_metadata.insert(header.to_owned(), entry);
    config
}

fn hosts(output: &Output) -> BTreeMap<(String, String), Arc<VirtualHost>> {
    let listeners = output.proxies.values().flat_map(|proxy| &proxy.listeners);
    let hosts = listeners.flat_map(|listener| listener.virtual_hosts().map(move |host| (listener, host)));
    hosts
        .filter(|(_, host)| host.virtual_service.namespace != LAST)
        .map(|(listener, host)| ((listener.name.clone(), host.name.clone()), Arc::clone(host)))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_policy_that_no_route_uses_makes_no_difference(
        changes in prop::collection::vec(change(), 1..25), header in select(&["x-team", "api-key", "x-fine"][..]),
    ) {
        let mut input = built(&changes);
        let before = fresh(&input);
        telling("unused", header).put(&mut input);
        let after = fresh(&input);
        prop_assert_eq!(&before.proxies, &after.proxies);
        let said = after.reports.iter().filter(|(object, _)| object.namespace != LAST);
        prop_assert!(said.eq(before.reports.iter()));
    }

    /// Whatever it sets, takes and asks for, and whoever is rejected before.
    #[test]
    fn who_comes_last_takes_nothing_from_anybody(
        changes in prop::collection::vec(change(), 1..25), tells in select(&["x-team", "api-key", "x-fine"][..]),
        takes in select(&["x-team", "api-key"][..]), asks in prop::option::of(select(&["x-team", "x-fine"][..])),
    ) {
        let mut input = built(&changes);
        let before = hosts(&fresh(&input));
        let mut config = telling("config", tells);
        takes.clone_into(&mut config.steps[0].api_key_auth.header_name);
        config.put(&mut input);
        let asked = asks.iter().map(|name| HeaderMatcher {
            name: (*name).to_owned(), value: ValueMatcher::Present, invert: false,
        });
        let extauth = ExtAuth::ConfigRef(ObjectRef::new(LAST, "config"));
        let mut newcomer = virtual_service("service", &["last.example.com"], vec![
            Route { matchers: vec![Matcher { headers: asked.collect(), ..Matcher::default() }], ..route("/", "a", None) },
            route("/", "a", Some(extauth)),
        ]);
        newcomer.meta.namespace = LAST.to_owned();
        newcomer.put(&mut input);
        let output = fresh(&input);
        prop_assert_eq!(before, hosts(&output));
        // Nor does it get through where it is not meant to be.
        let report = output.reports.get(&ObjectKey::new("VirtualService", LAST, "service")).expect("a report");
        let own = output.proxies.values().flat_map(|proxy| proxy.routes()).filter(|route| route.from.namespace == LAST);
        let own: Vec<_> = own.collect();
        prop_assert!(asks != Some(tells) || report.state == State::Rejected);
        let closed = own.iter().all(|route| matches!(route.auth, Auth::Denied { .. }));
        prop_assert!(report.state != State::Rejected || closed);
    }

    /// Whatever follows whatever, last good versions included: nobody asks for what is removed, and every
    /// key arrives.
    #[test]
    fn nobody_who_is_served_needs_what_is_removed(states in prop::collection::vec(prop::collection::vec(change(), 1..15), 1..4)) {
        let mut last_good = LastGood::default();
        for changes in &states {
            let output = translate(&built(changes), &settings(), &last_good);
            for proxy in output.proxies.values() {
                let removed = |name: &str| proxy.auth_headers.contains(&name.replace('_', "-"));
                prop_assert!(removed("x-user-id"));
                for header in proxy.routes().flat_map(|route| &route.matcher.headers) {
                    prop_assert!(!removed(&header.name), "{}", header.name);
                }
                for headers in proxy.routes().filter_map(|route| route.header_manipulation.as_ref()) {
                    for header in &headers.request_add {
                        prop_assert!(!removed(&header.name), "{} is added", header.name);
                    }
                    for source in headers.response_add.iter().flat_map(HeaderToAdd::sources) {
                        prop_assert_ne!(source, Source::Header("api-key".to_owned()));
                    }
                }
                for step in proxy.policies.values().flat_map(|policy| &policy.steps) {
                    prop_assert!(!removed(&step.key_header), "{}", step.key_header);
                    prop_assert!(step.headers.iter().all(|told| removed(&told.header)));
                }
                let told = proxy.policies.values().flat_map(|policy| &policy.steps).flat_map(|step| &step.headers);
                prop_assert!(proxy.auth_headers.len() <= 1 + told.count());
            }
            last_good = output.last_good;
        }
    }
}
