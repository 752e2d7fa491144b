//! What a run is doing, on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How far something is that takes its time.
#[derive(Clone)]
pub(crate) struct Progress {
    inner: Arc<Inner>,
}

struct Inner {
    what: String,
    of: usize,
    done: AtomicUsize,
    terminal: bool,
}

/// Says something.
pub(crate) fn say(what: &str) {
    // Nobody reads it any more: no reason to stop.
    let _ = writeln!(std::io::stderr(), "bench: {what}");
}

// === impl Progress ===

impl Progress {
    pub(crate) fn new(what: &str, of: usize) -> Self {
        let terminal = std::io::stderr().is_terminal();
        if !terminal {
            say(&format!("{what}: {of}"));
        }
        let inner = Inner { what: what.to_owned(), of, done: AtomicUsize::new(0), terminal };
        Self { inner: Arc::new(inner) }
    }

    /// One more is done.
    pub(crate) fn one(&self) {
        let Inner { what, of, done, terminal } = &*self.inner;
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        let step = (of / 100).max(1);
        if *terminal && (done.is_multiple_of(step) || done == *of) {
            let end = if done == *of { "\n" } else { "" };
            let _ = write!(std::io::stderr(), "\rbench: {what}: {done} of {of}{end}");
        }
    }
}
