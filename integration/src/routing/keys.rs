//! The key stream at its edge, for tests: the server's machine behind as little as carries it. The
//! server's own edge also asks who may have keys, and keeps slow workers waiting.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use keyward_filter_core::wire::{ClientMessage, SERVICE, ServerMessage};
use keyward_keys::{KeyView, Session, Workers};
use tokio::sync::{mpsc, watch};
use tokio_stream::wrappers::ReceiverStream;
use tonic::codegen::{Body, BoxFuture, Service, StdError, http};
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;

/// Messages that may wait in a stream.
const BUFFER: usize = 64;

/// What the workers of all proxies hold.
#[derive(Debug, Clone)]
pub(super) struct Registry {
    workers: Arc<Mutex<Workers>>,
    started: Instant,
}

/// The service.
#[derive(Debug, Clone)]
pub(super) struct KeyStream {
    pub(super) view: watch::Receiver<KeyView>,
    pub(super) registry: Registry,
}

type Sender = mpsc::Sender<Result<ServerMessage, Status>>;

async fn serve(
    mut inbound: Streaming<ClientMessage>,
    outbound: &Sender,
    mut view: watch::Receiver<KeyView>,
    registry: &Registry,
) -> anyhow::Result<()> {
    let mut session = Session::new();
    let connection = registry.with(|workers, _| workers.connect());
    let outcome = async {
        loop {
            let now = view.borrow_and_update().clone();
            while let Some(message) = session.next(&now) {
                registry.with(|workers, _| workers.on_sent(connection, &message));
                outbound.send(Ok(message)).await?;
            }
            tokio::select! {
                message = inbound.message() => {
                    let Some(message) = message? else { return Ok(()) };
                    for event in session.on_message(message)? {
                        registry.with(|workers, now| workers.on_event(connection, &event, now));
                    }
                }
                changed = view.changed() => changed?,
            }
        }
    };
    let outcome = outcome.await;
    registry.with(|workers, now| workers.disconnect(connection, now));
    outcome
}

// === impl Registry ===

impl Registry {
    /// One that nobody has joined.
    pub(super) fn new() -> Self {
        Self { workers: Arc::default(), started: Instant::now() }
    }

    /// Looks at or changes it. Never held across an await.
    pub(super) fn with<T>(&self, action: impl FnOnce(&mut Workers, Duration) -> T) -> T {
        action(&mut self.workers.lock().unwrap_or_else(PoisonError::into_inner), self.started.elapsed())
    }
}

// === impl KeyStream ===

impl NamedService for KeyStream {
    const NAME: &'static str = SERVICE;
}

impl StreamingService<ClientMessage> for KeyStream {
    type Response = ServerMessage;
    type ResponseStream = ReceiverStream<Result<ServerMessage, Status>>;
    type Future = BoxFuture<Response<Self::ResponseStream>, Status>;

    fn call(&mut self, request: Request<Streaming<ClientMessage>>) -> Self::Future {
        let Self { view, registry } = self.clone();
        Box::pin(async move {
            let (sender, receiver) = mpsc::channel(BUFFER);
            tokio::spawn(async move {
                if let Err(error) = serve(request.into_inner(), &sender, view, &registry).await {
                    // The stream may be gone already. A worker without keys is noticed in any case.
                    let _ = sender.try_send(Err(Status::aborted(error.to_string())));
                }
            });
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
            let codec = ProstCodec::<ServerMessage, ClientMessage>::default();
            Ok(Grpc::new(codec).streaming(service, request).await)
        })
    }
}
