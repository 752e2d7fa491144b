//! What came of the rows.

use std::fmt;
use std::time::Duration;

use anyhow::bail;
use serde::Serialize;

/// What came of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was not there.
    Created,
    /// It was there already, as the file says.
    Unchanged,
    /// It was there with another content, and is overwritten.
    Replaced,
    /// It is there with another content in these columns, and left as it is.
    Different(Vec<String>),
    /// It could not be written, for this reason.
    Failed(String),
}

/// A row that something is to be said of.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Notice {
    line: u64,
    secret: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differs_in: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// All rows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Tally {
    rows: usize,
    created: usize,
    unchanged: usize,
    replaced: usize,
    different: usize,
    failed: usize,
    not_reached: usize,
    dry_run: bool,
    milliseconds: u64,
    notices: Vec<Notice>,
}

fn rows(number: usize) -> String {
    format!("{number} row{}", if number == 1 { "" } else { "s" })
}

// === impl Tally ===

impl Tally {
    /// Of rows that have not been reached.
    pub(super) fn new(rows: usize, dry_run: bool) -> Self {
        Self {
            rows,
            created: 0,
            unchanged: 0,
            replaced: 0,
            different: 0,
            failed: 0,
            not_reached: rows,
            dry_run,
            milliseconds: 0,
            notices: Vec::new(),
        }
    }

    /// Counts a row in.
    pub(super) fn count(&mut self, line: u64, secret: &str, outcome: Outcome) {
        let (number, notice) = match outcome {
            Outcome::Created => (&mut self.created, None),
            Outcome::Unchanged => (&mut self.unchanged, None),
            Outcome::Replaced => (&mut self.replaced, None),
            Outcome::Different(columns) => (&mut self.different, Some((columns, None))),
            Outcome::Failed(why) => (&mut self.failed, Some((Vec::new(), Some(why)))),
        };
        *number = number.saturating_add(1);
        self.not_reached = self.not_reached.saturating_sub(1);
        if let Some((differs_in, problem)) = notice {
            let notice = Notice { line, secret: secret.to_owned(), differs_in, problem };
            self.notices.push(notice);
        }
    }

    /// How many rows are done with.
    pub(super) fn done(&self) -> usize {
        self.rows.saturating_sub(self.not_reached)
    }

    /// That is all of it, and this is how long it took.
    pub(super) fn finish(&mut self, time: Duration) {
        self.notices.sort_by_key(|notice| notice.line);
        self.milliseconds = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    }

    /// Rows that something is to be said of, by line.
    pub(super) fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// The numbers, in the order of the table.
    pub(super) fn numbers(&self) -> [usize; 6] {
        [self.created, self.unchanged, self.replaced, self.different, self.failed, self.not_reached]
    }

    /// How fast it went.
    pub(super) fn pace(&self) -> String {
        let done = u64::try_from(self.done()).unwrap_or(u64::MAX);
        let a_second = done.saturating_mul(1000).checked_div(self.milliseconds).unwrap_or(done);
        let (seconds, tenths) = (self.milliseconds / 1000, self.milliseconds % 1000 / 100);
        format!("{done} of {} rows in {seconds}.{tenths} s, {a_second} a second", self.rows)
    }

    /// Whether all rows are there as the file says.
    pub(super) fn result(&self, file: &str) -> anyhow::Result<()> {
        match (self.failed, self.different) {
            (0, 0) => Ok(()),
            (0, different) => bail!(
                "what is there differs from {} of {file}, and is left as it is\nhint: --replace overwrites it",
                rows(different)
            ),
            (failed, _) => bail!("{} of {file} could not be written", rows(failed)),
        }
    }
}

// === impl Notice ===

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}: ", self.line, self.secret)?;
        match &self.problem {
            Some(problem) => f.write_str(problem),
            None => write!(f, "is there with another content: {}", self.differs_in.join(", ")),
        }
    }
}
