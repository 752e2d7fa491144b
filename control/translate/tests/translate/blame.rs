//! Whom the refusal of a resource is told to.

use keyward_resource::ObjectKey;
use keyward_translate::xds::{CLUSTER, LISTENER, ROUTE};
use keyward_translate::{Input, XdsResources};

use crate::decoded::decode;
use crate::envoy::refusal;
use crate::support::{Put, gateway, resources, route, settings, upstream, virtual_service};

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
    made().blame(type_url, name, message).iter().map(ToString::to_string).collect()
}

const ALL: [&str; 4] = [
    "Gateway default/only",
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
        assert_eq!(resources.blame(ROUTE, ROUTES, &said), expected, "{said}");
    }
}
