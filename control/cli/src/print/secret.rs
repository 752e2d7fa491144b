//! Secrets in a table. Nothing of what they hold is in it, but how the entries are called.

use keyward_resource::kinds::secret::{KEY_TYPE, TLS_TYPE, canonical_type};
use serde_json::Value;

use super::reference::{names, text};
use super::{Cell, Shape, line};

pub(super) const SHAPE: Shape =
    Shape { kind: "Secret", columns: &[("Type", word)], wide: &[("Data", entries)] };

/// The original's word for what it holds.
fn word(object: &Value) -> Cell {
    line(match canonical_type(text(&object["type"])) {
        KEY_TYPE => "ApiKey",
        TLS_TYPE => "TLS",
        _ => "unknown",
    })
}

fn entries(object: &Value) -> Cell {
    line(names(&object["data"]).collect::<Vec<_>>().join(", "))
}
