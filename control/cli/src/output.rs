//! What a command says: data on standard output, notes on standard error.

use std::fmt;
use std::io::{ErrorKind, Write};

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;

#[cfg(test)]
mod tests;

/// How a report looks: whatever a command has to say, but for objects, of which there are more forms (`get`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people: columns, or lines.
    #[value(alias = "text")]
    Table,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// How a document looks, that is for programs in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Document {
    /// YAML.
    Yaml,
    /// JSON.
    Json,
}

/// Columns under headings.
#[derive(Debug)]
pub(crate) struct Table {
    lines: Vec<Vec<String>>,
}

/// Where a command writes.
pub(crate) struct Output {
    data: Box<dyn Write>,
    notes: Box<dyn Write>,
}

/// A value as YAML, without a line end.
pub(crate) fn yaml(value: &impl Serialize) -> anyhow::Result<String> {
    let text = serde_saphyr::to_string(value).context("the output cannot be written as YAML")?;
    Ok(text.trim_end().to_owned())
}

// === impl Output ===

impl Output {
    /// Standard output and standard error.
    pub(crate) fn standard() -> Self {
        Self { data: Box::new(std::io::stdout()), notes: Box::new(std::io::stderr()) }
    }

    /// Two places that a test looks into.
    #[cfg(test)]
    pub(crate) fn into(data: impl Write + 'static, notes: impl Write + 'static) -> Self {
        Self { data: Box::new(data), notes: Box::new(notes) }
    }

    /// What was asked for.
    pub(crate) fn data(&mut self, text: impl fmt::Display) -> anyhow::Result<()> {
        match writeln!(self.data, "{text}").and_then(|()| self.data.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("the output failed"),
            _ => Ok(()),
        }
    }

    /// A part of what was asked for, as it is; whether anybody reads.
    pub(crate) fn part(&mut self, bytes: &[u8]) -> anyhow::Result<bool> {
        match self.data.write_all(bytes).and_then(|()| self.data.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(error).context("the output failed"),
            Ok(()) => Ok(true),
        }
    }

    /// What was asked for, in the form that was asked for.
    pub(crate) fn show(
        &mut self,
        format: Format,
        value: &impl Serialize,
        table: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        match format {
            Format::Table => self.data(table()),
            Format::Json => self.data(serde_json::to_string_pretty(value)?),
            Format::Yaml => self.data(yaml(value)?),
        }
    }

    /// A document, in the form that was asked for.
    pub(crate) fn document(&mut self, form: Document, value: &impl Serialize) -> anyhow::Result<()> {
        match form {
            Document::Yaml => self.data(yaml(value)?),
            Document::Json => self.data(serde_json::to_string_pretty(value)?),
        }
    }

    /// What is good to know.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        // Nobody may be reading, and nothing depends on it.
        let _ = writeln!(self.notes, "{text}");
    }
}

// === impl Table ===

impl Table {
    /// One with these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        debug_assert!(headings.iter().all(|it| *it == it.to_uppercase()), "{headings:?} are in capitals");
        Self { lines: vec![headings.iter().map(|heading| (*heading).to_owned()).collect()] }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.lines.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = Vec::new();
        for line in &self.lines {
            widths.resize(line.len().max(widths.len()), 0);
            for (width, cell) in widths.iter_mut().zip(line) {
                *width = cell.chars().count().max(*width);
            }
        }
        for (index, line) in self.lines.iter().enumerate() {
            let padded: Vec<String> =
                line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            let end = if index == 0 { "" } else { "\n" };
            write!(f, "{end}{}", padded.join("   ").trim_end())?;
        }
        Ok(())
    }
}
