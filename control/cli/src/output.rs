//! What a command says: data on standard output, notes on standard error.

use std::fmt;
use std::io::{ErrorKind, Write};

use anyhow::Context as _;
use clap::ValueEnum;

/// How a report looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Where a command writes.
pub(crate) struct Output {
    data: Box<dyn Write>,
    notes: Box<dyn Write>,
}

// === impl Output ===

impl Output {
    /// Standard output and standard error.
    pub(crate) fn standard() -> Self {
        Self { data: Box::new(std::io::stdout()), notes: Box::new(std::io::stderr()) }
    }

    /// What was asked for.
    pub(crate) fn data(&mut self, text: impl fmt::Display) -> anyhow::Result<()> {
        match writeln!(self.data, "{text}").and_then(|()| self.data.flush()) {
            Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error).context("the output failed"),
            _ => Ok(()),
        }
    }

    /// What is good to know.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        // Nobody may be reading, and nothing depends on it.
        let _ = writeln!(self.notes, "{text}");
    }
}
