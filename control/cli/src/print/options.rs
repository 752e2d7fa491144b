//! VirtualHostOptions and RouteOptions in a table.

use serde_json::Value;

use super::reference::names;
use super::status;
use super::{Cell, Column, Shape, line};

pub(super) const OF_VIRTUAL_HOSTS: Shape = Shape { kind: "VirtualHostOption", columns: COLUMNS, wide: &[] };
pub(super) const OF_ROUTES: Shape = Shape { kind: "RouteOption", columns: COLUMNS, wide: &[] };

const COLUMNS: &[Column] = &[("Options", all), ("Status", status::cell)];

fn all(object: &Value) -> Cell {
    of(&object["spec"]["options"])
}

/// Which options are set.
pub(super) fn of(options: &Value) -> Cell {
    line(names(options).collect::<Vec<_>>().join(", "))
}
