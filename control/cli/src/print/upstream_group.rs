//! UpstreamGroups in a table.

use serde_json::Value;

use super::reference::{list, reference};
use super::status;
use super::{Cell, Shape, line};

pub(super) const SHAPE: Shape = Shape {
    kind: "UpstreamGroup",
    columns: &[("status", status::cell), ("total weight", total), ("details", details)],
    wide: &[],
};

fn weight(destination: &Value) -> u64 {
    destination["weight"].as_u64().unwrap_or_default()
}

fn sum(object: &Value) -> u64 {
    list(&object["spec"]["destinations"]).map(weight).fold(0, u64::saturating_add)
}

fn total(object: &Value) -> Cell {
    line(sum(object).to_string())
}

fn details(object: &Value) -> Cell {
    let total = sum(object);
    let mut lines = Vec::new();
    for destination in list(&object["spec"]["destinations"]) {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        let (namespace, name) = reference(object, &destination["destination"]["upstream"]);
        let weight = weight(destination);
        #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
        let share = if total == 0 { 0.0 } else { weight as f64 / total as f64 };
        lines.extend([
            "destination type: Upstream".to_owned(),
            format!("namespace: {namespace}"),
            format!("name: {name}"),
            format!("weight: {weight}   % total: {share:.2}"),
        ]);
    }
    lines
}
