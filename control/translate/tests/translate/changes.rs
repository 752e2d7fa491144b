//! Objects that come, go and turn bad, at random.

mod around;

use std::collections::BTreeMap;

use keyward_resource::kinds::auth_config::MetadataEntry;
use keyward_resource::kinds::options::{
    Abort, Cors, Faults, HeaderManipulation, HeaderToAdd, RouteOptions, VirtualHostOptions,
};
use keyward_resource::kinds::route::{
    Action, Delegate, DirectResponse, HeaderMatcher, Matcher, Namespaces, PathMatcher, Redirect,
    RouteTableSelector, Target, ValueMatcher, WeightedDestination,
};
use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::kinds::settings::Settings;
use keyward_resource::kinds::{
    AuthConfig, ExtAuth, Gateway, Route, RouteOption, RouteTable, UpstreamGroup, VirtualHostOption,
    VirtualService,
};
use keyward_resource::{Meta, ObjectKey, ObjectRef};
use keyward_translate::Input;
use proptest::prelude::*;
use proptest::sample::select;

use crate::generators::allowed;
use crate::support::{Put, auth_config, meta, upstream, virtual_service};

pub(crate) use around::{GATEWAYS, NAMESPACES, SECRETS, any_change, gateways};

/// An object that comes or goes.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Service(VirtualService),
    Table(RouteTable),
    HostOption(VirtualHostOption),
    RouteOption(RouteOption),
    Auth(AuthConfig),
    Upstream(&'static str),
    Gateway(Gateway),
    Group(UpstreamGroup),
    Settings(Settings),
    Secrets(Vec<TlsSecret>),
    Gone(&'static str, usize),
    Withhold(&'static str, usize),
}

pub(crate) const TABLES: [&str; 4] = ["t0", "t1", "t2", "t3"];
pub(crate) const OPTIONS: [&str; 2] = ["o0", "o1"];
pub(crate) const CONFIGS: [&str; 2] = ["k0", "k1"];
pub(crate) const UPSTREAMS: [&str; 2] = ["a", "b"];
pub(crate) const GROUPS: [&str; 2] = ["s0", "s1"];
pub(crate) const SERVICES: [&str; 3] = ["v0", "v1", "v2"];

pub(crate) fn reference(name: &str) -> ObjectRef {
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
    (extauth(), allowed(), headers(), any::<[bool; 3]>()).prop_map(
        |(extauth, allowed, header_manipulation, [cors, faults, rewrite])| RouteOptions {
            extauth,
            allowed,
            header_manipulation,
            cors: cors.then(Cors::default),
            faults: faults
                .then_some(Faults { abort: Some(Abort { per_million: 1, http_status: 500 }), delay: None }),
            prefix_rewrite: rewrite.then(|| "/rewritten".to_owned()),
            ..RouteOptions::default()
        },
    )
}

fn matchers() -> impl Strategy<Value = Vec<Matcher>> {
    let header = select(&["x-team", "api-key", "x-fine", "x-user-id"][..]).prop_map(|name| HeaderMatcher {
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

fn weighted(
    upstream: &str,
    weight: u32,
    header_manipulation: Option<HeaderManipulation>,
) -> WeightedDestination {
    WeightedDestination { upstream: reference(upstream), weight, header_manipulation }
}

fn action() -> impl Strategy<Value = Action> {
    let target =
        select(&["a", "b", "missing"][..]).prop_map(|name| Action::Forward(Target::Single(reference(name))));
    let multi = Action::Forward(Target::Multi(vec![weighted("a", 1, None), weighted("missing", 1, None)]));
    let group = select(&GROUPS[..]).prop_map(|name| Action::Forward(Target::Group(reference(name))));
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
        1 => group,
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

/// The revision and the time of a creation, known or not.
fn age() -> impl Strategy<Value = (u64, String)> {
    let time =
        (0..4u8).prop_map(|day| if day == 0 { String::new() } else { format!("2026-01-0{day}T00:00:00Z") });
    (0..4u64, time)
}

fn named(names: &'static [&'static str]) -> impl Strategy<Value = Meta> {
    let labels = prop::option::of(select(&["x", "y"][..]));
    (select(names), labels, 1..50_u64, age()).prop_map(|(name, label, resource_version, (created, time))| {
        Meta {
            labels: label.into_iter().map(|label| ("in".to_owned(), label.to_owned())).collect(),
            resource_version,
            created,
            ..meta("default", name, &time)
        }
    })
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
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
    let host_option = (named(&OPTIONS), extauth(), allowed()).prop_map(|(meta, extauth, allowed)| {
        let options = VirtualHostOptions { extauth, allowed, ..VirtualHostOptions::default() };
        Change::HostOption(VirtualHostOption { meta, options, warnings: Vec::new() })
    });
    let route_option = (named(&OPTIONS), options())
        .prop_map(|(meta, options)| Change::RouteOption(RouteOption { meta, options, warnings: Vec::new() }));
    let told = prop::option::of(select(&["x-team", "x-fine", "api-key"][..]));
    let taken = select(&["api-key", "api-key", "x-team"][..]);
    let auth = (named(&CONFIGS), any::<[bool; 2]>(), told, taken).prop_map(
        |(meta, [selects, open], told, taken)| {
            let mut config = AuthConfig { meta: meta.clone(), ..auth_config(&meta.name) };
            let step = &mut config.steps[0].api_key_auth;
            step.anonymous = open;
            taken.clone_into(&mut step.header_name);
            if !selects {
                step.label_selector.clear();
            }
            // As everybody else who writes one, nobody here sets the header in which it looks for its key.
            if let Some(told) = told.filter(|told| *told != taken) {
                let entry = MetadataEntry { name: "team".to_owned(), required: false };
                step.headers_from_metadata.insert(told.to_owned(), entry);
            }
            Change::Auth(config)
        },
    );
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

/// Removes an object, whether or not it can be used.
pub(crate) fn remove(object: &ObjectKey, input: &mut Input) {
    let one = object.object_ref();
    input.withheld.remove(object);
    match object.kind {
        "AuthConfig" => drop(input.auth_configs.remove(&one)),
        "Gateway" => drop(input.gateways.remove(&one)),
        "RouteOption" => drop(input.route_options.remove(&one)),
        "RouteTable" => drop(input.route_tables.remove(&one)),
        "Secret" => drop(input.tls_secrets.remove(&one)),
        "Settings" => drop(input.settings.remove(&one)),
        "Upstream" => drop(input.upstreams.remove(&one)),
        "UpstreamGroup" => drop(input.upstream_groups.remove(&one)),
        "VirtualHostOption" => drop(input.virtual_host_options.remove(&one)),
        "VirtualService" => drop(input.virtual_services.remove(&one)),
        other => panic!("{other} is not translated"),
    }
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

pub(crate) fn apply(change: &Change, input: &mut Input) {
    match change.clone() {
        Change::Service(service) => service.put(input),
        Change::Table(table) => table.put(input),
        Change::HostOption(option) => option.put(input),
        Change::RouteOption(option) => option.put(input),
        Change::Auth(config) => config.put(input),
        Change::Upstream(name) => upstream(name, &[("127.0.0.1", 80)]).put(input),
        Change::Gateway(gateway) => gateway.put(input),
        Change::Group(group) => group.put(input),
        Change::Settings(settings) => settings.put(input),
        Change::Secrets(secrets) => secrets.into_iter().for_each(|secret| secret.put(input)),
        Change::Gone(kind, at) => {
            let one = name(kind, at);
            remove(&ObjectKey::new(kind, one.namespace, one.name), input);
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

pub(crate) fn built(changes: &[Change]) -> Input {
    let mut input = Input::default();
    changes.iter().for_each(|change| apply(change, &mut input));
    input
}
