//! Gateways in a table.

use serde_json::Value;

use super::reference::texts;
use super::status;
use super::{Cell, Shape, line};

pub(super) const SHAPE: Shape = Shape {
    kind: "Gateway",
    columns: &[("Address", address), ("Proxies", proxies), ("SSL", ssl), ("Status", status::cell)],
    wide: &[],
};

/// An address with a port; one of IPv6 in brackets.
pub(super) fn with_port(address: &str, port: &Value) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

fn address(object: &Value) -> Cell {
    let spec = &object["spec"];
    line(with_port(spec["bindAddress"].as_str().unwrap_or("::"), &spec["bindPort"]))
}

fn proxies(object: &Value) -> Cell {
    match texts(&object["spec"]["proxyNames"]).as_slice() {
        [] => line("gateway-proxy"),
        names => names.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn ssl(object: &Value) -> Cell {
    line(if object["spec"]["ssl"] == true { "yes" } else { "no" })
}
