//! Spans and calls: what is kept of them, and where they go.
//!
//! ```text
//! tracing ─▶ SpanLayer ─▶ Recent ─▶ /zpages/tracez
//!                └──────▶ Exporter ─▶ a collector (OTLP), where the environment names one
//! REST, gRPC ─▶ Meter ─▶ Calls ─▶ /zpages/rpcz
//! ```

mod export;
mod grpc;
mod pushes;
mod rest;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyward_trace::{Calls, Recent, Span, SpanLayer};
use tokio::sync::mpsc;

pub(crate) use export::Exporter;
pub(crate) use grpc::metered as metered_grpc;
pub(crate) use pushes::Pushes;
pub(crate) use rest::traced;

/// So many ended spans may wait for the exporter; of more, some are lost.
const MAX_WAITING: usize = 2048;

/// A span that has ended, and how long it took.
pub(crate) type Ended = (Arc<Span>, Duration);

/// Everything that is kept of spans and calls. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Spans {
    pub(crate) recent: Recent,
    pub(crate) calls: Calls,
    ended: Arc<Mutex<Option<mpsc::Receiver<Ended>>>>,
}

// === impl Spans ===

impl Spans {
    /// All that is kept, and what keeps it. Where nobody exports them, ended spans are not passed on.
    pub(crate) fn new() -> (Self, SpanLayer) {
        let spans = Self::default();
        let mut layer = SpanLayer::new(spans.recent.clone());
        if export::is_wanted(|name| std::env::var(name).ok()) {
            let (sender, receiver) = mpsc::channel(MAX_WAITING);
            layer = layer.sending(sender);
            *spans.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(receiver);
        }
        (spans, layer)
    }

    /// What takes ended spans elsewhere, where the environment wants that. There is one.
    ///
    /// # Errors
    ///
    /// When the environment wants what is not possible.
    pub(crate) fn exporter(&self) -> anyhow::Result<Option<Exporter>> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        ended.map(Exporter::new).transpose()
    }
}

impl fmt::Debug for Spans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Spans").finish_non_exhaustive()
    }
}
