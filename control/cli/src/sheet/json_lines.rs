//! JSON lines: an object a line.

use std::collections::BTreeMap;

use keyward_resource::{Format, Malformed, parse_documents};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::{Map, Value};

use super::Reading;
use super::column::Column;
use super::mistake::Mistake;
use super::row::Row;

/// A row as an object, in the order in which people read it.
struct Line<'a>(&'a Row);

/// The rows of a file.
pub(super) fn rows(bytes: &[u8]) -> impl Iterator<Item = Reading> + Send + '_ {
    let lines = (1_u64..).zip(bytes.split(|byte| *byte == b'\n'));
    lines.filter(|(_, text)| !text.trim_ascii().is_empty()).map(|(line, text)| row(line, text))
}

fn row(line: u64, text: &[u8]) -> Reading {
    let wrong = |what: String| Reading::wrong(vec![Mistake::of_row(line, what)]);
    let documents = match parse_documents(text, Format::Json) {
        Ok(documents) => documents,
        Err(Malformed { what, place: Some(place), .. }) => {
            return wrong(format!("malformed JSON: {what} (character {})", place.column));
        }
        Err(Malformed { what, .. }) => return wrong(format!("malformed JSON: {what}")),
    };
    let [Value::Object(fields)] = documents.as_slice() else {
        return wrong("a line must be one JSON object".to_owned());
    };
    let mut row = Row::at(line);
    let mut mistakes = Vec::new();
    for (name, value) in fields {
        let column = match Column::read(name) {
            Ok(column) => column,
            Err(why) => {
                // Not its name, which is somebody's text.
                mistakes.push(Mistake::of_row(line, format!("a field: {why}")));
                continue;
            }
        };
        if let Err(why) = put(&mut row, &column, value) {
            mistakes.push(Mistake::new(line, column, why));
        }
    }
    Reading { row: Some(row), mistakes }
}

fn put(row: &mut Row, column: &Column, value: &Value) -> Result<(), String> {
    match (column, value) {
        (_, Value::Null) => Ok(()),
        (_, Value::String(text)) => row.put(column, text.as_bytes()),
        (Column::Entry { is_base64: false, .. }, Value::Bool(word)) => {
            row.put(column, word.to_string().as_bytes())
        }
        (Column::Labels, Value::Object(fields)) => {
            row.labels = labels(fields)?;
            Ok(())
        }
        (Column::Labels, _) => Err("must be an object of strings".to_owned()),
        _ => Err("must be a string".to_owned()),
    }
}

fn labels(fields: &Map<String, Value>) -> Result<BTreeMap<String, String>, String> {
    let label = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    fields.iter().map(label).collect::<Option<_>>().ok_or_else(|| "must be an object of strings".to_owned())
}

/// A row as a line, without a line end.
pub(crate) fn line(row: &Row) -> anyhow::Result<String> {
    Ok(serde_json::to_string(&Line(row))?)
}

// === impl Line ===

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let row = self.0;
        let mut columns: Vec<Column> = row.columns().collect();
        columns.sort_by_cached_key(|column| (column.rank(), column.clone()));
        let mut map = serializer.serialize_map(None)?;
        for column in [Column::Name, Column::Namespace] {
            if let Some(cell) = row.cell(&column) {
                map.serialize_entry(&column.to_string(), &cell)?;
            }
        }
        if !row.labels.is_empty() {
            map.serialize_entry(&Column::Labels.to_string(), &row.labels)?;
        }
        for column in columns {
            if let Some(cell) = row.cell(&column) {
                map.serialize_entry(&column.to_string(), &cell)?;
            }
        }
        map.end()
    }
}
