//! VirtualServices and RouteTables in a table.

use serde_json::Value;

use super::reference::{list, text, texts};
use super::{Cell, Shape, line};
use super::{options, route, status};

pub(super) const SHAPE: Shape = Shape {
    kind: "VirtualService",
    columns: &[
        ("Display Name", display_name),
        ("Domains", domains),
        ("SSL", ssl),
        ("Status", status::cell),
        ("ListenerPlugins", plugins),
        ("Routes", routes),
    ],
    wide: &[],
};

pub(super) const OF_ROUTE_TABLES: Shape = Shape {
    kind: "RouteTable",
    columns: &[("Routes", routes_of_table), ("Status", status::cell)],
    wide: &[("Weight", weight)],
};

fn display_name(object: &Value) -> Cell {
    line(text(&object["spec"]["displayName"]))
}

fn domains(object: &Value) -> Cell {
    match texts(&object["spec"]["virtualHost"]["domains"]).as_slice() {
        [] => line("*"),
        domains => line(domains.join(", ")),
    }
}

fn ssl(object: &Value) -> Cell {
    let Some(config) = object["spec"].get("sslConfig") else { return line("none") };
    let known = [("secretRef", "secret_ref"), ("sslFiles", "ssl_files"), ("sds", "sds")];
    line(known.into_iter().find(|(field, _)| config.get(field).is_some()).map_or("unknown", |(_, word)| word))
}

fn plugins(object: &Value) -> Cell {
    options::of(&object["spec"]["virtualHost"]["options"])
}

fn routes(object: &Value) -> Cell {
    list(&object["spec"]["virtualHost"]["routes"]).map(|it| route::summary(object, it)).collect()
}

fn routes_of_table(object: &Value) -> Cell {
    list(&object["spec"]["routes"]).map(|it| route::summary(object, it)).collect()
}

fn weight(object: &Value) -> Cell {
    line(object["spec"]["weight"].as_i64().unwrap_or_default().to_string())
}
