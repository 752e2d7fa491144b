use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::{Registry, registry};

use super::*;
use crate::recent::{Sample, Which};

const SECRET: &str = "s3cret";

fn watched(recent: &Recent, ended: Option<mpsc::Sender<(Arc<Span>, Duration)>>) -> impl Subscriber + use<> {
    let layer = SpanLayer::new(recent.clone());
    let layer = match ended {
        Some(ended) => layer.sending(ended),
        None => layer,
    };
    registry().with(Layer::<Registry>::with_filter(layer, filter_fn(is_ours)))
}

fn samples(recent: &Recent, name: &str) -> Vec<Sample> {
    (0..crate::BUCKETS)
        .flat_map(|bucket| recent.samples(name, Which::Bucket(bucket)).expect("a name"))
        .collect()
}

#[test]
fn spans_of_the_target_are_kept_with_the_fields_that_may_be_seen() {
    let recent = Recent::default();
    tracing::subscriber::with_default(watched(&recent, None), || {
        let long = "x".repeat(1_000) + "\u{1b}[31m";
        let outer = tracing::info_span!(target: SPANS, "outer", kind = "Secret", key = SECRET, keys = 3, node = long, code = tracing::field::Empty);
        let inner = outer.in_scope(|| {
            tracing::info_span!("foreign", kind = SECRET)
                .in_scope(|| tracing::debug_span!(target: SPANS, "inner", failed = tracing::field::Empty))
        });
        outer.record("code", 201);
        inner.record("failed", true);
        tracing::error!(target: SPANS, "events are no spans: {SECRET}");
    });
    let outer = samples(&recent, "outer").pop().expect("the outer one");
    let fields: Vec<_> =
        outer.span.fields.values().iter().map(|(name, value)| (*name, value.len())).collect();
    assert_eq!(fields, [("code", 3), ("keys", 1), ("kind", 6), ("node", 128)]);
    let inner = recent.samples("inner", Which::Failed).expect("a name").pop().expect("the inner one");
    assert_eq!((inner.span.trace, inner.span.parent), (outer.span.trace, Some(outer.span.id)));
    assert_eq!(outer.span.parent, None);
    assert!(recent.samples("foreign", Which::Running).is_none());
    assert!(!format!("{recent:?}").contains(SECRET));
}

#[test]
fn what_has_ended_is_passed_on_and_nothing_waits_for_room() {
    let recent = Recent::default();
    let (sender, mut ended) = mpsc::channel(2);
    tracing::subscriber::with_default(watched(&recent, Some(sender)), || {
        for _ in 0..5 {
            tracing::info_span!(target: SPANS, "one").in_scope(|| {});
        }
        assert_eq!(ended.try_recv().expect("the first").0.name, "one");
        assert!(ended.try_recv().is_ok());
        assert!(ended.try_recv().is_err(), "three are lost");
        drop(ended);
        tracing::info_span!(target: SPANS, "one").in_scope(|| {});
    });
    assert_eq!(recent.summaries()[0].latencies.iter().sum::<u64>(), 6, "all are counted");
}
