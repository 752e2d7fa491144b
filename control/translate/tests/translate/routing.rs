//! What holds of routes with delegation, shared options and every action, over generated objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::config::{auth_id_of_route, without_list};
use keyward_resource::kinds::options::{AllowList, Allowed};
use keyward_resource::kinds::route::{Action, Delegate};
use keyward_resource::kinds::{ExtAuth, Route, RouteTable};
use keyward_resource::{Meta, ObjectKey, State};
use keyward_translate::proxy::{Auth, VirtualHost};
use keyward_translate::xds::{FILTER_NAME, GUARD_NAME};
use keyward_translate::{Encoder, Input, LastGood, Output, Routing, Settings, Translator, translate, xds};
use proptest::prelude::*;
use proptest::sample::select;

use crate::changes::{Change, TABLES, any_change, apply, built, change, reference};
use crate::decoded::{decode, manager};
use crate::support::{Put, auth_config, filter, meta, route, settings, virtual_service};

fn strict() -> Settings {
    Settings { routing: Routing { allow_auth_override: false, ..Routing::default() }, ..settings() }
}

fn hosts(output: &Output) -> BTreeMap<(String, String), Arc<VirtualHost>> {
    let listeners = output.proxies.values().flat_map(|proxy| &proxy.listeners);
    let hosts = listeners.flat_map(|listener| listener.virtual_hosts().map(move |host| (listener, host)));
    hosts.map(|(listener, host)| ((listener.name.clone(), host.name.clone()), Arc::clone(host))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever changes after whatever: what is kept from before makes no difference.
    #[test]
    fn one_change_after_the_other_gives_what_a_translation_from_scratch_gives(
        changes in prop::collection::vec(any_change(), 1..30), forbidding in any::<bool>(),
    ) {
        let settings = if forbidding { strict() } else { settings() };
        let (mut translator, mut encoder) = (Translator::default(), Encoder::default());
        let (mut input, mut last_good) = (Input::default(), LastGood::default());
        for change in &changes {
            apply(change, &mut input);
            let kept = translator.translate(&input, &settings, &last_good);
            let scratch = translate(&input, &settings, &last_good);
            prop_assert_eq!(&kept, &scratch, "after {:?}", change);
            for (role, proxy) in &kept.proxies {
                prop_assert_eq!(
                    encoder.xds(proxy, &filter(), &kept.settings),
                    xds(&scratch.proxies[role], &filter(), &kept.settings)
                );
            }
            last_good = kept.last_good;
        }
    }

    #[test]
    fn the_order_of_arrival_makes_no_difference(
        (changes, shuffled) in prop::collection::vec(any_change(), 1..20)
            .prop_map(|changes| {
                // One change of each object, so that every order ends in the same objects.
                let mut seen = BTreeSet::new();
                let about = |change: &Change| match change {
                    Change::Service(one) => ("s", one.meta.name.clone()),
                    Change::Table(one) => ("t", one.meta.name.clone()),
                    Change::HostOption(one) => ("h", one.meta.name.clone()),
                    Change::RouteOption(one) => ("r", one.meta.name.clone()),
                    Change::Auth(one) => ("a", one.meta.name.clone()),
                    Change::Upstream(name) => ("u", (*name).to_owned()),
                    Change::Gateway(one) => ("g", format!("{}/{}", one.meta.namespace, one.meta.name)),
                    Change::Group(one) => ("w", one.meta.name.clone()),
                    Change::Settings(one) => ("e", format!("{}/{}", one.meta.namespace, one.meta.name)),
                    Change::Secrets(..) => ("c", String::new()),
                    Change::Gone(..) | Change::Withhold(..) => ("", String::new()),
                };
                changes.into_iter().filter(|one| !about(one).0.is_empty() && seen.insert(about(one))).collect::<Vec<_>>()
            })
            .prop_flat_map(|changes| (Just(changes.clone()), Just(changes).prop_shuffle())),
    ) {
        let expected = translate(&built(&changes), &settings(), &LastGood::default());
        let mut translator = Translator::default();
        let (mut input, mut last) = (Input::default(), None);
        for change in &shuffled {
            apply(change, &mut input);
            last = Some(translator.translate(&input, &settings(), &LastGood::default()));
        }
        if let Some(last) = last {
            prop_assert_eq!(&last.proxies, &expected.proxies);
            prop_assert_eq!(&last.reports, &expected.reports);
        }
    }

    /// Also on redirects, on answers of the proxy and under delegation; and no name in a route stands
    /// for a filter that is not there, since Envoy would take that for nothing.
    #[test]
    fn filter_and_guard_run_on_exactly_the_secured_routes(changes in prop::collection::vec(change(), 1..25)) {
        for proxy in translate(&built(&changes), &settings(), &LastGood::default()).proxies.values() {
            let decoded = decode(&xds(proxy, &filter(), &settings()));
            let chains: Vec<_> = decoded.listeners.iter().flat_map(|listener| &listener.filter_chains).collect();
            let filters: BTreeSet<String> = manager(chains[0]).http_filters.into_iter().map(|filter| filter.name).collect();
            let made = decoded.routes.iter().flat_map(|routes| &routes.virtual_hosts).flat_map(|host| &host.routes);
            let made: Vec<_> = made.collect();
            let meant: Vec<_> = proxy.routes().collect();
            prop_assert_eq!(made.len(), meant.len());
            for (made, meant) in made.into_iter().zip(meant) {
                prop_assert!(made.typed_per_filter_config.keys().all(|name| filters.contains(name)));
                let secured = meant.auth != Auth::Open;
                for name in [FILTER_NAME, GUARD_NAME] {
                    prop_assert_eq!(made.typed_per_filter_config.contains_key(name), secured, "{:?}", meant);
                }
                prop_assert_eq!(auth_id_of_route(made.name.as_bytes()), meant.auth.auth_id());
            }
        }
    }

    /// After authentication Envoy looks for the route once more. No route may ask for what the filter
    /// set or took away in between, and none brings it back or tells it.
    #[test]
    fn no_route_has_to_do_with_the_headers_of_authentication(changes in prop::collection::vec(change(), 1..25)) {
        for proxy in translate(&built(&changes), &settings(), &LastGood::default()).proxies.values() {
            for host in proxy.listeners.iter().flat_map(|listener| listener.virtual_hosts()) {
                let taken: BTreeSet<&str> = host.auth_ids().filter_map(|id| proxy.policies.get(id))
                    .flat_map(|policy| &policy.steps).filter(|step| !step.forward_key)
                    .flat_map(|step| step.key_headers()).collect();
                let set_by = |ids: &[&str]| -> BTreeSet<&str> {
                    let policies = ids.iter().filter_map(|id| proxy.policies.get(*id));
                    let told = policies.flat_map(|policy| &policy.steps).flat_map(|step| &step.headers);
                    told.map(|told| told.header.as_str()).chain(["x-user-id"]).collect()
                };
                let of_host: Vec<&str> = host.auth_ids().collect();
                let of_host = host.options.header_manipulation.iter().map(|headers| (headers, set_by(&of_host)));
                let of_routes = host.routes.iter().filter_map(|route| {
                    Some((route.header_manipulation.as_ref()?, set_by(route.auth.auth_id().as_slice())))
                });
                for (headers, set) in of_host.chain(of_routes) {
                    for header in headers.request_add.iter().chain(&headers.response_add) {
                        prop_assert!(!set.contains(header.name.replace('_', "-").as_str()), "{:?}", header);
                    }
                    for header in &headers.response_add {
                        let value = header.value.to_ascii_lowercase();
                        prop_assert!(!set.iter().any(|name| value.contains(name)), "{:?}", header);
                    }
                }
                for matcher in host.routes.iter().flat_map(|route| &route.matcher.headers) {
                    prop_assert!(!proxy.auth_headers.contains(&matcher.name) && !taken.contains(matcher.name.as_str()));
                }
            }
        }
    }

    /// The authentication that a delegating route demands holds for every route under it.
    #[test]
    fn where_it_is_forbidden_no_table_overrides_authentication(
        changes in prop::collection::vec(change(), 1..25), domain in select(&["*", "a.example.com"][..]),
        lists in any::<bool>(),
    ) {
        let mut input = built(&changes);
        input.withheld.clear();
        auth_config("k0").put(&mut input);
        let list = AllowList { identities: ["alice".to_owned()].into(), ..AllowList::default() };
        let list = lists.then_some(list);
        let delegating = TABLES.iter().map(|table| {
            let action = Action::Delegate(Delegate::Ref(reference(table)));
            let extauth = Some(ExtAuth::ConfigRef(reference("k0")));
            let mut route = Route { action, ..route("/", "a", extauth) };
            route.options.allowed = list.clone().map(Allowed::Only);
            route
        });
        input.virtual_services.clear();
        virtual_service("v0", &[domain], delegating.collect()).put(&mut input);
        let output = translate(&input, &strict(), &LastGood::default());
        for route in output.proxies.values().flat_map(|proxy| proxy.routes()) {
            prop_assert!(route.auth != Auth::Open, "{:?}", route);
            if let Auth::Secured { auth_id, allowed, .. } = &route.auth {
                prop_assert_eq!(without_list(auth_id), "default/k0");
                prop_assert!(list.is_none() || *allowed == list, "{:?}", route);
            }
        }
    }

    /// A table that turns bad takes nothing from routes that are not its own.
    #[test]
    fn a_broken_table_harms_no_neighbour(changes in prop::collection::vec(change(), 1..25), broken in select(&TABLES[..])) {
        let mut input = built(&changes);
        input.withheld.clear();
        // Who gives way to whom over a header is another matter: who was refused may be free now.
        for config in input.auth_configs.values_mut() {
            Arc::make_mut(config).steps[0].api_key_auth.headers_from_metadata.clear();
        }
        let before = hosts(&translate(&input, &settings(), &LastGood::default()));
        let circle = Route { action: Action::Delegate(Delegate::Ref(reference(broken))), ..route("/", "a", None) };
        let resource_version = 1_000;
        let meta = Meta { resource_version, ..meta("default", broken, "") };
        let was_there = input.route_tables.contains_key(&reference(broken));
        RouteTable { meta, routes: vec![circle], weight: 0, warnings: Vec::new() }.put(&mut input);
        let output = translate(&input, &settings(), &LastGood::default());
        let report = output.reports.get(&ObjectKey::new("RouteTable", "default", broken)).expect("a report");
        prop_assert_eq!(report.state, State::Rejected);
        let after = hosts(&output);
        prop_assert_eq!(before.keys().collect::<Vec<_>>(), after.keys().collect::<Vec<_>>());
        let of_it = format!("_rt:default_{broken}_");
        for (place, host) in &before {
            // A table that was part of a circle may be free now, and a merged list sorted otherwise.
            let mine = |host: &VirtualHost| host.routes.iter()
                .filter(|route| !route.path.contains(&of_it) && !matches!(&route.auth, Auth::Denied { auth_id, .. } if auth_id.starts_with('!')))
                .map(|route| format!("{} {:?}", route.path, route.matcher)).collect::<BTreeSet<_>>();
            let (old, new) = (mine(host), mine(&after[place]));
            prop_assert!(!was_there || old.is_subset(&new), "{:?}\n{:?}", old, new);
            prop_assert!(was_there || old == new, "{:?}\n{:?}", old, new);
        }
    }
}
