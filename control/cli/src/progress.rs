//! How far it is: a bar on a terminal, a line now and then elsewhere.

use std::io::Write as _;
use std::time::{Duration, Instant};

#[cfg(test)]
mod tests;

/// How often a bar is drawn anew.
const REDRAW: Duration = Duration::from_millis(100);
/// How often a line is written where nobody watches.
const REPORT: Duration = Duration::from_secs(10);
/// Nothing is told before this.
const SILENCE: Duration = Duration::from_secs(1);
/// The bar, in characters.
const WIDTH: usize = 30;

/// Tells how far it is, on standard error.
pub(crate) struct Progress {
    rows: usize,
    is_terminal: bool,
    began: Instant,
    told: Instant,
    is_drawn: bool,
}

/// What a bar says.
fn bar(done: usize, rows: usize, elapsed: Duration) -> String {
    let filled = done.saturating_mul(WIDTH).checked_div(rows).unwrap_or(WIDTH).min(WIDTH);
    let text = text(done, rows, elapsed);
    format!("[{}{}] {text}", "#".repeat(filled), "-".repeat(WIDTH.saturating_sub(filled)))
}

/// The same in words.
fn text(done: usize, rows: usize, elapsed: Duration) -> String {
    let milliseconds = usize::try_from(elapsed.as_millis()).unwrap_or(usize::MAX);
    let a_second = done.saturating_mul(1000).checked_div(milliseconds).unwrap_or(0);
    let left = rows.saturating_sub(done).checked_div(a_second);
    let left = left.filter(|_| done < rows).map_or_else(String::new, |left| format!(", {left} s left"));
    format!("{done} of {rows}, {a_second} a second{left}")
}

// === impl Progress ===

impl Progress {
    /// Of this many rows, from now on.
    pub(crate) fn new(rows: usize, is_terminal: bool) -> Self {
        let now = Instant::now();
        Self { rows, is_terminal, began: now, told: now, is_drawn: false }
    }

    /// Tells how far it is, unless that was told just now.
    pub(crate) fn tell(&mut self, done: usize) {
        let pause = if self.is_terminal { REDRAW } else { REPORT };
        // Whoever watches does not need to be told what is done in a moment.
        if self.told.elapsed() < pause || self.began.elapsed() < SILENCE {
            return;
        }
        self.told = Instant::now();
        let elapsed = self.began.elapsed();
        // Nobody may be reading, and nothing depends on it.
        let mut stderr = std::io::stderr().lock();
        let _ = if self.is_terminal {
            self.is_drawn = true;
            write!(stderr, "\r\x1b[K{}", bar(done, self.rows, elapsed)).and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{}", text(done, self.rows, elapsed))
        };
    }

    /// Takes the bar away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}
