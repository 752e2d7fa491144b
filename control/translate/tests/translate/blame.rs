//! Whom the refusal of a resource is told to.

use keyward_resource::kinds::options::{RouteOptions, VirtualHostOptions};
use keyward_resource::kinds::route::{Action, Delegate, PathMatcher};
use keyward_resource::kinds::{Route, RouteOption, RouteTable, VirtualHostOption};
use keyward_resource::{ObjectKey, ObjectRef};
use keyward_translate::xds::{CLUSTER, LISTENER, ROUTE};
use keyward_translate::{Input, XdsResources};

use crate::decoded::decode;
use crate::envoy::refusal;
use crate::support::{
    Put, gateway, meta, resources, route, settings, ssl, tls_secret, upstream, virtual_service,
};

const ROUTES: &str = "listener-127.0.0.1-8080-routes";
const LISTENER_NAME: &str = "listener-127.0.0.1-8080";

/// `late` is closed: it wants what `ant` has. One name is the beginning of another.
fn made() -> XdsResources {
    let mut input = Input::default();
    gateway("only", ([127, 0, 0, 1], 8080).into()).put(&mut input);
    upstream("echo", &[("127.0.0.1", 80)]).put(&mut input);
    let mut named = route("/", "echo", None);
    named.name = Some("default.ant".to_owned());
    virtual_service("ant", &["a.example.com"], vec![route("/", "echo", None)]).put(&mut input);
    virtual_service("ant.b", &["b.example.com"], vec![named]).put(&mut input);
    virtual_service("late", &["a.example.com", "late.example.com"], Vec::new()).put(&mut input);
    resources(&input).into_values().next().expect("the proxy")
}

fn blamed(type_url: &str, name: &str, message: &str) -> Vec<String> {
    words(&made().blame(type_url, name, message).among(|_| false))
}

fn words(objects: &[ObjectKey]) -> Vec<String> {
    objects.iter().map(ToString::to_string).collect()
}

const ALL: [&str; 4] = [
    "Gateway keyward-system/only",
    "VirtualService default/ant",
    "VirtualService default/ant.b",
    "VirtualService default/late",
];

#[test]
fn one_that_is_named_is_blamed_alone() {
    for message in [
        "virtual host default.ant is bad",
        "default.ant: bad",
        "the bad one is 'default.ant'",
        "the bad one is default.ant.",
        "route default/keys|default.ant/0/0",
        "route \"default.ant/0/0\"",
        "route default.ant/default.late/0 has the other's name only as its own",
        "RouteConfigurationValidationError.VirtualHosts[1]: embedded message failed validation",
        "name: \"!default.late\" name: \"default.ant\": Proto constraint validation failed (VirtualHosts[1]: bad)",
    ] {
        assert_eq!(blamed(ROUTE, ROUTES, message), ["VirtualService default/ant"], "{message}");
    }
    for message in ["bad: default.ant.b", "route default.ant.b/default.ant/0", "VirtualHosts[2]: bad"] {
        assert_eq!(blamed(ROUTE, ROUTES, message), ["VirtualService default/ant.b"], "{message}");
    }
    for message in ["bad: !default.late", "route !default/late|default.late/0/0", "VirtualHosts[0]: bad"] {
        assert_eq!(blamed(ROUTE, ROUTES, message), ["VirtualService default/late"], "{message}");
    }
}

#[test]
fn else_everything_is_blamed_that_the_resource_was_made_from() {
    for message in [
        "",
        "out of memory",
        "default.ant and default.late",
        "VirtualHosts[1]: bad, VirtualHosts[2]: bad",
        "VirtualHosts[99]: bad",
        "VirtualHosts[",
        "xdefault.ant default.ants default.ant-b default.ant.c notdefault.ant my.default.ant",
    ] {
        assert_eq!(blamed(ROUTE, ROUTES, message), ALL, "{message}");
    }
}

#[test]
fn who_says_what_is_quoted_is_blamed_if_it_may_be_its_fault() {
    let regex = |regex: &str| {
        let mut route = route("/", "echo", None);
        route.matchers[0].path = Some(PathMatcher::Regex(regex.to_owned()));
        route
    };
    let mut input = Input::default();
    gateway("only", ([127, 0, 0, 1], 8080).into()).put(&mut input);
    upstream("echo", &[("127.0.0.1", 80)]).put(&mut input);
    let both = vec![regex("/same/.*"), regex(r"/it's\d+/a{200}")];
    virtual_service("ant", &["a.example.com"], both).put(&mut input);
    virtual_service("bee", &["b.example.com"], vec![regex("/same/.*"), regex("/other")]).put(&mut input);
    let resources = resources(&input).into_values().next().expect("the proxy");
    let size = "RE2 program size of 411 > max program size of 100";
    let (ant, bee) = ("VirtualService default/ant", "VirtualService default/bee");
    let is_bee = |object: &ObjectKey| object.to_string() == bee;
    let said = format!(r"regex '/it's\d+/a{{200}}' {size}");
    let blame = |said: &str, changed: &dyn Fn(&ObjectKey) -> bool| {
        words(&resources.blame(ROUTE, ROUTES, said).among(changed))
    };
    assert_eq!(blame(&said, &|_| false), [ant]);
    assert_eq!(blame(&said, &|_| true), [ant]);
    // It has stood there for long: it is another one's fault.
    assert_eq!(blame(&said, &is_bee), [bee]);
    let same = format!("regex '/same/.*' {size}");
    assert_eq!(blame(&same, &|object| object.kind == "VirtualService"), [ant, bee]);
    assert_eq!(blame(&same, &is_bee), [bee]);
}

#[test]
fn a_listener_is_no_virtual_services_fault() {
    assert_eq!(blamed(LISTENER, LISTENER_NAME, "default.ant"), [ALL[0]]);
    assert_eq!(blamed(CLUSTER, "echo_default", "default.ant"), ["Upstream default/echo"]);
}

#[test]
fn nobody_is_blamed_for_what_was_never_sent() {
    assert_eq!(blamed(ROUTE, "other", "default.ant"), [""; 0]);
    assert_eq!(blamed("other", ROUTES, "default.ant"), [""; 0]);
}

#[test]
fn what_envoy_itself_says_leads_to_the_one() {
    let resources = made();
    for (place, service) in ["late", "ant", "ant.b"].into_iter().enumerate() {
        let mut decoded = decode(&resources);
        decoded.routes[0].virtual_hosts[place].domains.clear();
        let said = refusal(&decoded, &settings());
        let expected = [ObjectKey::new("VirtualService", "default", service)];
        assert_eq!(resources.blame(ROUTE, ROUTES, &said).among(|_| false), expected, "{said}");
    }
}

/// One virtual service with a route of its own and one that is delegated, which share options; and one
/// with neither.
fn shared() -> XdsResources {
    let reference = |name: &str| ObjectRef::new("default", name);
    let mut input = Input::default();
    gateway("only", ([127, 0, 0, 1], 8080).into()).put(&mut input);
    upstream("echo", &[("127.0.0.1", 80)]).put(&mut input);
    let delegate = |table: &str| Route {
        action: Action::Delegate(Delegate::Ref(reference(table))),
        ..route(&format!("/{table}"), "echo", None)
    };
    let table = |name: &str, routes: Vec<Route>| RouteTable {
        meta: meta("default", name, ""),
        weight: 0,
        routes,
        warnings: Vec::new(),
    };
    table("inner", vec![route("/outer/inner", "echo", None)]).put(&mut input);
    let mut inner = delegate("inner");
    inner.matchers = route("/outer/inner", "echo", None).matchers;
    table("outer", vec![route("/outer/own", "echo", None), inner]).put(&mut input);
    virtual_service("delegating", &["d.example.com"], vec![route("/own", "echo", None), delegate("outer")])
        .put(&mut input);
    let mut optional = route("/", "echo", None);
    optional.options_refs = vec![reference("of-routes")];
    let mut sharing = virtual_service("sharing", &["s.example.com"], vec![optional]);
    sharing.options_refs = vec![reference("of-hosts")];
    sharing.put(&mut input);
    let meta = |name: &str| meta("default", name, "");
    RouteOption { meta: meta("of-routes"), options: RouteOptions::default(), warnings: Vec::new() }
        .put(&mut input);
    VirtualHostOption {
        meta: meta("of-hosts"),
        options: VirtualHostOptions::default(),
        warnings: Vec::new(),
    }
    .put(&mut input);
    resources(&input).into_values().next().expect("the proxy")
}

#[test]
fn a_route_is_the_fault_of_the_object_that_says_it() {
    let resources = shared();
    let blame = |message: &str| resources.blame(ROUTE, ROUTES, message);
    for (place, named, possible) in [
        (0, "VirtualService default/delegating", &["VirtualService default/delegating"][..]),
        (1, "RouteTable default/outer", &["RouteTable default/outer", "VirtualService default/delegating"]),
        (
            2,
            "RouteTable default/inner",
            &["RouteTable default/inner", "RouteTable default/outer", "VirtualService default/delegating"],
        ),
    ] {
        let message = format!("VirtualHosts[0]: bad | caused by Routes[{place}]: bad");
        assert_eq!(words(&blame(&message).named), [named], "{message}");
        assert_eq!(words(&blame(&message).possible), possible, "{message}");
    }
    let by_name = blame("default.delegating/1/rt:default.outer/1/rt:default.inner/0/0: bad");
    assert_eq!(words(&by_name.named), ["RouteTable default/inner"]);
    // Of the virtual host itself no table says anything, but what only has its name may be a route.
    assert_eq!(words(&blame("VirtualHosts[0]: bad").named), ["VirtualService default/delegating"]);
    let three = ["RouteTable default/inner", "RouteTable default/outer", "VirtualService default/delegating"];
    assert_eq!(words(&blame("default.delegating: bad").named), three);
}

#[test]
fn shared_options_are_blamed_beside_those_who_share_them() {
    let resources = shared();
    let blame = |message: &str| resources.blame(ROUTE, ROUTES, message);
    let all = [
        "RouteOption default/of-routes",
        "VirtualHostOption default/of-hosts",
        "VirtualService default/sharing",
    ];
    assert_eq!(words(&blame("VirtualHosts[1]: Routes[0]: bad").named), all);
    assert_eq!(words(&blame("VirtualHosts[1]: bad").named), all[1..]);
}

#[test]
fn who_has_not_changed_is_not_to_blame() {
    let resources = shared();
    let option = ObjectKey::new("RouteOption", "default", "of-routes");
    let outer = ObjectKey::new("RouteTable", "default", "outer");
    let inner = ObjectKey::new("RouteTable", "default", "inner");
    let service = ObjectKey::new("VirtualService", "default", "delegating");
    let among = |message: &str, changed: &[&ObjectKey]| {
        words(&resources.blame(ROUTE, ROUTES, message).among(|object| changed.contains(&object)))
    };
    assert_eq!(
        among("VirtualHosts[1]: Routes[0]: bad", &[&option, &service]),
        ["RouteOption default/of-routes"]
    );
    // What a message says nothing of is told by the change.
    assert_eq!(among("bad", &[&option]), ["RouteOption default/of-routes"]);
    assert_eq!(
        among("bad", &[&option, &service]),
        ["RouteOption default/of-routes", "VirtualService default/delegating"]
    );
    // A table may have been handed down what is wrong.
    let message = "VirtualHosts[0]: Routes[2]: bad";
    assert_eq!(among(message, &[&outer]), ["RouteTable default/outer"]);
    assert_eq!(among(message, &[&inner, &service]), ["RouteTable default/inner"]);
    assert_eq!(
        among(message, &[&outer, &service]),
        ["RouteTable default/outer", "VirtualService default/delegating"]
    );
    assert_eq!(among(message, &[]), ["RouteTable default/inner"]);
}

#[test]
fn a_listener_with_tls_may_be_the_fault_of_who_says_how_tls_is_spoken() {
    let mut input = Input::default();
    let mut tls = gateway("only", ([127, 0, 0, 1], 8080).into());
    tls.ssl = true;
    tls.put(&mut input);
    tls_secret("web", Some("web"), None).put(&mut input);
    tls_secret("shop", Some("shop"), None).put(&mut input);
    for (name, domain, suite) in [("web", "example.com", "ECDHE-A"), ("shop", "shop.example.com", "ECDHE-B")]
    {
        let mut service = virtual_service(name, &[domain], Vec::new());
        let mut ssl = ssl(name, &[domain]);
        ssl.parameters.cipher_suites = vec![format!("[{suite}|COMMON]")];
        service.ssl_config = Some(ssl);
        service.put(&mut input);
    }
    let resources = resources(&input).into_values().next().expect("the proxy");
    let blamed = |message: &str| words(&resources.blame(LISTENER, LISTENER_NAME, message).named);
    let chains = ["VirtualService default/web", "VirtualService default/shop"];
    for (message, expected) in [
        ("cannot bind '127.0.0.1:8080': Address already in use", vec!["Gateway keyward-system/only"]),
        ("FilterChains[0]: bad", vec![chains[0]]),
        ("FilterChains[1]: bad", vec![chains[1]]),
        ("filter chain 'listener-127.0.0.1-8080-routes-shop.example.com': bad", vec![chains[1]]),
        ("Failed to initialize cipher suites [ECDHE-A|COMMON]", chains.iter().rev().copied().collect()),
        ("ciphers were rejected when tried individually: ECDHE-A", vec![chains[0]]),
        ("bad", vec!["Gateway keyward-system/only", chains[1], chains[0]]),
    ] {
        assert_eq!(blamed(message), expected, "{message}");
    }
}
