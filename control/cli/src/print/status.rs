//! The status of an object.

use serde_json::Value;

use super::Cell;
use super::bordered::line;
use super::reference::text;

/// What is shown of an object that nobody has looked at yet.
const PENDING: &str = "Pending";

/// The state; of several installations, that of each.
pub(super) fn cell(object: &Value) -> Cell {
    let status = &object["status"];
    let state = |of: &Value| of["state"].as_str().unwrap_or(PENDING).to_owned();
    match status["statuses"].as_object() {
        Some(several) if several.len() > 1 => {
            several.iter().map(|(reporter, said)| format!("{reporter}: {}", state(said))).collect()
        }
        // A namespace has another one.
        _ if status["phase"].is_string() => line(text(&status["phase"])),
        _ => line(state(status)),
    }
}
