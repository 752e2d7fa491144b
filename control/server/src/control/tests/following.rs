//! What is said to be in force, with proxies that follow or do not.

use std::net::SocketAddr;

use envoy_types::pb::envoy::config::core::v3::Node;
use envoy_types::pb::envoy::service::discovery::v3::DeltaDiscoveryRequest;
use envoy_types::pb::envoy::service::discovery::v3::aggregated_discovery_service_client::AggregatedDiscoveryServiceClient;
use envoy_types::pb::google::protobuf::{Struct, Value as Field, value::Kind};
use keyward_keys::{Connection, GRACE, SessionEvent};
use keyward_translate::xds::{CLUSTER, LISTENER, ROUTE};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::{ReceiverStream, TcpListenerStream};
use tonic::transport::Server;

use super::*;

const NODE: &str = "edge-1";
const ROLE: &str = "keyward-system~edge";
const TABLE: &str = "team/keys";
/// So long nothing must happen that could at once.
const QUIET: Duration = Duration::from_millis(600);

/// The stream of an Envoy. It ends when this is dropped.
struct Proxy {
    answers: watch::Sender<bool>,
    task: JoinHandle<()>,
}

/// Where Envoys connect.
async fn listen(world: &World) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let service = world.ads.clone().into_server();
    let connections = TcpListenerStream::new(listener);
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(connections));
    address
}

fn gateway() -> Value {
    json!({ "spec": { "bindPort": 8081, "proxyNames": ["edge"], "httpGateway": {} } })
}

/// A site that is told apart by the status that it answers with.
fn answering(status: u16) -> Value {
    let route = json!({ "matchers": [{ "prefix": "/" }], "directResponseAction": { "status": status } });
    json!({ "spec": { "virtualHost": { "domains": ["a.test"], "routes": [route] } } })
}

fn secured() -> Value {
    let mut secured = answering(200);
    secured["spec"]["virtualHost"]["options"] =
        json!({ "extauth": { "configRef": { "name": "keys", "namespace": "team" } } });
    secured
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let waiting = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}

// === impl Proxy ===

impl Proxy {
    /// Connects, and accepts whatever it is told as long as it answers.
    async fn start(address: SocketAddr) -> Self {
        let mut grpc =
            AggregatedDiscoveryServiceClient::connect(format!("http://{address}")).await.expect("it answers");
        let (say, requests) = mpsc::channel(16);
        let role = Field { kind: Some(Kind::StringValue(ROLE.to_owned())) };
        let metadata = Some(Struct { fields: [("role".to_owned(), role)].into() });
        let mut node = Some(Node { id: NODE.to_owned(), metadata, ..Node::default() });
        for (type_url, names) in
            [(CLUSTER, &[][..]), (LISTENER, &[]), (ROUTE, &["listener-::-8081-routes".to_owned()])]
        {
            let request = DeltaDiscoveryRequest {
                node: node.take(),
                type_url: type_url.to_owned(),
                resource_names_subscribe: names.to_vec(),
                ..DeltaDiscoveryRequest::default()
            };
            say.send(request).await.expect("room");
        }
        let stream = grpc.delta_aggregated_resources(ReceiverStream::new(requests)).await;
        let mut hear = stream.expect("a stream").into_inner();
        let (answers, mut may_answer) = watch::channel(true);
        let task = tokio::spawn(async move {
            while let Ok(Some(response)) = hear.message().await {
                if may_answer.wait_for(|may| *may).await.is_err() {
                    return;
                }
                let request = DeltaDiscoveryRequest {
                    type_url: response.type_url,
                    response_nonce: response.nonce,
                    ..DeltaDiscoveryRequest::default()
                };
                if say.send(request).await.is_err() {
                    return;
                }
            }
        });
        Self { answers, task }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

// === impl World ===

impl World {
    /// A worker of the filter that holds nothing.
    fn join(&self, node: &str) -> Connection {
        let subscribed = SessionEvent::Subscribed {
            node: node.to_owned(),
            role: ROLE.to_owned(),
            worker: "w".to_owned(),
            build: "b".to_owned(),
            config_version: 1,
            held: Vec::new(),
        };
        self.workers.change(|workers, now| {
            let connection = workers.connect();
            workers.on_event(connection, &subscribed, now);
            connection
        })
    }

    fn in_force(&self, written: &Written) -> bool {
        let revision = written.revision.expect("a revision").0;
        self.workers.read(|workers, _| workers.routes_revision()) >= revision
    }

    async fn comes_in_force(&self, written: &Written) {
        until("it is in force", || self.in_force(written)).await;
    }

    /// It is told, and not in force.
    async fn waits(&self, written: &Written) {
        tokio::time::sleep(QUIET).await;
        assert!(!self.in_force(written));
    }

    fn wants(&self, table: &str) -> bool {
        self.keys.borrow().wanted(ROLE).is_some_and(|wanted| wanted.contains(table))
    }
}

#[tokio::test]
async fn a_proxy_between_two_streams_is_waited_for_while_its_workers_are_here() {
    let world = World::start().await;
    let address = listen(&world).await;
    // The filter runs in others as well, which are told nothing else.
    world.join("alone");
    world.create("Gateway", "team", "edge", gateway()).await.expect("a Gateway");
    let first = world.create("VirtualService", "team", "site", answering(200)).await.expect("a site");
    world.comes_in_force(&first).await;

    let proxy = Proxy::start(address).await;
    let worker = world.join(NODE);
    until("it is in sync", || world.ads.clients().iter().any(keyward_xds::ClientStatus::in_sync)).await;
    drop(proxy);
    until("it is gone", || world.ads.clients().is_empty()).await;
    let second = world.update("VirtualService", "team", "site", answering(403)).await.expect("an edit");
    world.waits(&second).await;
    let proxy = Proxy::start(address).await;
    world.comes_in_force(&second).await;

    // Who does not come back is not waited for for ever.
    drop(proxy);
    until("it is gone", || world.ads.clients().is_empty()).await;
    world.workers.change(|workers, now| workers.disconnect(worker, now));
    let third = world.update("VirtualService", "team", "site", answering(404)).await.expect("an edit");
    world.waits(&third).await;
    tokio::time::sleep(GRACE).await;
    world.comes_in_force(&third).await;
}

#[tokio::test]
async fn the_proxies_of_a_role_that_is_served_no_more_are_waited_for() {
    let mut world = World::start().await;
    let address = listen(&world).await;
    let auth = json!({ "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "x" } } }] } });
    world.create("AuthConfig", "team", "keys", auth).await.expect("an AuthConfig");
    world.create("Secret", "team", "ann", key_secret("key-one-1")).await.expect("a Secret");
    world.create("VirtualService", "team", "site", secured()).await.expect("a site");
    let first = world.create("Gateway", "team", "edge", gateway()).await.expect("a Gateway");
    let proxy = Proxy::start(address).await;
    let worker = world.join(NODE);
    world.comes_in_force(&first).await;
    assert!(world.wants(TABLE));

    proxy.answers.send_replace(false);
    let gone = world.delete("Gateway", "team", "edge").await.expect("a deletion");
    world.waits(&gone).await;
    // It goes by its old routes, so a revocation has to reach it.
    assert!(world.wants(TABLE));
    let revoked =
        world.delete("Secret", "team", "ann").await.expect("a deletion").revision.expect("a revision");
    world.keys(TABLE, 0).await;
    let confirmed = || {
        let goal = keyward_keys::Goal { revision: revoked.0, policies: false };
        world.workers.read(|workers, now| workers.confirmed(goal, now))
    };
    until("it is published", || confirmed().is_known).await;
    assert_eq!((confirmed().workers, confirmed().confirmed), (1, 0));

    proxy.answers.send_replace(true);
    world.comes_in_force(&gone).await;
    // As long as there are workers they are told, and of what is gone that it is.
    assert!(world.wants(TABLE));
    world.delete("AuthConfig", "team", "keys").await.expect("a deletion");
    until("the table is taken back", || !world.wants(TABLE)).await;
    until("nobody lacks anything", || confirmed().by_all()).await;
    world.workers.change(|workers, now| workers.disconnect(worker, now));
    tokio::time::sleep(GRACE).await;
    world.delete("VirtualService", "team", "site").await.expect("a deletion");
    until("the role is forgotten", || world.keys.borrow().wanted(ROLE).is_none()).await;
}
