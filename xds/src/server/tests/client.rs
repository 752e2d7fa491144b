//! A server on loopback, and clients of both protocols that accept what they get.

use crate::{
    server::AdsService,
    testing::{Told, strings, url, version},
};
use envoy_types::pb::{
    envoy::{
        config::core::v3::Node,
        service::discovery::v3::{
            DeltaDiscoveryRequest, DeltaDiscoveryResponse, DiscoveryRequest, DiscoveryResponse,
            aggregated_discovery_service_client::AggregatedDiscoveryServiceClient,
        },
    },
    google::{
        protobuf::{Struct, Value, value::Kind},
        rpc,
    },
};
use std::{collections::BTreeMap, future::Future, net::SocketAddr, time::Duration};
use tokio::{
    net::TcpListener,
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::{
    Status, Streaming,
    transport::{Channel, Endpoint, Server as TonicServer},
};

/// The longest that anything may take.
pub(super) const WAIT: Duration = Duration::from_secs(20);

pub(super) struct Server {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), tonic::transport::Error>>,
    service: AdsService,
}

/// A client that repeats what the tests need of either protocol.
pub(super) trait Client: Sized {
    /// Connects; nothing is said until the first subscription.
    fn open(server: &Server, id: &str, role: &str) -> impl Future<Output = Self>;
    /// Adds names to the subscription; no names at first means everything.
    fn subscribe(&mut self, short: &str, names: &[&str]) -> impl Future<Output = ()>;
    /// Takes names from the subscription.
    fn unsubscribe(&mut self, short: &str, names: &[&str]) -> impl Future<Output = ()>;
    /// Waits for the next response, accepts it, and tells what it said.
    fn receive(&mut self) -> impl Future<Output = String>;
}

pub(super) struct DeltaClient {
    node: Option<Node>,
    requests: mpsc::Sender<DeltaDiscoveryRequest>,
    responses: Streaming<DeltaDiscoveryResponse>,
}

pub(super) struct SotwClient {
    node: Option<Node>,
    requests: mpsc::Sender<DiscoveryRequest>,
    responses: Streaming<DiscoveryResponse>,
    /// The next request of each type.
    next: BTreeMap<String, DiscoveryRequest>,
}

fn node(id: &str, role: &str) -> Node {
    let role = Value { kind: Some(Kind::StringValue(role.to_owned())) };
    Node {
        id: id.to_owned(),
        metadata: Some(Struct { fields: [("role".to_owned(), role)].into() }),
        ..Node::default()
    }
}

fn tell(response: &impl Told) -> String {
    format!("{}: {}", response.short(), response.told()).trim_end().to_owned()
}

// === impl Server ===

impl Server {
    pub(super) async fn start(service: &AdsService) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (stop, stopped) = oneshot::channel::<()>();
        let router = TonicServer::builder().add_service(service.clone().into_server());
        let task =
            tokio::spawn(router.serve_with_incoming_shutdown(TcpListenerStream::new(listener), async {
                let _ = stopped.await;
            }));
        Self { address, stop, task, service: service.clone() }
    }

    pub(super) async fn channel(&self) -> Channel {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address)).expect("an address");
        timeout(WAIT, endpoint.connect()).await.expect("in time").expect("a connection")
    }

    /// Shuts down gracefully, which takes all streams to end.
    pub(super) async fn stop(self) {
        self.service.shared.cache.close();
        let _ = self.stop.send(());
        timeout(WAIT, self.task).await.expect("a shutdown in time").expect("no panic").expect("no error");
    }
}

// === impl DeltaClient ===

impl DeltaClient {
    async fn send(&mut self, mut request: DeltaDiscoveryRequest) {
        request.node = self.node.take();
        self.requests.send(request).await.expect("an open stream");
    }

    async fn next(&mut self) -> DeltaDiscoveryResponse {
        let message = timeout(WAIT, self.responses.message()).await.expect("a response in time");
        message.expect("no error").expect("a response")
    }

    /// Subscribes as a client does that comes back with `held`, given as `name=content`.
    pub(super) async fn resume(&mut self, short: &str, names: &[&str], held: &[&str]) {
        let held = held.iter().map(|pair| pair.split_once('=').expect("name=content"));
        self.send(DeltaDiscoveryRequest {
            type_url: url(short).to_owned(),
            resource_names_subscribe: strings(names),
            initial_resource_versions: held.map(|(name, c)| (name.to_owned(), version(name, c))).collect(),
            ..DeltaDiscoveryRequest::default()
        })
        .await;
    }

    /// Waits for the next response, refuses it, and tells what it said.
    pub(super) async fn refuse(&mut self, message: &str) -> String {
        let response = self.next().await;
        let told = tell(&response);
        self.send(DeltaDiscoveryRequest {
            type_url: response.type_url,
            response_nonce: response.nonce,
            error_detail: Some(rpc::Status { code: 13, message: message.to_owned(), details: Vec::new() }),
            ..DeltaDiscoveryRequest::default()
        })
        .await;
        told
    }

    /// Waits for the end of the stream.
    pub(super) async fn end(&mut self) -> Result<(), Status> {
        let message = timeout(WAIT, self.responses.message()).await.expect("an end in time")?;
        assert_eq!(message, None);
        Ok(())
    }
}

impl Client for DeltaClient {
    async fn open(server: &Server, id: &str, role: &str) -> Self {
        let (requests, outgoing) = mpsc::channel(16);
        let mut grpc = AggregatedDiscoveryServiceClient::new(server.channel().await);
        let call = grpc.delta_aggregated_resources(ReceiverStream::new(outgoing));
        let responses = timeout(WAIT, call).await.expect("in time").expect("a stream").into_inner();
        Self { node: Some(node(id, role)), requests, responses }
    }

    async fn subscribe(&mut self, short: &str, names: &[&str]) {
        self.resume(short, names, &[]).await;
    }

    async fn unsubscribe(&mut self, short: &str, names: &[&str]) {
        self.send(DeltaDiscoveryRequest {
            type_url: url(short).to_owned(),
            resource_names_unsubscribe: strings(names),
            ..DeltaDiscoveryRequest::default()
        })
        .await;
    }

    async fn receive(&mut self) -> String {
        let response = self.next().await;
        let told = tell(&response);
        self.send(DeltaDiscoveryRequest {
            type_url: response.type_url,
            response_nonce: response.nonce,
            ..DeltaDiscoveryRequest::default()
        })
        .await;
        told
    }
}

// === impl SotwClient ===

impl SotwClient {
    /// Waits for the end of the stream.
    pub(super) async fn end(&mut self) -> Result<(), Status> {
        let message = timeout(WAIT, self.responses.message()).await.expect("an end in time")?;
        assert_eq!(message, None);
        Ok(())
    }

    async fn send(&mut self, type_url: &str) {
        let mut request = self.next.get(type_url).cloned().unwrap_or_default();
        request.node = self.node.take();
        self.requests.send(request).await.expect("an open stream");
    }

    fn of(&mut self, type_url: &str) -> &mut DiscoveryRequest {
        self.next
            .entry(type_url.to_owned())
            .or_insert_with(|| DiscoveryRequest { type_url: type_url.to_owned(), ..Default::default() })
    }
}

impl Client for SotwClient {
    async fn open(server: &Server, id: &str, role: &str) -> Self {
        let (requests, outgoing) = mpsc::channel(16);
        let mut grpc = AggregatedDiscoveryServiceClient::new(server.channel().await);
        let call = grpc.stream_aggregated_resources(ReceiverStream::new(outgoing));
        let responses = timeout(WAIT, call).await.expect("in time").expect("a stream").into_inner();
        Self { node: Some(node(id, role)), requests, responses, next: BTreeMap::new() }
    }

    async fn subscribe(&mut self, short: &str, names: &[&str]) {
        self.of(url(short)).resource_names.extend(strings(names));
        self.send(url(short)).await;
    }

    async fn unsubscribe(&mut self, short: &str, names: &[&str]) {
        self.of(url(short)).resource_names.retain(|name| !names.contains(&name.as_str()));
        self.send(url(short)).await;
    }

    async fn receive(&mut self) -> String {
        let message = timeout(WAIT, self.responses.message()).await.expect("a response in time");
        let response = message.expect("no error").expect("a response");
        let told = tell(&response);
        let next = self.of(&response.type_url);
        next.version_info = response.version_info;
        next.response_nonce = response.nonce;
        self.send(&response.type_url).await;
        told
    }
}
