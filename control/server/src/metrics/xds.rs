//! What is sent to proxies, and how they take it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use keyward_trace::SPANS;
use keyward_xds::type_url::{CLUSTER, ENDPOINT, EXTENSION_CONFIG, LISTENER, ROUTE, SECRET, VIRTUAL_HOST};
use keyward_xds::{Event, EventSink, StreamEvent};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tracing::Span;
use tracing::field::Empty;

use super::Metrics;

/// So many responses may be unanswered; of more, nobody measures how long they take.
const MAX_UNANSWERED: usize = 65_536;

/// Counts events, and passes them on.
pub(crate) struct CountingSink {
    metrics: Metrics,
    next: mpsc::Sender<StreamEvent>,
    unanswered: Mutex<HashMap<Response, (Instant, Span)>>,
}

/// A response: its stream, its type and its version.
type Response = (u64, Arc<str>, Arc<str>);

/// The types that proxies are told.
pub(super) const NAMES: [&str; 6] = ["cluster", "endpoint", "extension", "listener", "route", "secret"];

/// The name of a type as a label.
pub(super) fn name(type_url: &str) -> &'static str {
    match type_url {
        CLUSTER => "cluster",
        ENDPOINT => "endpoint",
        EXTENSION_CONFIG => "extension",
        LISTENER => "listener",
        ROUTE => "route",
        SECRET => "secret",
        VIRTUAL_HOST => "virtual_host",
        _ => "other",
    }
}

// === impl CountingSink ===

impl CountingSink {
    pub(crate) fn new(metrics: Metrics, next: mpsc::Sender<StreamEvent>) -> Self {
        Self { metrics, next, unanswered: Mutex::default() }
    }

    fn count(&self, StreamEvent { stream, client, event }: &StreamEvent, now: Instant) {
        let metrics = &self.metrics.0;
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        let (counter, type_url, version) = match event {
            Event::Sent(sent) => {
                if unanswered.len() < MAX_UNANSWERED {
                    let span = tracing::info_span!(
                        target: SPANS, parent: None, "xds.push",
                        node = %client.node_id, r#type = name(&sent.type_url), failed = Empty
                    );
                    unanswered.insert((*stream, sent.type_url.clone(), sent.version.clone()), (now, span));
                }
                metrics.pushes.get_or_create(&[("type", name(&sent.type_url))]).inc();
                return;
            }
            Event::Disconnected => return unanswered.retain(|(of, ..), _| of != stream),
            Event::Acked(acked) => (&metrics.acks, &acked.type_url, &acked.version),
            Event::Nacked(nack) => (&metrics.nacks, &nack.type_url, &nack.version),
            _ => return,
        };
        let label = [("type", name(type_url))];
        counter.get_or_create(&label).inc();
        if let Some((sent, span)) = unanswered.remove(&(*stream, type_url.clone(), version.clone())) {
            if matches!(event, Event::Nacked(_)) {
                span.record("failed", true);
            }
            let took = now.saturating_duration_since(sent);
            metrics.push_seconds.get_or_create(&label).observe(took.as_secs_f64());
        }
    }
}

impl EventSink for CountingSink {
    fn on_event(&self, event: StreamEvent) {
        self.count(&event, Instant::now());
        self.next.on_event(event);
    }
}
