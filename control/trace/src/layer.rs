//! Takes part in `tracing`: keeps the spans of one target, and passes on those that have ended.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::mpsc;
use tracing::span::{Attributes, Id, Record};
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;
use uuid::Uuid;

use crate::SPANS;
use crate::recent::{Recent, Span};

#[cfg(test)]
mod tests;

/// Keeps spans. To be filtered by [`is_ours`].
#[derive(Debug)]
pub struct SpanLayer {
    recent: Recent,
    ended: Option<mpsc::Sender<(Arc<Span>, Duration)>>,
}

/// A span under way, as it stands in the registry.
struct Open {
    span: Span,
    since: Instant,
}

/// Whether something is a span that is kept.
#[must_use]
pub fn is_ours(metadata: &Metadata<'_>) -> bool {
    metadata.is_span() && metadata.target() == SPANS
}

/// A number that nobody else has.
fn number() -> u128 {
    Uuid::new_v4().as_u128()
}

/// The lower half of such a number, which has no fixed bits.
fn half() -> u64 {
    Uuid::new_v4().as_u64_pair().1
}

// === impl SpanLayer ===

impl SpanLayer {
    /// Keeps spans in `recent`.
    #[must_use]
    pub fn new(recent: Recent) -> Self {
        Self { recent, ended: None }
    }

    /// The same, which passes on what has ended. What finds no room is lost: nothing waits for it.
    #[must_use]
    pub fn sending(self, ended: mpsc::Sender<(Arc<Span>, Duration)>) -> Self {
        Self { ended: Some(ended), ..self }
    }
}

impl<S> Layer<S> for SpanLayer
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        let parent = span
            .parent()
            .and_then(|parent| parent.extensions().get::<Open>().map(|open| (open.span.trace, open.span.id)));
        let mut open = Open {
            span: Span {
                name: attributes.metadata().name(),
                trace: parent.map_or_else(number, |(trace, _)| trace),
                id: half(),
                parent: parent.map(|(_, id)| id),
                start: SystemTime::now(),
                fields: Default::default(),
            },
            since: Instant::now(),
        };
        attributes.record(&mut open.span.fields);
        self.recent.begin(&Arc::new(open.span.clone()));
        span.extensions_mut().insert(open);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let Some(span) = context.span(id) else { return };
        if let Some(open) = span.extensions_mut().get_mut::<Open>() {
            values.record(&mut open.span.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(Open { span, since }) = context.span(&id).and_then(|span| span.extensions_mut().remove())
        else {
            return;
        };
        let (span, took) = (Arc::new(span), since.elapsed());
        self.recent.end(Arc::clone(&span), took);
        if let Some(ended) = &self.ended {
            // Full, or nobody is there any more: in both cases this one is lost, and no request waits.
            let _ = ended.try_send((span, took));
        }
    }
}
