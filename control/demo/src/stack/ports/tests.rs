//! Ports on the real loopback, chosen by the kernel.

use std::net::TcpListener;

use super::{PortError, check, propose};
use crate::stack::Ports;

/// Five ports that were free a moment ago.
fn free() -> Ports {
    let listeners: Vec<TcpListener> = (0..5).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let port = |index: usize| listeners[index].local_addr().unwrap().port();
    Ports { gateway: port(0), rest: port(1), xds: port(2), admin: port(3), upstream: port(4) }
}

#[test]
fn free_ports_are_all_right() {
    check(&free()).unwrap();
}

#[test]
fn a_taken_port_is_named_with_the_way_to_another() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let error = check(&Ports { rest: port, ..free() }).unwrap_err();
    assert!(matches!(error, PortError::Taken { .. }), "{error}");
    let text = error.to_string();
    assert!(text.starts_with(&format!("port {port} is taken, and the REST API needs it\nhint: ")), "{text}");
    // What it proposes is free, and is all that is needed.
    let (_, proposed) = text.split_once("or add --rest-port ").unwrap();
    let proposed: u16 = proposed.split_once(' ').unwrap().0.parse().unwrap();
    assert!(text.ends_with(&format!(" to the command (or set KEYWARD_REST_PORT={proposed})")), "{text}");
    check(&Ports { rest: proposed, ..free() }).unwrap();
}

#[test]
fn a_port_given_twice_is_refused() {
    let ports = free();
    let error = check(&Ports { upstream: ports.gateway, ..ports }).unwrap_err();
    assert!(
        matches!(error, PortError::Twice { what: "the echo upstream", other: "the gateway", .. }),
        "{error}"
    );
}

#[test]
fn one_line_names_every_port_that_needs_another() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let text = check(&Ports { rest: port, xds: port, ..free() }).unwrap_err().to_string();
    assert!(text.starts_with(&format!("port {port} is taken, and the REST API needs it")), "{text}");
    assert!(text.contains(" --rest-port ") && text.contains(" --xds-port "), "{text}");
    let value = |name: &str| text.split_once(name).unwrap().1.split([' ', ')']).next().unwrap().to_owned();
    assert_ne!(value("KEYWARD_REST_PORT="), value("KEYWARD_XDS_PORT="), "{text}");
}

#[test]
fn a_proposed_port_resembles_the_taken_one() {
    assert!(propose(8080, &[]).unwrap() >= 18_080);
    // There is no port 75536: the search begins lower.
    assert!(propose(u16::MAX, &[]).unwrap() >= 10_000);
}
