//! Objects as people read them: tables with borders, one file a kind, and documents.
//!
//! ```text
//!  objects ─▶ table(kind, …) ─▶ Bordered ─▶ text
//!          └▶ documents(…)   ─▶ YAML or JSON, Secrets without what they hold
//! ```
//!
//! Whatever is shown comes from the objects as the server answered them. An object that is not as it should
//! be (of a newer server, say) is shown as far as it can be understood.

mod auth_config;
mod bordered;
mod document;
mod gateway;
mod options;
mod proxy;
mod rate_limit_config;
mod reference;
mod route;
mod secret;
mod status;
mod upstream;
mod upstream_group;
mod virtual_service;

use jiff::Timestamp;
use keyward_resource::Kind;
use serde_json::Value;

use self::bordered::{Bordered, Cell, line};
use self::reference::text;

pub(crate) use self::document::{Form, documents};
pub(crate) use self::route::{all as routes_of, routes};

#[cfg(test)]
mod tests;

/// What a table shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    /// More columns, and lines of any length.
    pub(crate) wide: bool,
    /// The namespaces.
    pub(crate) namespaces: bool,
    /// The clock, for ages.
    pub(crate) now: Timestamp,
}

/// A column.
type Column = (&'static str, fn(&Value) -> Cell);

/// How a kind looks in a table.
struct Shape {
    kind: &'static str,
    /// The columns behind the name, whose heading is the kind in words.
    columns: &'static [Column],
    /// More of them.
    wide: &'static [Column],
}

/// How each kind looks.
static SHAPES: &[Shape] = &[
    auth_config::SHAPE,
    gateway::SHAPE,
    options::OF_ROUTES,
    options::OF_VIRTUAL_HOSTS,
    proxy::SHAPE,
    rate_limit_config::SHAPE,
    secret::SHAPE,
    upstream::SHAPE,
    upstream_group::SHAPE,
    virtual_service::OF_ROUTE_TABLES,
    virtual_service::SHAPE,
];

/// How a kind looks of which nothing is known but that it has a status.
static PLAIN: Shape = Shape { kind: "", columns: &[("Status", status::cell)], wide: &[] };
/// How wide a reason is at most.
const REASON: usize = 60;

/// Objects of one kind as a table; as several, where the kind has more than one.
pub(crate) fn table(kind: &Kind, objects: &[Value], view: View) -> String {
    // What has no namespace shows none.
    let view = View { namespaces: (view.namespaces || view.wide) && kind.is_namespaced(), ..view };
    let shape = SHAPES.iter().find(|shape| shape.kind == kind.name).unwrap_or(&PLAIN);
    let all = objects.iter().collect::<Vec<_>>();
    let sets = rate_limit_config::SETS;
    if kind.name != sets.kind {
        return shape.table(name_heading(kind), &all, view).to_string();
    }
    let (trees, others): (Vec<_>, Vec<_>) =
        all.iter().copied().partition(|it| rate_limit_config::is_tree(it));
    let of_sets: Vec<_> = all.into_iter().filter(|it| rate_limit_config::is_set(it)).collect();
    let mut tables = Vec::new();
    if !trees.is_empty() || others.is_empty() {
        tables.push(shape.table(kind.name, &trees, view).to_string());
    }
    if !of_sets.is_empty() {
        tables.push(sets.table("Set-style RateLimitConfig", &of_sets, view).to_string());
    }
    tables.join("\n")
}

/// What stands above the names of a kind.
fn name_heading(kind: &Kind) -> &'static str {
    match kind.name {
        "Proxy" => "Proxy Name",
        "RouteTable" => "Route Table",
        "UpstreamGroup" => "Upstream Group",
        "VirtualService" => "Virtual Service",
        other => other,
    }
}

fn age(object: &Value, now: Timestamp) -> String {
    keyward_api::age(object["metadata"]["creationTimestamp"].as_str(), now)
}

/// Why the status is what it is, where it is not simply good.
fn reason(object: &Value) -> Cell {
    let mut lines = Vec::new();
    bordered::wrap(text(&object["status"]["reason"]), REASON, &mut lines);
    lines
}

// === impl Shape ===

impl Shape {
    fn table(&self, name: &'static str, objects: &[&Value], view: View) -> Bordered {
        // A kind that shows them anyway shows them once.
        let shown = self.columns.iter().any(|(heading, _)| *heading == "Proxy Namespace");
        let namespaces = !shown && view.namespaces;
        let columns = || self.columns.iter().chain(if view.wide { self.wide } else { &[] });
        let mut headings = vec![name];
        if namespaces {
            headings.insert(0, "Namespace");
        }
        headings.extend(columns().map(|(heading, _)| heading));
        if view.wide {
            headings.extend(["Age", "Reason"]);
        }
        let table = Bordered::new(headings);
        let mut table = if view.wide { table.unwrapped() } else { table };
        for object in objects {
            let metadata = &object["metadata"];
            let mut cells = vec![line(text(&metadata["name"]))];
            if namespaces {
                cells.insert(0, line(text(&metadata["namespace"])));
            }
            cells.extend(columns().map(|(_, cell)| cell(object)));
            if view.wide {
                cells.extend([line(age(object, view.now)), reason(object)]);
            }
            table.row(cells);
        }
        table
    }
}
