//! The edge: both protocols as a tonic service.

mod machine;
mod stream;
#[cfg(test)]
mod tests;

use self::stream::Connection;
use crate::{
    cache::Cache,
    delta,
    event::Event,
    options::Options,
    registry::Registry,
    snapshot::Snapshot,
    sotw,
    status::{ClientId, ClientStatus},
};
use envoy_types::pb::envoy::{
    config::core::v3::Node,
    service::discovery::v3::{
        DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
        aggregated_discovery_service_server::{AggregatedDiscoveryService, AggregatedDiscoveryServiceServer},
    },
};
use futures::stream::BoxStream;
use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio::sync::mpsc;
use tonic::{Extensions, Request, Response, Status, Streaming};

/// The aggregated discovery service over a [`Cache`].
///
/// Clones share everything, so keep one to ask for [`AdsService::clients`]. No task is spawned: a
/// stream lives in the connection that carries it and ends with it. A dead connection is noticed
/// by HTTP/2 keepalive only, which the caller switches on at the tonic server.
#[derive(Clone, Debug)]
pub struct AdsService {
    shared: Arc<Shared>,
}

/// Builds an [`AdsService`].
pub struct AdsServiceBuilder {
    cache: Cache,
    node_key: NodeKey,
    admission: Option<Admission>,
    options: Options,
    sink: Option<Box<dyn EventSink>>,
    clock: Option<Clock>,
    resume_grace: Duration,
    patience: Duration,
    max_memories: usize,
}

/// An event and where it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEvent {
    /// Who the client is.
    pub client: ClientId,
    /// The stream's number.
    pub stream: u64,
    /// What happened.
    pub event: Event,
}

/// Takes events as they happen, on the task of the stream: it must not block.
///
/// Any `Fn(StreamEvent)` is one. So is the sender of a bounded tokio channel; when the channel is
/// full, events are dropped with a warning rather than streams held up, and
/// [`AdsService::clients`] remains the truth about what is accepted and refused.
pub trait EventSink: Send + Sync + 'static {
    /// Takes one event.
    fn on_event(&self, event: StreamEvent);
}

type NodeKey = Box<dyn Fn(&Node) -> String + Send + Sync>;
type Admission = Box<dyn Fn(&Node, &Extensions) -> Result<(), Status> + Send + Sync>;
type Clock = Box<dyn Fn() -> SystemTime + Send + Sync>;

pub(crate) struct Shared {
    cache: Cache,
    node_key: NodeKey,
    admission: Option<Admission>,
    options: Arc<Options>,
    sink: Option<Box<dyn EventSink>>,
    clock: Option<Clock>,
    resume_grace: Duration,
    patience: Duration,
    registry: Registry,
}

/// The largest request that is read. A client that reconnects lists all that it holds: at some 100
/// bytes a resource, this is room for half a million.
const MAX_REQUEST: usize = 64 << 20;

/// How long a client that comes with state may take to repeat its subscriptions.
const RESUME_GRACE: Duration = Duration::from_secs(2);

/// How long a response may be unanswered before others stop to wait for it.
const PATIENCE: Duration = Duration::from_secs(5);

/// Of how many clients something is remembered after they have gone.
const MAX_MEMORIES: usize = 4096;

// === impl AdsService ===

impl AdsService {
    /// A service with default options. `node_key` says which snapshot a node gets.
    pub fn new(cache: Cache, node_key: impl Fn(&Node) -> String + Send + Sync + 'static) -> Self {
        Self::builder(cache, node_key).build()
    }

    /// Starts a service with choices.
    pub fn builder(
        cache: Cache,
        node_key: impl Fn(&Node) -> String + Send + Sync + 'static,
    ) -> AdsServiceBuilder {
        AdsServiceBuilder {
            cache,
            node_key: Box::new(node_key),
            admission: None,
            options: Options::default(),
            sink: None,
            clock: None,
            resume_grace: RESUME_GRACE,
            patience: PATIENCE,
            max_memories: MAX_MEMORIES,
        }
    }

    /// The service for a tonic router, ready to read large requests.
    pub fn into_server(self) -> AggregatedDiscoveryServiceServer<Self> {
        AggregatedDiscoveryServiceServer::new(self).max_decoding_message_size(MAX_REQUEST)
    }

    /// All connected clients, by age of their streams.
    pub fn clients(&self) -> Vec<ClientStatus> {
        let published = self.shared.cache.state();
        let mut clients = self.shared.registry.statuses();
        for client in &mut clients {
            // A stream is told of a new snapshot a moment after it was published.
            let (snapshot, source) = published.lookup(&client.client.node_key);
            client.behind = client.snapshot.as_deref() != snapshot.as_ref().map(Snapshot::version)
                || client.source != source;
        }
        clients
    }

    /// Whether a client has a stream, or had one: of those that have gone as many are known as
    /// [`AdsServiceBuilder::max_memories`] says. One without a node id never is.
    pub fn knows(&self, client: &ClientId) -> bool {
        self.shared.registry.knows(client)
    }

    /// Offers everything again that clients of `node_id` refused, for when the reason lay in their
    /// surroundings. Tells how many clients that concerns.
    pub fn retry_rejected(&self, node_id: &str) -> usize {
        let count = self.shared.registry.forget_rejections(|client| &*client.node_id == node_id);
        self.shared.cache.touch();
        count
    }

    /// Offers one resource again to clients of `node_id`, if they refused it. Tells how many had.
    pub fn retry_resource(&self, node_id: &str, type_url: &str, name: &str) -> usize {
        let of_node = |client: &ClientId| &*client.node_id == node_id;
        let count = self.shared.registry.forget_rejection(of_node, type_url, name);
        self.shared.cache.touch();
        count
    }
}

#[tonic::async_trait]
impl AggregatedDiscoveryService for AdsService {
    type StreamAggregatedResourcesStream = BoxStream<'static, Result<DiscoveryResponse, Status>>;
    type DeltaAggregatedResourcesStream = BoxStream<'static, Result<DeltaDiscoveryResponse, Status>>;

    async fn stream_aggregated_resources(
        &self,
        request: Request<Streaming<DiscoveryRequest>>,
    ) -> Result<Response<Self::StreamAggregatedResourcesStream>, Status> {
        let connection = Connection::<sotw::Session>::new(self.shared.clone(), request);
        Ok(Response::new(connection.into_stream()))
    }

    async fn delta_aggregated_resources(
        &self,
        request: Request<Streaming<DeltaDiscoveryRequest>>,
    ) -> Result<Response<Self::DeltaAggregatedResourcesStream>, Status> {
        let connection = Connection::<delta::Session>::new(self.shared.clone(), request);
        Ok(Response::new(connection.into_stream()))
    }
}

// === impl AdsServiceBuilder ===

impl AdsServiceBuilder {
    /// Sets who may have a stream: asked once for each, when the client has said who it is, with
    /// what the transport knows of it (the listener's connect info is among the extensions). An
    /// error ends the stream before anything is sent. Without this everybody may.
    #[must_use]
    pub fn admission(
        mut self,
        admission: impl Fn(&Node, &Extensions) -> Result<(), Status> + Send + Sync + 'static,
    ) -> Self {
        self.admission = Some(Box::new(admission));
        self
    }

    /// Sets the choices and limits of each stream.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Sets who is told what happens.
    #[must_use]
    pub fn events(mut self, sink: impl EventSink) -> Self {
        self.sink = Some(Box::new(sink));
        self
    }

    /// Sets the clock for [`ClientStatus::since`].
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> SystemTime + Send + Sync + 'static) -> Self {
        self.clock = Some(Box::new(clock));
        self
    }

    /// Sets how long clusters, endpoints and filters that no longer exist are left with a client
    /// that comes back, while it repeats its subscriptions; unless it has repeated all of them it counts as
    /// [`ClientStatus::resuming`] until then. Default two seconds.
    #[must_use]
    pub fn resume_grace(mut self, grace: Duration) -> Self {
        self.resume_grace = grace;
        self
    }

    /// Sets after what time, at the least, an unanswered response no longer holds up others. Default
    /// five seconds. It is noticed within twice the time.
    ///
    /// # Panics
    ///
    /// When it is zero.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        assert!(!patience.is_zero(), "patience must not be zero");
        self.patience = patience;
        self
    }

    /// Sets of how many clients it is remembered after they have gone that they were there, and what they refused.
    /// Default 4,096.
    #[must_use]
    pub fn max_memories(mut self, count: usize) -> Self {
        self.max_memories = count;
        self
    }

    /// Makes the service.
    pub fn build(self) -> AdsService {
        AdsService {
            shared: Arc::new(Shared {
                cache: self.cache,
                node_key: self.node_key,
                admission: self.admission,
                options: Arc::new(self.options),
                sink: self.sink,
                clock: self.clock,
                resume_grace: self.resume_grace,
                patience: self.patience,
                registry: Registry::new(self.max_memories),
            }),
        }
    }
}

impl fmt::Debug for AdsServiceBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AdsServiceBuilder").field("options", &self.options).finish_non_exhaustive()
    }
}

// === impl Shared ===

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("options", &self.options).finish_non_exhaustive()
    }
}

// === impl EventSink ===

impl<F: Fn(StreamEvent) + Send + Sync + 'static> EventSink for F {
    fn on_event(&self, event: StreamEvent) {
        self(event);
    }
}

impl EventSink for mpsc::Sender<StreamEvent> {
    fn on_event(&self, event: StreamEvent) {
        if let Err(mpsc::error::TrySendError::Full(event)) = self.try_send(event) {
            tracing::warn!(node = %event.client.node_id, stream = event.stream, "xds event dropped: channel is full");
        }
    }
}
