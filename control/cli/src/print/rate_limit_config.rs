//! RateLimitConfigs in two tables: limits as trees, and limits by sets.

use serde_json::Value;

use super::reference::{list, names, text};
use super::status;
use super::{Cell, Shape};

pub(super) const SHAPE: Shape = Shape {
    kind: "RateLimitConfig",
    columns: &[("Descriptors", descriptors), ("Actions", actions)],
    wide: &[("Status", status::cell)],
};

pub(super) const SETS: Shape = Shape {
    kind: "RateLimitConfig",
    columns: &[("Set Descriptors", set_descriptors), ("Set Actions", set_actions)],
    wide: &[("Status", status::cell)],
};

fn raw(object: &Value) -> &Value {
    &object["spec"]["raw"]
}

/// Whether it has limits by sets.
pub(super) fn is_set(object: &Value) -> bool {
    list(&raw(object)["setDescriptors"]).next().is_some()
}

/// Whether it has limits as a tree, or none at all.
pub(super) fn is_tree(object: &Value) -> bool {
    list(&raw(object)["descriptors"]).next().is_some() || !is_set(object)
}

fn pair(descriptor: &Value) -> String {
    let key = text(&descriptor["key"]);
    descriptor["value"].as_str().map_or_else(|| key.to_owned(), |value| format!("{key} = {value}"))
}

fn limit(of: &Value) -> String {
    let limit = &of["rateLimit"];
    if limit.is_null() {
        return String::new();
    }
    let requests = limit["requestsPerUnit"].as_u64().unwrap_or_default();
    format!(": {requests} per {}", text(&limit["unit"]))
}

fn descriptors(object: &Value) -> Cell {
    fn tree(of: &Value, depth: usize, lines: &mut Cell) {
        for descriptor in list(&of["descriptors"]) {
            lines.push(format!("{}- {}{}", "  ".repeat(depth), pair(descriptor), limit(descriptor)));
            tree(descriptor, depth + 1, lines);
        }
    }
    let mut lines = Vec::new();
    tree(raw(object), 0, &mut lines);
    lines
}

fn set_descriptors(object: &Value) -> Cell {
    list(&raw(object)["setDescriptors"])
        .map(|set| {
            let pairs: Vec<_> = list(&set["simpleDescriptors"]).map(pair).collect();
            let pairs = if pairs.is_empty() { "everything".to_owned() } else { pairs.join(", ") };
            format!("- {pairs}{}", limit(set))
        })
        .collect()
}

fn actions(object: &Value) -> Cell {
    of_actions(object, "actions")
}

fn set_actions(object: &Value) -> Cell {
    of_actions(object, "setActions")
}

/// What requests are counted by: the kind of each action, and the key or the value that it makes.
fn of_actions(object: &Value, field: &str) -> Cell {
    let mut lines = Vec::new();
    for entry in list(&raw(object)["rateLimits"]) {
        for (index, action) in list(&entry[field]).enumerate() {
            let mark = if index == 0 { "-" } else { " " };
            for kind in names(action) {
                let said = ["descriptorKey", "descriptorValue"];
                let said = said.into_iter().find_map(|name| action[kind][name].as_str());
                lines.push(format!("{mark} {kind}{}", said.map(|it| format!(": {it}")).unwrap_or_default()));
            }
        }
    }
    lines
}
