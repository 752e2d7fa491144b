//! The key stream at its edge: `keyward.keys.v1.KeyDistribution/Stream`.
//!
//! One task a stream moves messages between tonic and a [`Session`]. What is to be sent next is
//! pulled from the session only when the stream has room, so a slow worker holds nothing but its
//! place in the table: some messages that are under way, and the state that its snapshot is of. What
//! changes meanwhile comes to it as one difference. One that takes nothing at all is dropped, with
//! that state; when it can read again it comes back.

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use keyward_filter_core::wire::{ClientMessage, METHOD, SERVICE, ServerMessage, server_message};
use keyward_keys::{KeyView, Session, SessionEvent, Workers};
use keyward_store::WorkerName;
use keyward_trace::SPANS;
use keyward_xds::printable;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::{Body, BoxFuture, Service, StdError, http};
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::{Extensions, Request, Response, Status, Streaming};

use tonic_prost::ProstCodec;
use tracing::field::Empty;

use super::admission::Admission;
use crate::metrics::Metrics;
use crate::published::Published;
use crate::spans::Pushes;
use crate::usage::Usage;
use crate::workers::WorkersHandle;

#[cfg(test)]
mod tests;

/// Messages that may wait in a stream; a chunk has about 16 KiB.
const STREAM_BUFFER: usize = 4;
/// A worker that comes back names every table that it holds.
const MAX_CLIENT_MESSAGE: usize = 64 * 1024 * 1024;
/// How long a worker may take nothing of what it is sent.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// So much of what a worker says stands in the log.
const MAX_WORDS: usize = 256;
/// How long a worker may take to subscribe.
const SUBSCRIBE_WITHIN: Duration = Duration::from_secs(10);

/// The tonic service.
#[derive(Debug, Clone)]
pub(crate) struct KeyStream {
    view: watch::Receiver<KeyView>,
    workers: WorkersHandle,
    admission: Admission,
    stalled_after: Duration,
    reports: Option<Reports>,
    metrics: Metrics,
}

/// Where reports of uses go.
#[derive(Debug, Clone)]
struct Reports {
    usage: Usage,
    published: watch::Receiver<Arc<Published>>,
}

/// Reports of uses on one stream.
#[derive(Debug)]
struct Reporting {
    reports: Reports,
    changes: watch::Receiver<()>,
    worker: Option<WorkerName>,
    /// The last report that the worker knows to be stored; none until it was told to send any.
    told: Option<u64>,
}

/// Serves one stream until either side ends it.
async fn serve(
    request: Request<Streaming<ClientMessage>>,
    outbound: mpsc::Sender<Result<ServerMessage, Status>>,
    KeyStream { mut view, workers, admission, stalled_after, reports, metrics }: KeyStream,
) {
    let mut reporting = reports.map(Reporting::new);
    let (_, transport, mut inbound) = request.into_parts();
    let mut session = Session::new();
    let connection = workers.change(|workers, _| workers.connect());
    let subscribe_by = Instant::now() + SUBSCRIBE_WITHIN;
    // The first thing that a worker says is what it holds.
    let mut subscribed = None;
    let mut taken_at = Instant::now();
    let mut was_full = false;
    let mut pushes = Pushes::default();
    loop {
        if let Some(stored) = reporting.as_mut().and_then(Reporting::stored) {
            session.on_stored(stored);
        }
        let full = match fill(&mut session, &outbound, &view.borrow_and_update(), &mut |message| {
            note_push(&mut pushes, message);
            // Nobody has to be woken for the chunks of a snapshot.
            if matches!(message.kind, Some(server_message::Kind::Drop(_))) {
                workers.change(|workers, _| workers.on_sent(connection, message));
            }
        }) {
            Ok(()) => false,
            Err(TrySendError::Full(())) => true,
            Err(TrySendError::Closed(())) => break,
        };
        if full && !was_full {
            taken_at = Instant::now();
        }
        was_full = full;
        tokio::select! {
            message = inbound.message() => {
                let message = match message {
                    Ok(Some(message)) => message,
                    Ok(None) => break,
                    Err(status) => {
                        tracing::debug!(code = ?status.code(), "key stream ended: {}", shown(status.message()));
                        break;
                    }
                };
                let events = session.on_message(message);
                let events = events.map_err(|error| Status::invalid_argument(error.to_string()));
                match events.and_then(|events| admitted(admission, &transport, events)) {
                    Ok(events) => {
                        for event in events {
                            log(&event);
                            note_answer(&mut pushes, &event);
                            if let Some(reporting) = &mut reporting {
                                reporting.on_event(&event);
                            }
                            workers.change(|workers, now| {
                                if let Some(took) = took(&event, subscribed, workers, now) {
                                    metrics.acknowledged(took);
                                }
                                workers.on_event(connection, &event, now);
                                subscribed = subscribed.or(Some(now));
                            });
                        }
                    }
                    Err(status) => {
                        tracing::warn!("key stream refused: {}", shown(status.message()));
                        // The stream may be full or gone: it ends either way.
                        let _ = outbound.try_send(Err(status));
                        break;
                    }
                }
            }
            // The room itself is taken by `fill`.
            room = outbound.reserve(), if full => {
                if room.is_err() {
                    break;
                }
                taken_at = Instant::now();
            }
            () = sleep_until(taken_at + stalled_after), if full => {
                tracing::warn!(role = session.role(), "a worker takes none of its keys, its stream is closed");
                break;
            }
            changed = view.changed() => if changed.is_err() { break },
            () = Reporting::news(&mut reporting) => {}
            () = outbound.closed() => break,
            () = sleep_until(subscribe_by), if session.role().is_none() => break,
        }
    }
    workers.change(|workers, now| workers.disconnect(connection, now));
}

/// A snapshot or a change is a span from its first message to its answer.
fn note_push(pushes: &mut Pushes<String>, message: &ServerMessage) {
    let (table, what) = match &message.kind {
        Some(server_message::Kind::Begin(begin)) => (&begin.table, "snapshot"),
        Some(server_message::Kind::Delta(delta)) => (&delta.table, "change"),
        _ => return,
    };
    pushes.sent(table.clone(), || {
        tracing::info_span!(target: SPANS, parent: None, "keys.push", table, r#type = what, failed = Empty)
    });
}

fn note_answer(pushes: &mut Pushes<String>, event: &SessionEvent) {
    match event {
        SessionEvent::Acked { table, .. } | SessionEvent::TookAway { table, .. } => {
            pushes.answered(table, false);
        }
        SessionEvent::Nacked { table, .. } => pushes.answered(table, true),
        _ => {}
    }
}

/// How long after their publication a worker has keys, if it has followed the tables since then: what it is
/// sent to begin with is no measure of how fast keys arrive.
fn took(
    event: &SessionEvent,
    subscribed: Option<Duration>,
    workers: &Workers,
    now: Duration,
) -> Option<Duration> {
    let SessionEvent::Acked { version, .. } = event else { return None };
    let published =
        workers.published_at(version.revision).filter(|at| subscribed.is_some_and(|since| since <= *at))?;
    now.checked_sub(published)
}

/// The same events, if the one who subscribes may. Nothing is sent before that.
fn admitted(
    admission: Admission,
    transport: &Extensions,
    events: Vec<SessionEvent>,
) -> Result<Vec<SessionEvent>, Status> {
    for event in &events {
        if let SessionEvent::Subscribed { role, .. } = event {
            admission.admit(role, transport)?;
        }
    }
    Ok(events)
}

/// Sends what the session has to say, as far as there is room.
fn fill(
    session: &mut Session,
    outbound: &mpsc::Sender<Result<ServerMessage, Status>>,
    view: &KeyView,
    on_sent: &mut dyn FnMut(&ServerMessage),
) -> Result<(), TrySendError<()>> {
    loop {
        let room = outbound.try_reserve()?;
        match session.next(view) {
            Some(message) => {
                on_sent(&message);
                room.send(Ok(message));
            }
            None => return Ok(()),
        }
    }
}

/// Words of a worker in the log: whoever connects may say anything.
fn shown(text: &str) -> String {
    printable(text, MAX_WORDS)
}

fn log(event: &SessionEvent) {
    match event {
        SessionEvent::Subscribed { node, role, worker, build, .. } => {
            let [node, role, worker, build] = [node, role, worker, build].map(|text| shown(text));
            tracing::info!(%node, %role, %worker, %build, "key stream subscribed");
        }
        SessionEvent::Nacked { table, reason, .. } => {
            tracing::warn!(table = %shown(table), reason = %shown(reason), "a worker refused keys");
        }
        SessionEvent::Acked { .. }
        | SessionEvent::TookAway { .. }
        | SessionEvent::ConfigApplied { .. }
        | SessionEvent::Used { .. } => {}
    }
}

// === impl KeyStream ===

impl KeyStream {
    /// A service that sends what `view` says to whom it admits, and notes in `workers` what is held.
    #[must_use]
    pub(crate) fn new(view: watch::Receiver<KeyView>, workers: WorkersHandle, admission: Admission) -> Self {
        Self {
            view,
            workers,
            admission,
            stalled_after: STALLED_AFTER,
            reports: None,
            metrics: Metrics::default(),
        }
    }

    /// The same, which takes reports of uses as well.
    #[must_use]
    pub(crate) fn reporting_to(self, usage: Usage, published: watch::Receiver<Arc<Published>>) -> Self {
        Self { reports: Some(Reports { usage, published }), ..self }
    }

    /// The same, which measures how long keys take.
    #[must_use]
    pub(crate) fn measured_by(self, metrics: Metrics) -> Self {
        Self { metrics, ..self }
    }
}

// === impl Reporting ===

impl Reporting {
    fn new(reports: Reports) -> Self {
        let changes = reports.usage.changes();
        Self { reports, changes, worker: None, told: None }
    }

    fn on_event(&mut self, event: &SessionEvent) {
        match (event, &self.worker) {
            (SessionEvent::Subscribed { node, role, worker, .. }, _) => {
                let (node, role, worker) = (node.clone(), role.clone(), worker.clone());
                self.worker = Some(WorkerName { node, role, worker });
            }
            // Whoever reports unasked does so before it is known whose the keys are.
            (SessionEvent::Used { seq, tables }, Some(worker)) if self.told.is_some() => {
                let published = self.reports.published.borrow().clone();
                let index = published.index.read().unwrap_or_else(PoisonError::into_inner);
                self.reports.usage.take(worker, *seq, tables, &index);
            }
            _ => {}
        }
    }

    /// What the worker is to be told, if that is news: up to which report all are stored. For the first time
    /// that is when it is known whose the keys are.
    fn stored(&mut self) -> Option<u64> {
        let worker = self.worker.as_ref()?;
        self.reports.published.borrow_and_update().revision?;
        self.changes.mark_unchanged();
        let stored = self.reports.usage.stored(worker);
        let is_news = self.told.is_none_or(|told| told < stored);
        self.told = Some(stored);
        is_news.then_some(stored)
    }

    /// Waits until there may be news.
    async fn news(reporting: &mut Option<Self>) {
        let Some(Self { reports, changes, worker, told }) = reporting else { return pending().await };
        // Where the sender is gone the server ends.
        match (worker, told) {
            (None, _) => pending().await,
            (Some(_), None) => or_never(reports.published.changed()).await,
            (Some(_), Some(_)) => or_never(changes.changed()).await,
        }
    }
}

async fn or_never(changed: impl Future<Output = Result<(), watch::error::RecvError>>) {
    if changed.await.is_err() {
        pending().await
    }
}

impl NamedService for KeyStream {
    const NAME: &'static str = SERVICE;
}

impl StreamingService<ClientMessage> for KeyStream {
    type Response = ServerMessage;
    type ResponseStream = ReceiverStream<Result<ServerMessage, Status>>;
    type Future = BoxFuture<Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: Request<Streaming<ClientMessage>>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (sender, receiver) = mpsc::channel(STREAM_BUFFER);
            tokio::spawn(serve(request, sender, service));
            Ok(Response::new(ReceiverStream::new(receiver)))
        })
    }
}

impl<B> Service<http::Request<B>> for KeyStream
where
    B: Body + Send + 'static,
    B::Error: Into<StdError> + Send + 'static,
{
    type Response = http::Response<tonic::body::Body>;
    type Error = Infallible;
    type Future = BoxFuture<Self::Response, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            if request.uri().path() != format!("/{SERVICE}/{METHOD}") {
                return Ok(Status::unimplemented("this service has one method: Stream").into_http());
            }
            let codec = ProstCodec::<ServerMessage, ClientMessage>::default();
            let mut grpc = Grpc::new(codec).max_decoding_message_size(MAX_CLIENT_MESSAGE);
            Ok(grpc.streaming(service, request).await)
        })
    }
}
