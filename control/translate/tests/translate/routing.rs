//! What holds of routes with delegation, shared options and every action, over generated objects.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::config::auth_id_of_route;
use keyward_resource::kinds::auth_config::MetadataEntry;
use keyward_resource::kinds::options::{
    Abort, Cors, Faults, HeaderManipulation, HeaderToAdd, RouteOptions, VirtualHostOptions,
};
use keyward_resource::kinds::route::{
    Action, Delegate, DirectResponse, HeaderMatcher, Matcher, Namespaces, PathMatcher, Redirect,
    RouteTableSelector, Target, ValueMatcher, WeightedDestination,
};
use keyward_resource::kinds::{
    AuthConfig, ExtAuth, Route, RouteOption, RouteTable, VirtualHostOption, VirtualService,
};
use keyward_resource::{Meta, ObjectKey, ObjectRef, State};
use keyward_translate::proxy::{Auth, VirtualHost};
use keyward_translate::xds::{FILTER_NAME, GUARD_NAME};
use keyward_translate::{Encoder, Input, LastGood, Output, Routing, Settings, Translator, translate, xds};
use proptest::prelude::*;
use proptest::sample::select;

use crate::decoded::{decode, manager};
use crate::support::{Put, auth_config, filter, meta, route, settings, upstream, virtual_service};

/// An object that comes or goes.
#[derive(Debug, Clone)]
enum Change {
    Service(VirtualService),
    Table(RouteTable),
    HostOption(VirtualHostOption),
    RouteOption(RouteOption),
    Auth(AuthConfig),
    Upstream(&'static str),
    Gone(&'static str, usize),
    Withhold(&'static str, usize),
}

const TABLES: [&str; 4] = ["t0", "t1", "t2", "t3"];
const OPTIONS: [&str; 2] = ["o0", "o1"];
const CONFIGS: [&str; 2] = ["k0", "k1"];
const UPSTREAMS: [&str; 2] = ["a", "b"];
const SERVICES: [&str; 3] = ["v0", "v1", "v2"];

fn reference(name: &str) -> ObjectRef {
    ObjectRef::new("default", name)
}

fn extauth() -> impl Strategy<Value = Option<ExtAuth>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(ExtAuth::Disable)),
        3 => select(&CONFIGS[..]).prop_map(|name| Some(ExtAuth::ConfigRef(reference(name)))),
    ]
}

fn headers() -> impl Strategy<Value = Option<HeaderManipulation>> {
    let add = |name: &str, value: &str| {
        vec![HeaderToAdd { name: name.to_owned(), value: value.to_owned(), append: true }]
    };
    prop_oneof![
        3 => Just(None),
        1 => select(&["x-team", "x_user_id", "x-fine"][..]).prop_map(move |name| Some(HeaderManipulation {
            request_add: add(name, "forged"), ..HeaderManipulation::default()
        })),
        1 => select(&["%REQ(X-User-Id)%", "%REQ(api-key)%", "fine"][..]).prop_map(move |value| {
            Some(HeaderManipulation { response_add: add("x-told", value), ..HeaderManipulation::default() })
        }),
    ]
}

fn options() -> impl Strategy<Value = RouteOptions> {
    (extauth(), headers(), any::<[bool; 3]>()).prop_map(
        |(extauth, header_manipulation, [cors, faults, rewrite])| RouteOptions {
            extauth,
            header_manipulation,
            cors: cors.then(Cors::default),
            faults: faults
                .then(|| Faults { abort: Some(Abort { per_million: 1, http_status: 500 }), delay: None }),
            prefix_rewrite: rewrite.then(|| "/rewritten".to_owned()),
            ..RouteOptions::default()
        },
    )
}

fn matchers() -> impl Strategy<Value = Vec<Matcher>> {
    let header = select(&["x-team", "api-key", "x-fine"][..]).prop_map(|name| HeaderMatcher {
        name: name.to_owned(),
        value: ValueMatcher::Present,
        invert: false,
    });
    let one =
        (select(&["/", "/a", "/a/b"][..]), prop::option::weighted(0.2, header)).prop_map(|(path, header)| {
            Matcher {
                path: Some(PathMatcher::Prefix(path.to_owned())),
                headers: header.into_iter().collect(),
                ..Matcher::default()
            }
        });
    prop::collection::vec(one, 0..2)
}

fn action() -> impl Strategy<Value = Action> {
    let target =
        select(&["a", "b", "missing"][..]).prop_map(|name| Action::Forward(Target::Single(reference(name))));
    let weighted = |upstream: &str| WeightedDestination {
        upstream: reference(upstream),
        weight: 1,
        header_manipulation: None,
    };
    let multi = Action::Forward(Target::Multi(vec![weighted("a"), weighted("missing")]));
    let table = select(&TABLES[..]).prop_map(|name| Action::Delegate(Delegate::Ref(reference(name))));
    let selector = select(&["x", "y"][..]).prop_map(|value| {
        Action::Delegate(Delegate::Selector(RouteTableSelector {
            namespaces: Namespaces::All,
            labels: BTreeMap::from([("in".to_owned(), value.to_owned())]),
            expressions: Vec::new(),
        }))
    });
    prop_oneof![
        4 => target,
        1 => Just(multi),
        1 => Just(Action::Redirect(Redirect::default())),
        1 => Just(Action::DirectResponse(DirectResponse { status: 200, body: String::new() })),
        4 => table,
        2 => selector,
    ]
}

fn routes() -> impl Strategy<Value = Vec<Route>> {
    let refs = prop::collection::vec(select(&OPTIONS[..]).prop_map(reference), 0..2);
    let one = (matchers(), action(), options(), refs, any::<Option<bool>>(), any::<Option<bool>>());
    let one = one.prop_map(|(matchers, action, options, options_refs, inherits, inherits_path)| Route {
        name: None,
        matchers,
        inheritable_matchers: inherits,
        inheritable_path_matchers: inherits_path,
        action,
        options,
        options_refs,
    });
    prop::collection::vec(one, 0..4)
}

fn named(names: &'static [&'static str]) -> impl Strategy<Value = Meta> {
    let labels = prop::option::of(select(&["x", "y"][..]));
    (select(names), labels, 1..50_u64).prop_map(|(name, label, resource_version)| Meta {
        labels: label.into_iter().map(|label| ("in".to_owned(), label.to_owned())).collect(),
        resource_version,
        ..meta("default", name, "")
    })
}

fn change() -> impl Strategy<Value = Change> {
    let domains = select(&["*", "a.example.com", "b.example.com"][..]);
    let refs = prop::collection::vec(select(&OPTIONS[..]).prop_map(reference), 0..2);
    let service = (named(&SERVICES), domains, routes(), extauth(), headers(), refs).prop_map(
        |(meta, domain, routes, extauth, header_manipulation, options_refs)| {
            Change::Service(VirtualService {
                meta,
                options: VirtualHostOptions { extauth, header_manipulation, ..VirtualHostOptions::default() },
                options_refs,
                ..virtual_service("", &[domain], routes)
            })
        },
    );
    let table = (named(&TABLES), routes(), 0..2).prop_map(|(meta, routes, weight)| {
        Change::Table(RouteTable { meta, routes, weight, warnings: Vec::new() })
    });
    let host_option = (named(&OPTIONS), extauth()).prop_map(|(meta, extauth)| {
        let options = VirtualHostOptions { extauth, ..VirtualHostOptions::default() };
        Change::HostOption(VirtualHostOption { meta, options, warnings: Vec::new() })
    });
    let route_option = (named(&OPTIONS), options())
        .prop_map(|(meta, options)| Change::RouteOption(RouteOption { meta, options, warnings: Vec::new() }));
    let auth = (select(&CONFIGS[..]), any::<[bool; 2]>()).prop_map(|(name, [selects, tells])| {
        let mut config = auth_config(name);
        let step = &mut config.steps[0].api_key_auth;
        if !selects {
            step.label_selector.clear();
        }
        if tells {
            let entry = MetadataEntry { name: "team".to_owned(), required: false };
            step.headers_from_metadata.insert("x-team".to_owned(), entry);
        }
        Change::Auth(config)
    });
    let kinds = select(
        &["VirtualService", "RouteTable", "VirtualHostOption", "RouteOption", "AuthConfig", "Upstream"][..],
    );
    let withheld = select(&["VirtualService", "RouteTable", "RouteOption"][..]);
    prop_oneof![
        5 => service,
        6 => table,
        1 => host_option,
        2 => route_option,
        2 => auth,
        2 => select(&UPSTREAMS[..]).prop_map(Change::Upstream),
        2 => (kinds, 0..4_usize).prop_map(|(kind, at)| Change::Gone(kind, at)),
        1 => (withheld, 0..4_usize).prop_map(|(kind, at)| Change::Withhold(kind, at)),
    ]
}

fn name(kind: &str, at: usize) -> ObjectRef {
    let names: &[&str] = match kind {
        "VirtualService" => &SERVICES,
        "RouteTable" => &TABLES,
        "AuthConfig" => &CONFIGS,
        "Upstream" => &UPSTREAMS,
        _ => &OPTIONS,
    };
    reference(names[at % names.len()])
}

fn apply(change: &Change, input: &mut Input) {
    match change.clone() {
        Change::Service(service) => service.put(input),
        Change::Table(table) => table.put(input),
        Change::HostOption(option) => option.put(input),
        Change::RouteOption(option) => option.put(input),
        Change::Auth(config) => config.put(input),
        Change::Upstream(name) => upstream(name, &[("127.0.0.1", 80)]).put(input),
        Change::Gone(kind, at) => {
            let one = name(kind, at);
            input.withheld.remove(&ObjectKey::new(kind, &one.namespace, &one.name));
            match kind {
                "VirtualService" => drop(input.virtual_services.remove(&one)),
                "RouteTable" => drop(input.route_tables.remove(&one)),
                "VirtualHostOption" => drop(input.virtual_host_options.remove(&one)),
                "RouteOption" => drop(input.route_options.remove(&one)),
                "AuthConfig" => drop(input.auth_configs.remove(&one)),
                _ => drop(input.upstreams.remove(&one)),
            }
        }
        Change::Withhold(kind, at) => {
            let one = name(kind, at);
            let key = ObjectKey::new(kind, one.namespace, one.name);
            if !input.withheld.remove(&key) {
                input.withheld.insert(key);
            }
        }
    }
}

fn built(changes: &[Change]) -> Input {
    let mut input = Input::default();
    changes.iter().for_each(|change| apply(change, &mut input));
    input
}

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
        changes in prop::collection::vec(change(), 1..30), forbidding in any::<bool>(),
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
                    encoder.xds(proxy, &filter(), &settings),
                    xds(&scratch.proxies[role], &filter(), &settings)
                );
            }
            last_good = kept.last_good;
        }
    }

    #[test]
    fn the_order_of_arrival_makes_no_difference(
        (changes, shuffled) in prop::collection::vec(change(), 1..20)
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
                    .map(|step| step.key_header.as_str()).collect();
                let manipulations = host.routes.iter().filter_map(|route| route.header_manipulation.as_ref())
                    .chain(&host.options.header_manipulation);
                for headers in manipulations {
                    for header in headers.request_add.iter().chain(&headers.response_add) {
                        prop_assert!(!proxy.auth_headers.contains(&header.name.replace('_', "-")), "{:?}", header);
                    }
                    for header in &headers.response_add {
                        let value = header.value.to_ascii_lowercase();
                        prop_assert!(!proxy.auth_headers.iter().any(|name| value.contains(name.as_str())), "{:?}", header);
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
    ) {
        let mut input = built(&changes);
        input.withheld.clear();
        auth_config("k0").put(&mut input);
        let delegating = TABLES.iter().map(|table| Route {
            action: Action::Delegate(Delegate::Ref(reference(table))),
            ..route("/", "a", Some(ExtAuth::ConfigRef(reference("k0"))))
        });
        input.virtual_services.clear();
        virtual_service("v0", &[domain], delegating.collect()).put(&mut input);
        let output = translate(&input, &strict(), &LastGood::default());
        for route in output.proxies.values().flat_map(|proxy| proxy.routes()) {
            prop_assert!(route.auth != Auth::Open, "{:?}", route);
            if let Auth::Secured { auth_id } = &route.auth {
                prop_assert_eq!(auth_id, "default/k0");
            }
        }
    }

    /// A table that turns bad takes nothing from routes that are not its own.
    #[test]
    fn a_broken_table_harms_no_neighbour(changes in prop::collection::vec(change(), 1..25), broken in select(&TABLES[..])) {
        let mut input = built(&changes);
        input.withheld.clear();
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
