//! Upstreams in a table.

use serde_json::Value;

use super::gateway::with_port;
use super::reference::{list, names, text};
use super::status;
use super::{Cell, Shape, line};

pub(super) const SHAPE: Shape = Shape {
    kind: "Upstream",
    columns: &[("type", word), ("status", status::cell), ("details", details)],
    wide: &[("Options", options)],
};

fn word(object: &Value) -> Cell {
    line(if object["spec"].get("static").is_some() { "Static" } else { "Unknown" })
}

fn details(object: &Value) -> Cell {
    let mut lines = Vec::new();
    for host in list(&object["spec"]["static"]["hosts"]) {
        if lines.is_empty() {
            lines.push("hosts:".to_owned());
        }
        lines.push(format!("- {}", with_port(text(&host["addr"]), &host["port"])));
    }
    lines.push(String::new());
    lines
}

/// What else is said of it: `healthChecks`, `sslConfig`.
fn options(object: &Value) -> Cell {
    names(&object["spec"]).filter(|name| *name != "static").map(str::to_owned).collect()
}
