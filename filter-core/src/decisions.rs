//! What was decided, by AuthConfig and reason, until the proxy is told.
//!
//! ```text
//!  request ──count──▶ Decisions (rows by AuthConfig, columns by reason) ──show, with the tick──▶ proxy
//! ```
//!
//! A request costs what it cost when there was one row: the number of its row stands in its policy. The
//! proxy keeps what it was told for as long as it runs, so there are as many rows as [`MAX_ROWS`] and no more,
//! whoever makes AuthConfigs and takes them away again.

use std::collections::BTreeMap;

use crate::metric::Metric;

#[cfg(test)]
mod tests;

/// The most AuthConfigs that are told apart in the life of a VM. Decisions by further ones are counted under
/// [`OTHER`].
pub const MAX_ROWS: usize = 1_000;
/// Stands for the AuthConfig where a route names none.
pub const NONE: &str = "none";
/// Stands for all AuthConfigs for which there is no room.
pub const OTHER: &str = "other";
/// Begins the names of these metrics: `keyward.decisions.<AuthConfig>|<reason>`. The bootstrap of the proxy
/// says how labels are made of it.
pub const PREFIX: &str = "keyward.decisions.";
/// Stands between AuthConfig and reason.
pub const SEPARATOR: char = '|';

/// The number of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row(u16);

/// All rows.
#[derive(Debug)]
pub struct Decisions {
    rows: Vec<Counts>,
    by_name: BTreeMap<String, Row>,
    any: bool,
}

#[derive(Debug)]
struct Counts {
    name: String,
    /// Since the proxy was told last.
    counts: [u32; Metric::REASONS],
    /// The proxy's numbers of the metrics, as far as there was anything to tell.
    numbers: [Option<u32>; Metric::REASONS],
}

// === impl Row ===

impl Row {
    /// The row of routes that name no AuthConfig.
    pub const NONE: Self = Self(0);
    /// The row of all for which there is no room.
    const OTHER: Self = Self(1);
}

// === impl Counts ===

impl Counts {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), counts: [0; Metric::REASONS], numbers: [None; Metric::REASONS] }
    }
}

// === impl Decisions ===

impl Decisions {
    /// Nothing was decided yet.
    #[must_use]
    pub fn new() -> Self {
        Self { rows: vec![Counts::new(NONE), Counts::new(OTHER)], by_name: BTreeMap::new(), any: false }
    }

    /// The row of an AuthConfig.
    pub fn row(&mut self, auth_config: &str) -> Row {
        if let Some(row) = self.by_name.get(auth_config) {
            return *row;
        }
        let Some(row) = u16::try_from(self.rows.len()).ok().filter(|_| self.rows.len() < MAX_ROWS) else {
            return Row::OTHER;
        };
        self.rows.push(Counts::new(auth_config));
        self.by_name.insert(auth_config.to_owned(), Row(row));
        Row(row)
    }

    /// Counts a decision. What is no reason of one is not counted.
    pub fn count(&mut self, Row(row): Row, reason: Metric) {
        let counts = self.rows.get_mut(usize::from(row)).map(|row| &mut row.counts);
        if let Some(count) = counts.and_then(|counts| counts.get_mut(reason as usize)) {
            *count = count.saturating_add(1);
            self.any = true;
        }
    }

    /// Tells what was counted since the last time. `define` makes a metric known, and `add` adds to it;
    /// `total` adds to the metric of a reason over all AuthConfigs.
    pub fn show(
        &mut self,
        mut define: impl FnMut(&str) -> Option<u32>,
        mut add: impl FnMut(u32, i64),
        mut total: impl FnMut(Metric, i64),
    ) {
        if !std::mem::take(&mut self.any) {
            return;
        }
        for Counts { name, counts, numbers } in &mut self.rows {
            for ((count, number), (reason, word)) in counts.iter_mut().zip(numbers).zip(Metric::reasons()) {
                if *count == 0 {
                    continue;
                }
                let count = i64::from(std::mem::take(count));
                total(reason, count);
                if number.is_none() {
                    *number = define(&[PREFIX, name, "|", word].concat());
                }
                if let Some(number) = *number {
                    add(number, count);
                }
            }
        }
    }
}

impl Default for Decisions {
    fn default() -> Self {
        Self::new()
    }
}
