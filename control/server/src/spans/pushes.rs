//! What is sent to somebody and answered later: a span from the one to the other.

use std::collections::HashMap;
use std::hash::Hash;

use tracing::Span;

/// So many may be unanswered; of more, there is no span.
const MAX_UNANSWERED: usize = 4096;

/// Spans of what is not answered yet.
#[derive(Debug)]
pub(crate) struct Pushes<K>(HashMap<K, Span>);

// === impl Pushes ===

impl<K: Eq + Hash> Pushes<K> {
    /// Something is sent. What it replaces is never answered.
    pub(crate) fn sent(&mut self, what: K, span: impl FnOnce() -> Span) {
        if self.0.len() < MAX_UNANSWERED || self.0.contains_key(&what) {
            self.0.insert(what, span());
        }
    }

    /// It is answered; `refused` says how.
    pub(crate) fn answered(&mut self, what: &K, refused: bool) {
        if let Some(span) = self.0.remove(what)
            && refused
        {
            span.record("failed", true);
        }
    }
}

impl<K> Default for Pushes<K> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}
