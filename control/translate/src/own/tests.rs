use super::*;

const REST: OwnService = OwnService::Rest;
const XDS: OwnService = OwnService::Xds { certified: false };
const CERTIFIED: OwnService = OwnService::Xds { certified: true };
const ADMIN: OwnService = OwnService::Admin;

fn port(address: &str, service: OwnService) -> OwnPort {
    OwnPort { address: address.parse().unwrap(), service }
}

fn host(addr: &str, port: u16) -> StaticHost {
    let addr = addr.parse().map_or_else(|_| HostAddr::Dns(addr.to_owned()), HostAddr::Ip);
    StaticHost::new(addr, port)
}

#[test]
fn whatever_leads_to_this_machine_is_found() {
    for (own, addr, leads) in [
        ("127.0.0.1:1", "127.0.0.1", Leads::There),
        ("127.0.0.1:1", "127.1.2.3", Leads::There),
        ("127.0.0.1:1", "0.0.0.0", Leads::There),
        ("127.0.0.1:1", "::", Leads::There),
        ("127.0.0.1:1", "::1", Leads::There),
        ("127.0.0.1:1", "::ffff:127.0.0.1", Leads::There),
        ("127.0.0.1:1", "::ffff:7f00:1", Leads::There),
        ("127.0.0.1:1", "::ffff:0.0.0.0", Leads::There),
        ("127.0.0.1:1", "::127.0.0.1", Leads::There),
        ("127.0.0.1:1", "::7f01:203", Leads::There),
        ("127.0.0.1:1", "::ffff:0:127.0.0.1", Leads::There),
        ("127.0.0.1:1", "64:ff9b::7f00:1", Leads::There),
        ("127.0.0.1:1", "64:ff9b::", Leads::There),
        ("127.0.0.1:1", "64:ff9b::a00:1", Leads::Elsewhere),
        ("127.0.0.1:1", "64:ff9c::7f00:1", Leads::Elsewhere),
        ("127.0.0.1:1", "fd00::7f00:1", Leads::Elsewhere),
        ("127.0.0.1:1", "::2", Leads::Elsewhere),
        ("10.0.0.1:1", "64:ff9b::a00:1", Leads::There),
        ("10.0.0.1:1", "::10.0.0.1", Leads::There),
        ("[::127.0.0.1]:1", "127.0.0.1", Leads::There),
        ("127.0.0.1:1", "localhost", Leads::There),
        ("127.0.0.1:1", "localhost.", Leads::There),
        ("127.0.0.1:1", "any.localhost", Leads::There),
        ("127.0.0.1:1", "localhost.example", Leads::PerhapsThere),
        ("127.0.0.1:1", "notlocalhost", Leads::PerhapsThere),
        ("127.0.0.1:1", "10.0.0.1", Leads::Elsewhere),
        ("[::1]:1", "127.0.0.1", Leads::There),
        ("[::ffff:127.0.0.1]:1", "127.0.0.1", Leads::There),
        ("10.0.0.1:1", "10.0.0.1", Leads::There),
        ("10.0.0.1:1", "::ffff:10.0.0.1", Leads::There),
        ("10.0.0.1:1", "127.0.0.1", Leads::Elsewhere),
        ("10.0.0.1:1", "localhost", Leads::PerhapsThere),
        ("0.0.0.0:1", "127.0.0.1", Leads::There),
        ("0.0.0.0:1", "localhost", Leads::There),
        ("[::]:1", "10.0.0.1", Leads::PerhapsThere),
    ] {
        assert_eq!(port(own, REST).leads(&host(addr, 1)), leads, "{own} {addr}");
        assert_eq!(port(own, REST).leads(&host(addr, 2)), Leads::Elsewhere, "{own} {addr}");
    }
}

#[test]
fn a_name_is_refused_only_where_nobody_is_asked() {
    let name = host("name.example", 1);
    for (service, refused) in [(REST, false), (CERTIFIED, false), (XDS, true), (ADMIN, true)] {
        let problem = problem(&[port("127.0.0.1:1", service)], &name);
        assert_eq!(problem.is_some(), refused, "{problem:?}");
    }
}

#[test]
fn only_what_may_be_the_rest_api_is_marked() {
    let ports = [port("127.0.0.1:1", REST), port("127.0.0.1:2", CERTIFIED)];
    for (addr, port, marked) in [
        ("name.example", 1, true),
        ("name.example", 2, false),
        ("name.example", 3, false),
        ("10.0.0.1", 1, false),
    ] {
        assert_eq!(may_be_rest(&ports, &host(addr, port)), marked, "{addr}:{port}");
    }
    assert!(may_be_rest(&[port("0.0.0.0:1", REST)], &host("10.0.0.1", 1)));
}

#[test]
fn a_refusal_names_the_host_and_what_it_is() {
    let ports = [port("127.0.0.1:9080", REST), port("127.0.0.1:9977", XDS), port("0.0.0.0:19000", ADMIN)];
    for (addr, port, expected) in [
        ("127.0.0.1", 9080, "the host 127.0.0.1:9080 is Keyward's own REST API; a gateway must not serve it"),
        ("::1", 9977, "the host [::1]:9977 is Keyward's own xDS port; a gateway must not serve it"),
        (
            "name.example",
            9977,
            "the host name.example:9977 may turn out to be Keyward's own xDS port, which asks nobody who they \
             are; a gateway must not serve it: name the host by its address, or give Keyward another port \
             with --xds",
        ),
        (
            "10.0.0.1",
            19000,
            "the host 10.0.0.1:19000 may turn out to be Keyward's own Envoy admin, which listens on all \
             addresses and asks nobody who they are; a gateway must not serve it: give Keyward one address, \
             or another port, with --admin",
        ),
    ] {
        assert_eq!(problem(&ports, &host(addr, port)).as_deref(), Some(expected));
    }
}

#[test]
fn the_health_of_what_may_be_the_rest_api_is_not_checked() {
    let ports = [port("127.0.0.1:1", REST), port("127.0.0.1:2", CERTIFIED)];
    for (addr, port, refused) in [
        ("name.example", 1, true),
        ("127.0.0.1", 1, true),
        ("name.example", 2, false),
        ("name.example", 3, false),
        ("10.0.0.1", 1, false),
    ] {
        assert_eq!(health_check_problem(&ports, &host(addr, port)).is_some(), refused, "{addr}:{port}");
    }
    assert_eq!(
        health_check_problem(&[port("0.0.0.0:1", REST)], &host("10.0.0.1", 1)).as_deref(),
        Some(
            "healthChecks: the host 10.0.0.1:1 may turn out to be Keyward's own REST API, which could not \
             tell a health check from a request of this machine: leave healthChecks out, or give Keyward one \
             address, or another port, with --rest"
        )
    );
}

#[test]
fn no_gateway_listens_where_keyward_does() {
    for (own, address, taken) in [
        ("127.0.0.1:1", "127.0.0.1:1", true),
        ("127.0.0.1:1", "127.0.0.2:1", true),
        ("127.0.0.1:1", "[::1]:1", true),
        ("127.0.0.1:1", "[::ffff:127.0.0.1]:1", true),
        ("127.0.0.1:1", "0.0.0.0:1", true),
        ("127.0.0.1:1", "[::]:1", true),
        ("127.0.0.1:1", "10.0.0.1:1", false),
        ("127.0.0.1:1", "127.0.0.1:2", false),
        ("0.0.0.0:1", "127.0.0.1:1", true),
        ("10.0.0.1:1", "10.0.0.1:1", true),
        ("10.0.0.1:1", "[::ffff:10.0.0.1]:1", true),
        ("10.0.0.1:1", "127.0.0.1:1", false),
    ] {
        for service in [REST, XDS, CERTIFIED, ADMIN] {
            let problem = binding_problem(&[port(own, service)], address.parse().unwrap());
            assert_eq!(problem.is_some(), taken, "{own} {address}: {problem:?}");
        }
    }
}

#[test]
fn the_debugging_ports_are_guarded_as_rest_is() {
    for (service, name, flag) in [
        (OwnService::Debug, "debug port", "--stats"),
        (OwnService::Snapshots, "snapshot port", "--snapshots"),
        (OwnService::DevMode, "dev-mode port", "--dev-admin"),
    ] {
        let ports = [port("127.0.0.1:9095", service)];
        let there = problem(&ports, &host("127.0.0.1", 9095)).unwrap();
        assert!(there.contains(&format!("is Keyward's own {name}")), "{there}");
        let named = host("example.com", 9095);
        assert_eq!(problem(&ports, &named), None);
        assert!(may_be_rest(&ports, &named));
        let checked = health_check_problem(&ports, &named).unwrap();
        assert!(checked.contains(name) && checked.ends_with(flag), "{checked}");
        let bound = binding_problem(&ports, "0.0.0.0:9095".parse().unwrap()).unwrap();
        assert!(bound.contains(name) && bound.ends_with(flag), "{bound}");
    }
}
