//! What is wrong with a folder, for the people who write its files.

use std::fmt;

use keyward_resource::Place;
use serde::Serialize;

/// How much of a line is shown, and how much of that stands before the mistake where the line is longer.
const WIDTH: usize = 100;
const BEFORE: usize = 60;

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The file, from the folder down.
    pub file: String,
    /// The line, if that is known; the first is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The column in characters, if that is known; the first is 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The object, if it is about one: `VirtualService default/shop`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// What is wrong. Never a key.
    pub message: String,
    /// The line of the file, and below it a mark under the column. None for a file that may hold keys.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snippet: Option<String>,
}

/// What a look at a folder without a server says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// How many files there are.
    pub files: usize,
    /// How many objects they hold, without those of broken files.
    pub objects: usize,
    /// Everything that is wrong, in the order of the files.
    pub problems: Vec<Problem>,
}

/// The part of a line around a column, with a mark under it.
fn snippet(line: &str, column: usize) -> String {
    let at = column.saturating_sub(1);
    let start = if at < WIDTH { 0 } else { at - BEFORE };
    let shown = line.chars().skip(start).take(WIDTH);
    let shown: String = shown.map(|char| if char.is_control() { ' ' } else { char }).collect();
    format!("{}\n{}^", shown.trim_end(), " ".repeat(at - start))
}

// === impl Problem ===

impl Problem {
    /// A problem of a file as a whole.
    pub(crate) fn of_file(file: &str, message: impl Into<String>) -> Self {
        let file = file.to_owned();
        Self { file, line: None, column: None, object: None, message: message.into(), snippet: None }
    }

    /// The same problem, at a place. `text` is what the file says, if it may be shown.
    pub(crate) fn at(mut self, place: Place, text: Option<&str>) -> Self {
        let line = text.and_then(|text| text.lines().nth(place.line - 1));
        let line = line.filter(|line| !line.trim().is_empty());
        self.snippet = line.map(|line| snippet(line, place.column));
        (self.line, self.column) = (Some(place.line), Some(place.column));
        self
    }

    /// The same problem, of an object.
    pub(crate) fn about(mut self, object: impl fmt::Display) -> Self {
        self.object = Some(object.to_string());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(object) = &self.object {
            write!(f, "{object}: ")?;
        }
        write!(f, "{}\n  --> {}", self.message, self.file)?;
        let (Some(line), Some(column)) = (self.line, self.column) else { return Ok(()) };
        write!(f, ":{line}:{column}")?;
        if let Some(snippet) = &self.snippet {
            let number = line.to_string();
            let margin = " ".repeat(number.len());
            write!(f, "\n {margin} |")?;
            for (index, line) in snippet.lines().enumerate() {
                write!(f, "\n {} | {line}", if index == 0 { &number } else { &margin })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
