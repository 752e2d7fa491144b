//! What holds for every configuration, over generated ones.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use envoy_types::pb::envoy::config::route::v3::FilterConfig;
use envoy_types::pb::google::protobuf::Any;
use keyward_filter_core::config::{Policy, auth_id_of_route, without_list};
use keyward_resource::kinds::VirtualService;
use keyward_resource::kinds::gateway::SelectBy;
use keyward_resource::{ObjectKey, ObjectRef, State};
use keyward_translate::proxy::{
    Auth, Chain, Listener, Proxy, Route as ProxyRoute, RouteMatcher, VirtualHost, names,
};
use keyward_translate::xds::{CORS_NAME, FAULT_NAME, FILTER_NAME, GUARD_NAME};
use keyward_translate::{Input, LastGood, Output, translate, xds};
use proptest::prelude::*;
use proptest::sample::subsequence;

use crate::decoded::{decode, managers, unpack};
use crate::generators::{DOMAINS, inputs, name, routes, tls};
use crate::support::{Put, auth_config, filter, route, settings, upstream, virtual_service};

fn fresh(input: &Input) -> Output {
    translate(input, &settings(), &LastGood::default())
}

fn key(kind: &'static str, reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(kind, &reference.namespace, &reference.name)
}

/// Whether this is what is left of a rejected virtual service.
fn is_closed(host: &VirtualHost) -> bool {
    host.name == names::closed_virtual_host(&host.virtual_service)
}

/// All routes of versions that are served, by where they are: proxy, listener, virtual service, position.
fn served(output: &Output) -> BTreeMap<(String, String, ObjectRef, usize), ProxyRoute> {
    let mut all = BTreeMap::new();
    for (role, proxy) in &output.proxies {
        for listener in &proxy.listeners {
            for host in listener.virtual_hosts().filter(|host| !is_closed(host)) {
                for (index, route) in host.routes.iter().enumerate() {
                    let place = (role.clone(), listener.name.clone(), host.virtual_service.clone(), index);
                    all.insert(place, route.clone());
                }
            }
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// Section 5 of the design stands and falls with this: a key that names no filter, or a secured
    /// route without the guard, would be let through by Envoy without a word.
    #[test]
    fn filter_and_guard_run_on_exactly_the_secured_routes(input in inputs()) {
        for proxy in fresh(&input).proxies.values() {
            let resources = xds(proxy, &filter(), &settings());
            let decoded = decode(&resources);
            for listener in &decoded.listeners {
                for manager in managers(listener) {
                    let filters = manager.http_filters;
                    let names: Vec<&str> = filters.iter().map(|filter| filter.name.as_str()).collect();
                    prop_assert_eq!(&names[..4], &[FAULT_NAME, CORS_NAME, FILTER_NAME, GUARD_NAME]);
                    prop_assert!(filters[..4].iter().all(|filter| filter.disabled));
                    prop_assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
                }
            }
            prop_assert_eq!(decoded.extensions.len(), 1);
            prop_assert_eq!(&decoded.extensions[0].name, FILTER_NAME);
            let hosts = decoded.routes.iter().flat_map(|routes| &routes.virtual_hosts);
            let made = hosts.filter(|host| host.name != names::MISDIRECTED).flat_map(|host| &host.routes);
            let made: Vec<_> = made.collect();
            let meant: Vec<_> = proxy.routes().collect();
            prop_assert_eq!(made.len(), meant.len());
            for (made, meant) in made.iter().zip(meant) {
                prop_assert_eq!(&made.name, &meant.name);
                prop_assert_eq!(auth_id_of_route(made.name.as_bytes()), meant.auth.auth_id());
                let on: BTreeSet<&str> = made.typed_per_filter_config.keys().map(String::as_str).collect();
                let expected: &[&str] = if meant.auth == Auth::Open { &[] } else { &[FILTER_NAME, GUARD_NAME] };
                prop_assert_eq!(on, expected.iter().copied().collect::<BTreeSet<_>>());
                // A guard of its own, which lets pass whom the filter lets pass without an identity, is where the
                // policy does so and nowhere else.
                let policy = meant.auth.auth_id().and_then(|auth_id| proxy.policies.get(auth_id));
                let is_open = policy.is_some_and(Policy::is_open);
                for (name, config) in &made.typed_per_filter_config {
                    let config: FilterConfig = unpack(config);
                    let has_own = config.config.expect("a filter that is on") != Any::default();
                    prop_assert_eq!(has_own, is_open && name == GUARD_NAME);
                }
            }
        }
    }

    #[test]
    fn the_filter_knows_the_policies_of_secured_routes_and_no_others(input in inputs()) {
        for proxy in fresh(&input).proxies.values() {
            let mut secured = BTreeSet::new();
            for route in proxy.routes() {
                match &route.auth {
                    Auth::Open => {}
                    Auth::Secured { auth_id, .. } => { secured.insert(auth_id.clone()); }
                    Auth::Denied { auth_id, .. } => prop_assert!(!proxy.policies.contains_key(auth_id)),
                }
            }
            prop_assert_eq!(proxy.policies.keys().cloned().collect::<BTreeSet<_>>(), secured.clone());
            let tables: BTreeSet<String> =
                secured.iter().flat_map(|id| [id.clone(), without_list(id).to_owned()]).collect();
            prop_assert_eq!(&proxy.tables, &tables);
            for (auth_id, policy) in &proxy.policies {
                let list = policy.steps[0].allowed.as_deref();
                prop_assert_eq!(list.is_some(), proxy.allow_lists.contains_key(auth_id));
                prop_assert_eq!(list, (without_list(auth_id) != auth_id).then_some(auth_id.as_str()));
                prop_assert_eq!(&policy.steps[0].table, without_list(auth_id));
                prop_assert!(list.is_none() || !policy.is_open());
            }
        }
    }

    #[test]
    fn same_input_same_bytes(input in inputs()) {
        let (first, second) = (fresh(&input), fresh(&input.clone()));
        prop_assert_eq!(&first, &second);
        for (role, proxy) in &first.proxies {
            let made = xds(proxy, &filter(), &settings());
            // Hash maps are seeded anew each time: only ordered bytes come out the same again.
            for _ in 0..3 {
                prop_assert_eq!(&made, &xds(&second.proxies[role], &filter(), &settings()));
            }
        }
    }

    #[test]
    fn names_are_unique_and_sorted_and_have_an_origin(input in inputs()) {
        for proxy in fresh(&input).proxies.values() {
            let resources = xds(proxy, &filter(), &settings());
            let lists = [
                &resources.clusters, &resources.endpoints, &resources.secrets, &resources.listeners, &resources.routes,
                &resources.extensions,
            ];
            for list in lists {
                prop_assert!(list.windows(2).all(|pair| pair[0].name < pair[1].name));
            }
            for resource in resources.iter() {
                let origin = (resource.type_url, resource.name.clone());
                prop_assert!(resources.origin.contains_key(&origin), "{:?}", origin);
            }
            prop_assert_eq!(resources.origin.len(), resources.iter().count());
            for routes in decode(&resources).routes {
                let domains: Vec<_> = routes.virtual_hosts.iter().flat_map(|host| &host.domains).collect();
                prop_assert_eq!(domains.iter().collect::<BTreeSet<_>>().len(), domains.len());
                let hosts: BTreeSet<_> = routes.virtual_hosts.iter().map(|host| &host.name).collect();
                prop_assert_eq!(hosts.len(), routes.virtual_hosts.len());
            }
        }
    }

    #[test]
    fn every_object_is_reported_and_served_unless_rejected(input in inputs()) {
        let output = fresh(&input);
        let objects = input.gateways.keys().map(|key| ("Gateway", key))
            .chain(input.virtual_services.keys().map(|key| ("VirtualService", key)))
            .chain(input.upstreams.keys().map(|key| ("Upstream", key)))
            .chain(input.auth_configs.keys().map(|key| ("AuthConfig", key)));
        let objects: BTreeSet<_> = objects.map(|(kind, reference)| key(kind, reference)).collect();
        prop_assert_eq!(output.reports.iter().map(|(key, _)| key.clone()).collect::<BTreeSet<_>>(), objects);
        for (_, report) in output.reports.iter() {
            prop_assert!(report.state <= State::Accepted || !report.reasons.is_empty());
        }
        let hosts: BTreeSet<_> = output.proxies.values().flat_map(|proxy| &proxy.listeners)
            .flat_map(Listener::virtual_hosts).filter(|host| !is_closed(host))
            .map(|host| host.virtual_service.clone()).collect();
        for reference in input.virtual_services.keys() {
            let report = output.reports.get(&key("VirtualService", reference)).expect("a report");
            let unserved = report.reasons.iter().any(|reason| reason == "no Gateway serves it");
            prop_assert_eq!(hosts.contains(reference), report.state != State::Rejected && !unserved);
        }
        let gateways: BTreeSet<_> = output.proxies.values().flat_map(|proxy| &proxy.listeners)
            .filter_map(|listener| listener.gateway.clone()).collect();
        for reference in input.gateways.keys() {
            let report = output.reports.get(&key("Gateway", reference)).expect("a report");
            let unopened = report.reasons.iter().any(|reason| reason.contains("is not opened"));
            prop_assert_eq!(gateways.contains(reference), report.state != State::Rejected && !unopened);
        }
    }

    #[test]
    fn one_broken_virtual_service_leaves_every_other_one_served(
        input in inputs(), domains in subsequence(DOMAINS, 1..=3), routes in routes(), ssl_config in tls(),
    ) {
        let before = served(&fresh(&input));
        let mut newcomer = virtual_service("newcomer", &domains, routes);
        // The youngest that there is, so every conflict is its own fault.
        newcomer.meta.creation_timestamp = String::new();
        newcomer.meta.namespace = "zzz".to_owned();
        newcomer.ssl_config = ssl_config;
        let reference = newcomer.meta.object_ref();
        let mut changed = input;
        newcomer.put(&mut changed);
        let mut after = served(&fresh(&changed));
        after.retain(|(_, _, virtual_service, _), _| *virtual_service != reference);
        prop_assert_eq!(before, after);
    }

    #[test]
    fn one_broken_upstream_or_auth_config_changes_its_own_routes_only(input in inputs(), broken in name()) {
        let reference = ObjectRef::new("default", broken);
        let before = served(&fresh(&input));
        let mut changed = input;
        changed.upstreams.remove(&reference);
        if let Some(config) = changed.auth_configs.get_mut(&reference) {
            Arc::make_mut(config).steps[0].api_key_auth.label_selector.clear();
        }
        let after = served(&fresh(&changed));
        prop_assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        let cluster = format!("{}_{}", reference.name, reference.namespace);
        for (place, route) in &before {
            if route.action.clusters().all(|to| to != cluster) {
                prop_assert_eq!(&route.action, &after[place].action);
            }
            match route.auth.auth_id() {
                Some(auth_id) if without_list(auth_id) == reference.to_string() => {
                    let denied = matches!(after[place].auth, Auth::Denied { .. });
                    prop_assert!(denied, "a broken AuthConfig must deny");
                }
                _ => prop_assert_eq!(&route.auth, &after[place].auth),
            }
        }
    }

    /// Whatever follows whatever: because of what is remembered nobody loses anything but who asks for what
    /// another one had, and is told so.
    #[test]
    fn last_good_versions_take_nothing_but_what_they_had(states in prop::collection::vec(inputs(), 2..5)) {
        let mut last_good = LastGood::default();
        for input in &states {
            let with = translate(input, &settings(), &last_good);
            let without = fresh(input);
            let (with_served, without_served) = (served(&with), served(&without));
            let outdated: BTreeSet<&String> = with.proxies.values().flat_map(|proxy| &proxy.listeners)
                .filter(|listener| is_outdated(listener, &with)).map(|listener| &listener.name).collect();
            // A default Gateway is nobody's: what stood in its place goes on standing there.
            let defaults: BTreeSet<&String> = without.proxies.values().flat_map(|proxy| &proxy.listeners)
                .filter(|listener| listener.gateway.is_none()).map(|listener| &listener.name).collect();
            let rejected = |output: &Output| -> Vec<ObjectRef> {
                let gateways = input.gateways.keys().filter(|gateway| {
                    output.reports.get(&key("Gateway", gateway)).is_some_and(|one| one.state == State::Rejected)
                });
                gateways.cloned().collect()
            };
            // A last good version may stand where nothing is opened, for want of a certificate.
            let same = rejected(&with).is_empty() && rejected(&without).is_empty();
            let replaced = if same { BTreeSet::new() } else { defaults };
            for (place, route) in without_served.iter().filter(|((_, listener, _, _), _)| !replaced.contains(listener)) {
                if with_served.get(place) == Some(route) {
                    continue;
                }
                let (_, listener, virtual_service, _) = place;
                let report = with.reports.get(&key("VirtualService", virtual_service)).expect("a report");
                let is_told = report.reasons.iter().any(|reason| reason.contains(" belongs to VirtualService "));
                let has_lost = report.state == State::Rejected && is_told;
                let listeners = without.proxies.values().flat_map(|proxy| &proxy.listeners);
                let mut moved = listeners.filter(|one| one.name == *listener && is_outdated(one, &with));
                prop_assert!(has_lost || moved.next().is_some(), "{:?}: {:?}", place, report);
            }
            let more = with_served.keys().filter(|place| !without_served.contains_key(*place));
            for (_, _, virtual_service, _) in more.filter(|(_, listener, _, _)| !outdated.contains(listener)) {
                let report = with.reports.get(&key("VirtualService", virtual_service)).expect("a report");
                let is_told = report.reasons.iter().any(|reason| reason.starts_with("the last good version"));
                prop_assert!(report.state != State::Rejected || is_told, "{:?}", report);
            }
            for proxy in with.proxies.values() {
                assert_domains_are_unique(proxy);
            }
            last_good = with.last_good;
        }
    }

    /// Envoy prefers a domain to every wildcard, so each that is named has to stand somewhere: left
    /// out, a secured host would fall to a wildcard of somebody else, which may be open.
    #[test]
    fn no_domain_that_is_named_falls_to_a_wildcard(states in prop::collection::vec(inputs(), 1..5)) {
        let mut last_good = LastGood::default();
        for (index, input) in states.iter().enumerate() {
            let output = translate(input, &settings(), &last_good);
            let listeners = output.proxies.values().flat_map(|proxy| &proxy.listeners);
            for listener in listeners.filter(|listener| !is_outdated(listener, &output)) {
                for (chain, service, domain) in named_on(listener, input) {
                    let owners: BTreeMap<&String, &ObjectRef> = chain.virtual_hosts.iter()
                        .flat_map(|host| host.domains.iter().map(|domain| (domain, &host.virtual_service))).collect();
                    // On another chain it is answered with 421, if it would fall to a wildcard there.
                    let elsewhere = service.ssl_config.is_some() && !falls_to_a_wildcard(chain, domain);
                    {
                        let Some(owner) = owners.get(domain) else {
                            if elsewhere || chain.misdirected.contains(domain) {
                                continue;
                            }
                            return Err(TestCaseError::fail(format!("{domain} is left out: {listener:?}")));
                        };
                        // Named by its current version, or by one before that goes on.
                        let named = |state: &Input| state.virtual_services.get(*owner)
                            .is_some_and(|service| service.domains.contains(domain));
                        prop_assert!(states[..=index].iter().any(named), "{} has {}", owner, domain);
                    }
                }
            }
            last_good = output.last_good;
        }
    }

    #[test]
    fn a_rejected_virtual_service_lets_nothing_through(states in prop::collection::vec(inputs(), 1..5)) {
        let mut last_good = LastGood::default();
        for input in &states {
            let output = translate(input, &settings(), &last_good);
            for host in output.proxies.values().flat_map(|proxy| &proxy.listeners)
                .filter(|listener| !is_outdated(listener, &output))
                .flat_map(Listener::virtual_hosts).filter(|host| is_closed(host))
            {
                prop_assert_eq!(host.routes.len(), 1);
                let route = &host.routes[0];
                let Auth::Denied { auth_id, .. } = &route.auth else {
                    return Err(TestCaseError::fail(format!("{route:?}")));
                };
                prop_assert_eq!(&route.matcher, &RouteMatcher::prefix("/"));
                prop_assert_eq!(auth_id_of_route(route.name.as_bytes()), Some(auth_id.as_str()));
                prop_assert!(auth_id.starts_with('!'));
                prop_assert!(output.proxies.values().all(|proxy| !proxy.policies.contains_key(auth_id)));
                let report = output.reports.get(&key("VirtualService", &host.virtual_service)).expect("a report");
                prop_assert_eq!(report.state, State::Rejected);
                let told = report.reasons.iter().find(|reason| reason.starts_with("its remaining domains"));
                for domain in &host.domains {
                    prop_assert!(told.is_some_and(|told| told.contains(&format!("{domain:?}"))), "{:?}", report);
                }
            }
            last_good = output.last_good;
        }
    }
}

/// Whether a listener comes from the last good version of a Gateway.
fn is_outdated(listener: &Listener, output: &Output) -> bool {
    let report = |gateway| output.reports.get(&key("Gateway", gateway)).expect("a report");
    listener.gateway.as_ref().is_some_and(|gateway| report(gateway).state == State::Rejected)
}

/// Every chain of a listener with every domain that is asked for there.
fn named_on<'a>(
    listener: &'a Listener,
    input: &'a Input,
) -> Vec<(&'a Chain, &'a Arc<VirtualService>, &'a String)> {
    let chains = listener.chains.iter();
    chains
        .flat_map(|chain| {
            served_on(listener, input)
                .filter(|service| service.ssl_config.is_some() == chain.tls.is_some())
                .flat_map(move |service| service.domains.iter().map(move |domain| (chain, service, domain)))
        })
        .collect()
}

/// Whether a chain serves a wildcard that takes hosts of this domain.
fn falls_to_a_wildcard(chain: &Chain, domain: &str) -> bool {
    let mut domains = chain.virtual_hosts.iter().flat_map(|host| &host.domains);
    domains.any(|wildcard| match wildcard.split_once('*') {
        Some(("", suffix)) => domain.trim_start_matches('*').ends_with(suffix),
        Some((prefix, _)) => domain.starts_with(prefix),
        None => false,
    })
}

/// The virtual services that the Gateway of a listener asks for.
fn served_on<'a>(listener: &'a Listener, input: &'a Input) -> impl Iterator<Item = &'a Arc<VirtualService>> {
    let gateway = listener.gateway.as_ref().map(|gateway| &input.gateways[gateway].selection);
    let selects = move |service: &&Arc<VirtualService>| match gateway.map(|selection| &selection.by) {
        Some(SelectBy::Refs(refs)) => refs.contains(&service.meta.object_ref()),
        _ => true,
    };
    input.virtual_services.values().filter(selects)
}

fn assert_domains_are_unique(proxy: &Proxy) {
    for chain in proxy.listeners.iter().flat_map(|listener| &listener.chains) {
        let mut seen = BTreeSet::new();
        let domains = chain.virtual_hosts.iter().flat_map(|host| &host.domains).chain(&chain.misdirected);
        assert!(domains.into_iter().all(|domain| seen.insert(domain)), "{chain:?}");
    }
}

#[test]
fn the_version_of_the_filter_configuration_names_its_content() {
    let mut input = Input::default();
    auth_config("one").put(&mut input);
    upstream("one", &[("127.0.0.1", 80)]).put(&mut input);
    let secured = crate::support::by_name("one");
    virtual_service("one", &["*"], vec![route("/", "one", secured)]).put(&mut input);
    let version = |input: &Input| {
        let output = fresh(input);
        let proxy = output.proxies.values().next().expect("the default proxy");
        keyward_translate::filter_config(proxy, &settings()).version
    };
    let first = version(&input);
    assert_eq!(first, version(&input));
    assert!(first > 0 && first < 1 << 53, "{first}");
    // A new upstream changes nothing that the filter is told; another key header does.
    upstream("two", &[("127.0.0.1", 81)]).put(&mut input);
    assert_eq!(first, version(&input));
    let config = input.auth_configs.values_mut().next().expect("the auth config");
    Arc::make_mut(config).steps[0].api_key_auth.header_name = "x-other".to_owned();
    assert_ne!(first, version(&input));
}
