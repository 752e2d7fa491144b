//! What is wrong in a file, and where.

use std::fmt;

use keyward_resource::FieldError;
use serde::Serialize;

/// A mistake in a row. It repeats nothing of what stands there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct Mistake {
    /// The line in which the row begins; the first is 1.
    pub(crate) line: u64,
    /// The column, by its heading, unless it is the row as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<String>,
    /// What is wrong.
    pub(crate) message: String,
}

// === impl Mistake ===

impl Mistake {
    /// A mistake in a column of a line.
    pub(crate) fn new(line: u64, column: impl ToString, message: impl Into<String>) -> Self {
        Self { line, column: Some(column.to_string()), message: message.into() }
    }

    /// A mistake that is about a whole row.
    pub(super) fn of_row(line: u64, message: impl Into<String>) -> Self {
        Self { line, column: None, message: message.into() }
    }

    /// What a server would say of the row.
    pub(crate) fn of_field(line: u64, error: &FieldError) -> Self {
        // The name of a label is what somebody wrote into a cell.
        let column = match error.path.split_once('[') {
            Some(("data", entry)) => entry.trim_end_matches(']'),
            Some((path, _)) => path.trim_start_matches("metadata."),
            None => error.path.trim_start_matches("metadata."),
        };
        let message = ["Invalid value: ", "Required value: ", "[redacted]: "]
            .iter()
            .fold(error.message.as_str(), |message, prefix| message.strip_prefix(prefix).unwrap_or(message));
        // The value, where it is repeated: somebody may have put a key into the wrong column.
        let message = match message.strip_prefix('"').and_then(|rest| rest.rsplit_once("\": ")) {
            Some((_, message)) => message,
            None => message,
        };
        Self { line, column: (!column.is_empty()).then(|| column.to_owned()), message: message.to_owned() }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.line)?;
        if let Some(column) = &self.column {
            write!(f, "{column}: ")?;
        }
        f.write_str(&self.message)
    }
}
