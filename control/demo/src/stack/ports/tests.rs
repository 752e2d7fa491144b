//! Ports on the real loopback, chosen by the kernel.

use std::net::TcpListener;

use super::{PortError, check};
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
    assert!(text.ends_with("up --rest-port PORT, or KEYWARD_REST_PORT=PORT"), "{text}");
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
