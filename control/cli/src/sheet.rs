//! A file with API keys, one a row: CSV, or JSON lines.
//!
//! ```text
//! bytes ─Sheet::rows▶ Row, or its mistakes ─Row::object▶ a Secret, as people write it
//! bytes ◀─ csv, json_lines ◀─ Row ◀─Row::of▶ a Secret, as a server has it
//! ```
//!
//! What a cell holds may be a key, so no mistake ever repeats it: line and column say where to look.

mod column;
mod csv;
mod json_lines;
mod mistake;
mod row;

use std::path::Path;

use clap::ValueEnum;

pub(crate) use column::Column;
pub(crate) use csv::CsvWriter;
pub(crate) use json_lines::line;
pub(crate) use mistake::Mistake;
pub(crate) use row::Row;

#[cfg(test)]
mod tests;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// RFC 4180 with a line of headings; an empty cell is an entry that is not there.
    Csv,
    /// A JSON object a line.
    Jsonl,
}

/// A row as it was read.
#[derive(Debug)]
pub(crate) struct Reading {
    /// The row, without what is wrong with it; none where nothing can be told of it.
    pub(crate) row: Option<Row>,
    /// What is wrong with it.
    pub(crate) mistakes: Vec<Mistake>,
}

/// A file that was read.
pub(crate) struct Sheet {
    bytes: Vec<u8>,
    form: Form,
}

// === impl Form ===

impl Form {
    /// The form that the name of a file speaks of.
    pub(crate) fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            _ => None,
        }
    }
}

// === impl Reading ===

impl Reading {
    /// A row of which nothing can be told but what is wrong with it.
    fn wrong(mistakes: Vec<Mistake>) -> Self {
        Self { row: None, mistakes }
    }

    /// The row, if nothing is wrong with it.
    pub(crate) fn right(self) -> Option<Row> {
        self.row.filter(|_| self.mistakes.is_empty())
    }
}

// === impl Sheet ===

impl Sheet {
    /// A file with this content.
    pub(crate) fn new(mut bytes: Vec<u8>, form: Form) -> Self {
        // Spreadsheets write a byte order mark.
        if bytes.starts_with(b"\xef\xbb\xbf") {
            bytes.drain(..3);
        }
        Self { bytes, form }
    }

    /// The rows in their order. Where the headings are wrong, there are no rows and their mistakes come.
    pub(crate) fn rows(&self) -> Box<dyn Iterator<Item = Reading> + Send + '_> {
        match self.form {
            Form::Csv => csv::rows(&self.bytes),
            Form::Jsonl => Box::new(json_lines::rows(&self.bytes)),
        }
    }
}
