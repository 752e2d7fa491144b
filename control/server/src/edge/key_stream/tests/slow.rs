//! Workers that do not read, and those beside them that do.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use keyward_filter_core::replica::{Effect, Replica, Subscriber};
use keyward_filter_core::wire::{Version, client_message};
use keyward_keys::{Change, KeyIndex};
use keyward_resource::kinds::Resource;
use keyward_resource::{decode, kind};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::transport::{Channel, Server};
use tonic_prost::prost::Message as _;

use super::super::*;

/// The longest that anything may take.
const WAIT: Duration = Duration::from_secs(60);
const ROLE: &str = "keyward-system~gateway-proxy";
const TABLE: &str = "team/keys";
const WINDOW: u32 = 65_535;

/// Keys, and how they change.
struct Keys {
    index: KeyIndex,
    revision: u64,
}

/// The real other end of a stream.
struct Worker {
    replica: Replica,
    say: mpsc::Sender<ClientMessage>,
    hear: Streaming<ServerMessage>,
}

fn subscribe(name: &str, replica: &Replica) -> ClientMessage {
    let who = Subscriber {
        node_id: "node".to_owned(),
        role: ROLE.to_owned(),
        worker: name.to_owned(),
        filter_build: "b".to_owned(),
        config_version: 1,
    };
    ClientMessage { kind: Some(client_message::Kind::Subscribe(replica.subscribe(who))) }
}

fn secret(name: &str, key: &str) -> Change {
    let object = json!({
        "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": name, "labels": { "team": "a" } },
        "data": { "api-key": BASE64_STANDARD.encode(key) },
    });
    match decode(kind::by_name("Secret").expect("a kind"), &object) {
        Ok(Resource::ApiKeySecret(secret)) => Change::PutSecret(secret),
        other => panic!("an API key: {other:?}"),
    }
}

/// A port whose streams may stall for so long.
async fn open(view: watch::Receiver<KeyView>, workers: WorkersHandle, stalled_after: Duration) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = KeyStream { stalled_after, ..KeyStream::new(view, workers, Admission::Anybody) };
    let connections = TcpListenerStream::new(listener);
    tokio::spawn(Server::builder().add_service(service).serve_with_incoming(connections));
    address
}

// === impl Keys ===

impl Keys {
    fn new(count: usize) -> Self {
        let object = json!({
            "metadata": { "namespace": "team", "name": "keys" },
            "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "a" } } }] },
        });
        let Ok(Resource::AuthConfig(config)) = decode(kind::by_name("AuthConfig").expect("a kind"), &object)
        else {
            panic!("an AuthConfig")
        };
        let mut index = KeyIndex::new();
        let secrets = (0..count).map(|number| secret(&format!("n{number}"), &format!("key-number-{number}")));
        index.apply(1, [Change::PutAuthConfig(config)].into_iter().chain(secrets));
        Self { index, revision: 1 }
    }

    /// Gives one holder another key.
    fn change(&mut self) -> KeyView {
        self.revision += 1;
        let name = format!("n{}", self.revision % 500);
        self.index.apply(self.revision, [secret(&name, &format!("later-key-{}", self.revision))]);
        self.view()
    }

    fn view(&self) -> KeyView {
        self.index.view(BTreeMap::from([(ROLE.to_owned(), [TABLE.to_owned()].into())]))
    }

    fn version(&self) -> Version {
        self.view().table(TABLE).expect("the table").version()
    }
}

// === impl Worker ===

impl Worker {
    /// Subscribes, on a connection of its own.
    async fn join(address: SocketAddr, name: &str) -> Self {
        // Nothing is taken beyond what is read, or nearly so.
        let endpoint = Channel::from_shared(format!("http://{address}")).unwrap();
        let endpoint = endpoint.initial_stream_window_size(WINDOW).initial_connection_window_size(WINDOW);
        let channel = endpoint.connect().await.unwrap();
        let (say, messages) = mpsc::channel(8);
        let replica = Replica::new();
        say.send(subscribe(name, &replica)).await.unwrap();
        let mut client = tonic::client::Grpc::new(channel).max_decoding_message_size(usize::MAX);
        client.ready().await.unwrap();
        let codec = ProstCodec::<ClientMessage, ServerMessage>::default();
        let path = format!("/{SERVICE}/{METHOD}").parse().unwrap();
        let call = client.streaming(Request::new(ReceiverStream::new(messages)), path, codec);
        let hear = timeout(WAIT, call).await.expect("in time").expect("a stream").into_inner();
        Self { replica, say, hear }
    }

    /// Takes messages until it holds a version; how many they were.
    async fn take_until(&mut self, version: Version) -> usize {
        let mut taken = 0;
        while self.replica.version(TABLE) != Some(version) {
            let message = timeout(WAIT, self.hear.message()).await.expect("a message in time");
            let message = message.expect("a stream").expect("it goes on");
            taken += 1;
            let kind = match self.replica.on_message(&message.encode_to_vec()).expect("a message") {
                Effect::Changed { ack, .. } => client_message::Kind::Ack(ack),
                Effect::Refused { nack, .. } => panic!("refused: {}", nack.reason),
                Effect::None | Effect::Dropped | Effect::Reported { .. } => continue,
            };
            self.say.send(ClientMessage { kind: Some(kind) }).await.expect("the stream goes on");
        }
        taken
    }
}

#[test]
fn whatever_changes_no_more_than_some_messages_wait_for_a_worker_that_does_not_read() {
    let mut keys = Keys::new(30_000);
    let mut session = Session::new();
    let mut replica = Replica::new();
    session.on_message(subscribe("slow", &replica)).unwrap();
    let (outbound, mut messages) = mpsc::channel(STREAM_BUFFER);
    let mut sent = 0;
    let mut publish = |session: &mut Session, view: &KeyView| {
        let full = fill(session, &outbound, view, &mut |_| sent += 1);
        (matches!(full, Err(TrySendError::Full(()))), sent)
    };
    let view = keys.view();
    assert_eq!(publish(&mut session, &view), (true, STREAM_BUFFER), "the snapshot is longer than that");
    for _ in 0..100_000 {
        let view = keys.change();
        assert_eq!(publish(&mut session, &view), (true, STREAM_BUFFER));
    }
    // Then it reads, and all that has changed is one difference, or some when it is a long one.
    let view = keys.view();
    let mut differences = 0;
    while let Ok(Ok(message)) = messages.try_recv() {
        differences += usize::from(matches!(message.kind, Some(server_message::Kind::Delta(_))));
        if let Effect::Changed { ack, .. } = replica.on_message(&message.encode_to_vec()).unwrap() {
            session.on_message(ClientMessage { kind: Some(client_message::Kind::Ack(ack)) }).unwrap();
        }
        publish(&mut session, &view);
    }
    assert_eq!(replica.version(TABLE), Some(keys.version()));
    assert!(differences <= 2, "{differences} for 100,000 changes of 500 keys");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_does_not_read_delays_nobody_and_catches_up() {
    let mut keys = Keys::new(30_000);
    let (publish, view) = watch::channel(keys.view());
    let workers = WorkersHandle::new();
    let address = open(view, workers.clone(), WAIT).await;
    let mut slow = Worker::join(address, "slow").await;
    let mut quick = Worker::join(address, "quick").await;
    quick.take_until(keys.version()).await;
    let followed = tokio::spawn({
        let mut ahead = Keys { index: KeyIndex::new(), revision: 0 };
        std::mem::swap(&mut ahead, &mut keys);
        async move {
            for _ in 0..2_000 {
                publish.send_replace(ahead.change());
                tokio::task::yield_now().await;
            }
            (ahead, publish)
        }
    });
    let (keys, _publish) = followed.await.unwrap();
    workers.change(|workers, now| workers.on_keys(keys.view(), now));
    let began = Instant::now();
    quick.take_until(keys.version()).await;
    assert!(began.elapsed() < WAIT / 2, "{:?}", began.elapsed());
    let lagging = workers.read(|workers, now| {
        let behind = workers.standings(now).filter(|standing| !standing.missing.is_empty());
        behind.map(|standing| standing.worker.worker.clone()).collect::<Vec<_>>()
    });
    assert!(lagging.contains(&"slow".to_owned()), "{lagging:?}");
    let taken = slow.take_until(keys.version()).await;
    // Begin, chunks of 16 KiB, end, and what has changed since; not 2,000 changes.
    assert!(taken < 100, "{taken} messages");
}

#[tokio::test]
async fn a_worker_that_takes_nothing_is_dropped() {
    let keys = Keys::new(120_000);
    let (_publish, view) = watch::channel(keys.view());
    let workers = WorkersHandle::new();
    let address = open(view, workers.clone(), Duration::from_millis(100)).await;
    let stalled = Worker::join(address, "stalled").await;
    let end = Instant::now() + WAIT;
    while workers.read(|workers, _| workers.iter().all(|(_, worker)| worker.away_since.is_none())) {
        assert!(Instant::now() < end, "its stream is still open");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    drop(stalled);
}
