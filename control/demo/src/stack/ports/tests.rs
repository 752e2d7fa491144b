//! Rules on ports that nobody has to open, and opening on one of the kernel's choice.

use std::io::{Error, ErrorKind, Result};
use std::net::TcpListener;

use super::{PortError, check, judge, open, propose};
use crate::stack::Ports;

const PORTS: Ports =
    Ports { gateway: 8080, rest: 9080, xds: 9977, admin: 19000, snapshots: 9095, upstream: 8081 };

fn without(taken: &[u16]) -> impl Fn(u16) -> Result<()> {
    move |port| if taken.contains(&port) { Err(ErrorKind::AddrInUse.into()) } else { Ok(()) }
}

#[test]
fn free_ports_are_all_right() {
    judge(&PORTS, without(&[])).unwrap();
}

#[test]
fn a_taken_port_is_named_with_a_free_one() {
    // The first that would be proposed is taken too.
    let error = judge(&PORTS, without(&[9080, 19080])).unwrap_err();
    assert!(matches!(error, PortError::Taken { .. }), "{error}");
    assert_eq!(
        error.to_string(),
        "port 9080 is taken, and the REST API needs it\n\
         hint: stop what listens there, or add --rest-port 19081 to the command (or set KEYWARD_REST_PORT=19081)"
    );
}

#[test]
fn one_line_names_every_port_that_needs_another() {
    let text = judge(&PORTS, without(&[8080, 8081, 18080])).unwrap_err().to_string();
    let hint = "add --gateway-port 18081 --upstream-port 18082 to the command \
                (or set KEYWARD_GATEWAY_PORT=18081 KEYWARD_UPSTREAM_PORT=18082)";
    assert!(text.starts_with("port 8080 is taken, and the gateway needs it\n"), "{text}");
    assert!(text.ends_with(hint), "{text}");
}

#[test]
fn a_port_given_twice_is_refused() {
    let error = judge(&Ports { upstream: 8080, ..PORTS }, without(&[])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the echo upstream and the gateway were both given port 8080\n\
         hint: add --upstream-port 18080 to the command (or set KEYWARD_UPSTREAM_PORT=18080)"
    );
}

#[test]
fn a_port_that_one_may_not_open_is_told_from_a_taken_one() {
    let open = |port| if port == 80 { Err(Error::from(ErrorKind::PermissionDenied)) } else { Ok(()) };
    let error = judge(&Ports { gateway: 80, ..PORTS }, open).unwrap_err();
    assert!(matches!(error, PortError::Refused { port: 80, .. }), "{error}");
}

#[test]
fn proposals_end_with_the_port_numbers() {
    // There is no port 75536: the search begins lower.
    assert_eq!(propose(u16::MAX, |_| true), Some(10_000));
    assert_eq!(propose(8080, |_| false), None);
}

#[test]
fn a_listener_takes_its_port_from_all_but_its_own_stack() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap().port();
    assert_eq!(open(taken).unwrap_err().kind(), ErrorKind::AddrInUse);
    let ports = Ports { gateway: taken, ..PORTS };
    check(&ports, Some(&ports)).unwrap();
    let text = check(&ports, Some(&PORTS)).unwrap_err().to_string();
    assert!(text.starts_with(&format!("port {taken} is taken, and the gateway needs it\n")), "{text}");
}
