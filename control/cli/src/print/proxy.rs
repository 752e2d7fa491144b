//! Proxies in a table.

use serde_json::Value;

use super::gateway::with_port;
use super::reference::{list, text};
use super::status;
use super::{Cell, Shape, line};

pub(super) const SHAPE: Shape = Shape {
    kind: "Proxy",
    columns: &[
        ("Proxy Namespace", namespace),
        ("Created By", created_by),
        ("Listeners", listeners),
        ("Virtual Hosts", virtual_hosts),
        ("Status", status::cell),
    ],
    wide: &[("Domains", domains)],
};

fn namespace(object: &Value) -> Cell {
    line(text(&object["metadata"]["namespace"]))
}

/// The control server makes them all.
fn created_by(object: &Value) -> Cell {
    line(object["metadata"]["labels"]["created_by"].as_str().unwrap_or("keyward"))
}

fn listeners(object: &Value) -> Cell {
    list(&object["spec"]["listeners"])
        .map(|listener| with_port(text(&listener["bindAddress"]), &listener["bindPort"]))
        .collect()
}

fn hosts(object: &Value) -> impl Iterator<Item = &Value> {
    list(&object["spec"]["listeners"]).flat_map(|listener| list(&listener["httpListener"]["virtualHosts"]))
}

fn virtual_hosts(object: &Value) -> Cell {
    line(hosts(object).count().to_string())
}

fn domains(object: &Value) -> Cell {
    hosts(object)
        .map(|host| {
            format!("{}: {}", text(&host["name"]), super::reference::texts(&host["domains"]).join(", "))
        })
        .collect()
}
