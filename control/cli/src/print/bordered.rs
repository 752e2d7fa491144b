//! A table with borders, as the original's command line draws it.

use std::fmt;

#[cfg(test)]
mod tests;

/// Longer lines go on in the next one, where there is a space.
const WIDTH: usize = 30;

/// Headings in capitals, and rows of cells that may have several lines.
#[derive(Debug)]
pub(crate) struct Bordered {
    headings: Vec<String>,
    rows: Vec<Vec<Cell>>,
    width: usize,
}

/// The lines of a cell.
pub(crate) type Cell = Vec<String>;

/// A cell with one line.
pub(crate) fn line(text: impl Into<String>) -> Cell {
    vec![text.into()]
}

/// How much room a text takes.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Breaks a line between words where it would be too long. A word is never broken.
pub(super) fn wrap(line: &str, limit: usize, into: &mut Vec<String>) {
    if width(line) <= limit {
        return into.push(line.to_owned());
    }
    let mut current = String::new();
    for word in line.split(' ') {
        if !current.is_empty() && width(&current) + 1 + width(word) > limit {
            into.push(std::mem::take(&mut current));
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(word);
    }
    into.push(current);
}

/// What a terminal would take for a command is no part of a table.
fn printable(text: &str) -> String {
    text.chars().map(|char| if char.is_control() { ' ' } else { char }).collect()
}

// === impl Bordered ===

impl Bordered {
    /// One with these headings.
    pub(crate) fn new<'a>(headings: impl IntoIterator<Item = &'a str>) -> Self {
        let headings = headings.into_iter().map(str::to_uppercase).collect();
        Self { headings, rows: Vec::new(), width: WIDTH }
    }

    /// The same, with lines of any length.
    pub(crate) fn unwrapped(self) -> Self {
        Self { width: usize::MAX, ..self }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let lines = |cell: Cell| {
            let mut lines = Vec::new();
            for line in cell.iter().flat_map(|text| text.split('\n')) {
                wrap(printable(line).trim_end(), self.width, &mut lines);
            }
            lines
        };
        self.rows.push(cells.into_iter().map(lines).collect());
    }
}

impl fmt::Display for Bordered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths: Vec<usize> = self.headings.iter().map(|heading| width(heading)).collect();
        for row in &self.rows {
            for (most, cell) in widths.iter_mut().zip(row) {
                *most = cell.iter().map(|line| width(line)).max().unwrap_or_default().max(*most);
            }
        }
        let border: String = widths.iter().map(|width| format!("+{}", "-".repeat(width + 2))).collect();
        writeln!(f, "{border}+")?;
        for (heading, most) in self.headings.iter().zip(&widths) {
            // What cannot be halved is on the right.
            let left = (most - width(heading)) / 2;
            write!(f, "| {}{heading:rest$} ", " ".repeat(left), rest = most - left)?;
        }
        writeln!(f, "|\n{border}+")?;
        for row in &self.rows {
            let height = row.iter().map(Vec::len).max().unwrap_or_default();
            for number in 0..height {
                for (cell, most) in row.iter().zip(&widths) {
                    let line = cell.get(number).map(String::as_str).unwrap_or_default();
                    write!(f, "| {line:most$} ")?;
                }
                writeln!(f, "|")?;
            }
        }
        write!(f, "{border}+")
    }
}
