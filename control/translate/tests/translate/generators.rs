//! Configurations at random: few names, so that they meet.

use keyward_resource::kinds::gateway::Selection;
use keyward_resource::kinds::options::VirtualHostOptions;
use keyward_resource::kinds::options::{AllowList, Allowed};
use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::kinds::ssl::SslConfig;
use keyward_resource::kinds::{AuthConfig, ExtAuth, Gateway, Route, Upstream, VirtualService};
use keyward_resource::{Meta, ObjectRef};
use keyward_translate::Input;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::support::{Put, auth_config, gateway, meta, route, ssl, tls_secret, upstream, virtual_service};

pub(crate) const DOMAINS: &[&str] = &["*", "a.example.com", "b.example.com", "*.example.com", "example.*"];
const SERVER_NAMES: &[&str] = &["a.example.com", "b.example.com", "*.example.com"];
const NAMES: &[&str] = &["one", "two", "three"];
const PROXIES: &[&str] = &["gateway-proxy", "internal"];

pub(crate) fn name() -> impl Strategy<Value = String> {
    select(NAMES).prop_map(str::to_owned)
}

pub(crate) fn stored() -> impl Strategy<Value = Meta> {
    let time = prop_oneof![Just(String::new()), (1..4u8).prop_map(|day| format!("2026-01-0{day}T00:00:00Z"))];
    (name(), time, 0..4u64)
        .prop_map(|(name, time, created)| Meta { created, ..meta("default", &name, &time) })
}

pub(crate) fn extauth() -> impl Strategy<Value = Option<ExtAuth>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(ExtAuth::Disable)),
        4 => name().prop_map(|name| Some(ExtAuth::ConfigRef(ObjectRef::new("default", name)))),
    ]
}

pub(crate) fn allowed() -> impl Strategy<Value = Option<Allowed>> {
    let list = name().prop_map(|name| AllowList { identities: [name].into(), ..AllowList::default() });
    prop_oneof![
        6 => Just(None),
        1 => Just(Some(Allowed::Everyone)),
        2 => list.prop_map(|list| Some(Allowed::Only(list))),
    ]
}

pub(crate) fn routes() -> impl Strategy<Value = Vec<Route>> {
    let route_name = prop_oneof![Just(None), "[a-z|/ .é-]{0,6}".prop_map(Some)];
    let one = (select(&["/", "/a", "/b"][..]), name(), extauth(), allowed(), route_name).prop_map(
        |(prefix, upstream, extauth, allowed, name)| {
            let mut route = Route { name, ..route(prefix, &upstream, extauth) };
            route.options.allowed = allowed;
            route
        },
    );
    prop::collection::vec(one, 0..4)
}

/// TLS with a Secret that is there or is not, asking for certificates of clients or not.
pub(crate) fn tls() -> impl Strategy<Value = Option<SslConfig>> {
    let server_names = subsequence(SERVER_NAMES, 0..=2);
    let config = (name(), server_names, prop::option::of(any::<bool>()), any::<bool>()).prop_map(
        |(secret, server_names, one_way_tls, named)| SslConfig {
            one_way_tls,
            verify_subject_alt_name: named.then(|| "envoy".to_owned()).into_iter().collect(),
            ..ssl(&secret, &server_names)
        },
    );
    prop_oneof![1 => Just(None), 1 => config.prop_map(Some)]
}

pub(crate) fn virtual_services() -> impl Strategy<Value = VirtualService> {
    let domains = subsequence(DOMAINS, 1..=2);
    (stored(), domains, routes(), extauth(), tls()).prop_map(
        |(meta, domains, routes, extauth, ssl_config)| VirtualService {
            meta,
            options: VirtualHostOptions { extauth, ..VirtualHostOptions::default() },
            ssl_config,
            ..virtual_service("", &domains, routes)
        },
    )
}

/// One with root certificates, one without, and one with nothing else.
pub(crate) fn secrets() -> impl Strategy<Value = Vec<TlsSecret>> {
    let all = vec![
        tls_secret("one", Some("web"), None),
        tls_secret("two", Some("shop"), Some("ca")),
        tls_secret("three", None, Some("ca")),
    ];
    subsequence(all, 0..=3)
}

pub(crate) fn gateways() -> impl Strategy<Value = Gateway> {
    let proxies = subsequence(PROXIES, 1..=2);
    let only = prop_oneof![Just(Vec::new()), prop::collection::vec(name(), 1..3)];
    let namespace = select(&["default", "keyward-system"][..]);
    let parts = (stored(), namespace, 8080..8082_u16, proxies, only, any::<bool>());
    parts.prop_map(|(meta, namespace, port, proxies, only, ssl)| Gateway {
        meta: Meta { namespace: namespace.to_owned(), ..meta },
        ssl,
        proxy_names: proxies.into_iter().map(str::to_owned).collect(),
        selection: Selection::of(only.into_iter().map(|name| ObjectRef::new("default", name)).collect()),
        ..gateway("", ([127, 0, 0, 1], port).into())
    })
}

pub(crate) fn upstreams() -> impl Strategy<Value = Upstream> {
    let hosts = prop_oneof![Just(vec![("127.0.0.1", 80)]), Just(vec![("localhost", 80), ("::1", 81)])];
    (name(), hosts).prop_map(|(name, hosts)| upstream(&name, &hosts))
}

pub(crate) fn auth_configs() -> impl Strategy<Value = AuthConfig> {
    (name(), prop::bool::weighted(0.7), any::<bool>()).prop_map(|(name, selects, anonymous)| {
        let mut config = auth_config(&name);
        config.steps[0].api_key_auth.anonymous = anonymous;
        if !selects {
            config.steps[0].api_key_auth.label_selector.clear();
        }
        config
    })
}

prop_compose! {
    pub(crate) fn inputs()(
        gateways in prop::collection::vec(gateways(), 0..4),
        virtual_services in prop::collection::vec(virtual_services(), 0..4),
        upstreams in prop::collection::vec(upstreams(), 0..4),
        auth_configs in prop::collection::vec(auth_configs(), 0..4),
        secrets in secrets(),
    ) -> Input {
        let mut input = Input::default();
        secrets.into_iter().for_each(|object| object.put(&mut input));
        gateways.into_iter().for_each(|object| object.put(&mut input));
        virtual_services.into_iter().for_each(|object| object.put(&mut input));
        upstreams.into_iter().for_each(|object| object.put(&mut input));
        auth_configs.into_iter().for_each(|object| object.put(&mut input));
        input
    }
}
