//! The forms in which objects are answered: whole, as rows of a table, or their metadata alone.
//!
//! ```text
//!  Accept: application/json;as=Table;v=v1;g=meta.k8s.io ─▶ Form ─▶ Table
//!                                                            └ columns of the kind (columns.rs)
//! ```
//!
//! A table shows what is in its columns and nothing else: a kind without columns of its own shows
//! names and ages.

mod age;
mod columns;

use axum::http::HeaderMap;
use jiff::Timestamp;
use keyward_resource::{ApiStatus, Kind};
use serde_json::{Map, Value, json};

pub use self::age::since as age;
use self::columns::{Column, columns_of};
use crate::accept::{Accept, Range};

/// The form that a client asks for.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// The objects themselves.
    Whole,
    /// Rows of a `Table`.
    Table {
        /// The version of `meta.k8s.io`.
        version: &'static str,
        /// What of each object goes with its row.
        include: Include,
        /// The clock, for ages.
        now: fn() -> Timestamp,
    },
    /// `PartialObjectMetadata`.
    Metadata {
        /// The version of `meta.k8s.io`.
        version: &'static str,
    },
}

/// What of an object goes with its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Include {
    Nothing,
    Metadata,
    Object,
}

/// The versions of `meta.k8s.io`; the older one is asked for by old clients only.
const VERSIONS: &[&str] = &["v1", "v1beta1"];

/// The form that a range of the header names, if it is one of ours.
fn named(range: &Range, include: Include, now: fn() -> Timestamp) -> Option<Form> {
    if !range.takes("application/json") {
        return None;
    }
    let Some(kind) = range.parameter("as") else { return Some(Form::Whole) };
    let version = VERSIONS.iter().find(|version| range.parameter("v") == Some(version))?;
    if range.parameter("g") != Some("meta.k8s.io") {
        return None;
    }
    match kind {
        "Table" => Some(Form::Table { version, include, now }),
        "PartialObjectMetadata" | "PartialObjectMetadataList" => Some(Form::Metadata { version }),
        _ => None,
    }
}

fn included(query: Option<&str>) -> Result<Include, ApiStatus> {
    let mut values =
        query.unwrap_or_default().split('&').filter_map(|pair| pair.strip_prefix("includeObject="));
    match values.next_back() {
        None | Some("" | "Metadata") => Ok(Include::Metadata),
        Some("None") => Ok(Include::Nothing),
        Some("Object") => Ok(Include::Object),
        Some(_) => {
            let message = "includeObject: Invalid value: must be \"None\", \"Metadata\" or \"Object\"";
            Err(ApiStatus::bad_request(message))
        }
    }
}

fn is_status(object: &Value) -> bool {
    object["kind"] == "Status" && object["apiVersion"] == "v1"
}

fn partial(version: &str, object: &Value) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": object["metadata"],
    })
}

fn row(columns: &[Column], version: &str, include: Include, now: Timestamp, object: Value) -> Value {
    let cells: Vec<Value> = columns.iter().map(|column| column.cell(&object, now)).collect();
    let object = match include {
        Include::Nothing => Value::Null,
        Include::Metadata => partial(version, &object),
        Include::Object => object,
    };
    json!({ "cells": cells, "object": object })
}

fn table(version: &str, metadata: Value, columns: &[Column], rows: Vec<Value>) -> Value {
    let columns: Vec<Value> = columns.iter().map(Column::definition).collect();
    json!({
        "kind": "Table",
        "apiVersion": format!("meta.k8s.io/{version}"),
        "metadata": metadata,
        "columnDefinitions": columns,
        "rows": rows,
    })
}

fn take_items(list: &mut Value) -> Vec<Value> {
    match list.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    }
}

// === impl Form ===

impl Form {
    /// Reads the form from `Accept`, and from the query what it needs to know of a table. Ages are
    /// counted by the clock.
    ///
    /// # Errors
    ///
    /// When no form that is accepted can be made, or when the query asks for something odd.
    pub(crate) fn asked(
        headers: &HeaderMap,
        query: Option<&str>,
        now: fn() -> Timestamp,
    ) -> Result<Self, ApiStatus> {
        let include = included(query)?;
        Accept::of(headers).first(|range| named(range, include, now)).ok_or_else(ApiStatus::not_acceptable)
    }

    /// A list in this form.
    pub(crate) fn list(&self, kind: &'static Kind, mut list: Value) -> Value {
        match self {
            Self::Whole => list,
            Self::Table { version, include, now } => {
                let (columns, now) = (columns_of(kind), now());
                let rows = take_items(&mut list).into_iter();
                let rows = rows.map(|object| row(&columns, version, *include, now, object)).collect();
                table(version, list["metadata"].take(), &columns, rows)
            }
            Self::Metadata { version } => json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": format!("meta.k8s.io/{version}"),
                "metadata": list["metadata"].take(),
                "items": take_items(&mut list).iter().map(|item| partial(version, item)).collect::<Vec<_>>(),
            }),
        }
    }

    /// An object in this form, or what a watch says of it. Every table says what its columns are: a client
    /// that passes over the first event of a watch would not know them otherwise.
    pub(crate) fn object(&self, kind: &'static Kind, object: Value) -> Value {
        match self {
            _ if is_status(&object) => object,
            Self::Whole => object,
            Self::Table { version, include, now } => {
                let columns = columns_of(kind);
                let metadata: Map<String, Value> = object["metadata"]["resourceVersion"]
                    .as_str()
                    .map(|version| ("resourceVersion".to_owned(), version.into()))
                    .into_iter()
                    .collect();
                let row = row(&columns, version, *include, now(), object);
                table(version, metadata.into(), &columns, vec![row])
            }
            Self::Metadata { version } => partial(version, &object),
        }
    }
}

#[cfg(test)]
mod tests;
