//! The service over a real connection.

mod client;
mod conformance;

use self::client::{Client, DeltaClient, Server, SotwClient, WAIT};
use crate::{
    cache::Cache,
    event::Event,
    node::metadata_string,
    server::{AdsService, StreamEvent},
    status::{ClientId, Protocol, Source, Standing},
    testing::{snapshot, strings, url, version},
};
use envoy_types::pb::envoy::{
    config::core::v3::Node,
    service::discovery::v3::{
        DeltaDiscoveryRequest, DiscoveryRequest,
        aggregated_discovery_service_client::AggregatedDiscoveryServiceClient,
    },
};
use std::{
    collections::HashMap,
    time::{Duration, Instant, SystemTime},
};
use tokio::{sync::mpsc, time::timeout};
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Code, Status, transport::server::TcpConnectInfo};

/// Waits for a predicate over the service, at most [`WAIT`].
async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + WAIT;
    while !holds() {
        assert!(Instant::now() < end, "not within {WAIT:?}: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn next_event(events: &mut mpsc::Receiver<StreamEvent>) -> StreamEvent {
    timeout(WAIT, events.recv()).await.expect("an event in time").expect("an event")
}

async fn serves_both<C: Client>(protocol: Protocol) {
    let cache = Cache::new();
    let service =
        AdsService::builder(cache.clone(), |node| metadata_string(node, "role").unwrap_or("").to_owned())
            .clock(|| SystemTime::UNIX_EPOCH)
            .build();
    let server = Server::start(&service).await;
    cache.set_fallback(snapshot(&["CDS fallback=1", "LDS"]));

    let mut client = C::open(&server, "envoy-1", "gateway").await;
    client.subscribe("CDS", &[]).await;
    assert_eq!(client.receive().await, "CDS: fallback=1");
    until("the client is listed", || service.clients().iter().any(|c| c.source == Source::Fallback)).await;

    // The same stream goes over to the client's own snapshot.
    cache.publish("gateway", snapshot(&["CDS own=1"]));
    let told = [client.receive().await, client.receive().await];
    match protocol {
        Protocol::Delta => assert_eq!(told, ["CDS: own=1", "CDS: -fallback"]),
        Protocol::Sotw => assert_eq!(told, ["CDS: fallback=1 own=1", "CDS: own=1"]),
    }
    until("the client is in sync", || service.clients().iter().all(|c| c.in_sync())).await;
    let [status] = &service.clients()[..] else { panic!("one client") };
    assert_eq!((&*status.client.node_id, &*status.client.node_key), ("envoy-1", "gateway"));
    assert_eq!((status.source, status.protocol), (Source::Own, protocol));
    assert_eq!(status.since, Some(SystemTime::UNIX_EPOCH));
    assert_eq!(status.snapshot.as_deref(), Some(cache.get("gateway").expect("published").version()));
    assert_eq!(status.types[0].held, 1);
    assert_eq!(
        (status.types[0].standing(), status.types[0].since),
        (Standing::Synced, Some(SystemTime::UNIX_EPOCH))
    );

    drop(client);
    until("the client has gone", || service.clients().is_empty()).await;
    server.stop().await;
}

#[tokio::test]
async fn delta_is_served_and_goes_over_from_the_fallback() {
    serves_both::<DeltaClient>(Protocol::Delta).await;
}

#[tokio::test]
async fn sotw_is_served_and_goes_over_from_the_fallback() {
    serves_both::<SotwClient>(Protocol::Sotw).await;
}

#[tokio::test]
async fn a_refusal_is_told_remembered_and_can_be_forgiven() {
    let (sink, mut events) = mpsc::channel(64);
    let cache = Cache::new();
    let service = AdsService::builder(cache.clone(), |_| "all".to_owned()).events(sink).build();
    let server = Server::start(&service).await;
    cache.publish("all", snapshot(&["LDS good=1 bad=1"]));

    let mut client = DeltaClient::open(&server, "envoy-1", "").await;
    client.subscribe("LDS", &[]).await;
    assert_eq!(client.refuse("listener bad: no such filter").await, "LDS: bad=1 good=1");
    assert_eq!(client.receive().await, "LDS: good=1");
    let nack = loop {
        let event = next_event(&mut events).await;
        assert_eq!(&*event.client.node_id, "envoy-1");
        if let Event::Nacked(nack) = event.event {
            break nack;
        }
    };
    assert_eq!(&*nack.type_url, url("LDS"));
    assert_eq!(nack.resources.iter().map(|r| &*r.name).collect::<Vec<_>>(), ["bad"]);
    assert_eq!(&*nack.message, "listener bad: no such filter");
    let rejected = || service.clients().iter().flat_map(|c| c.types.clone()).flat_map(|t| t.rejected).count();
    until("the refusal stands", || rejected() == 1).await;

    // Across a reconnect the refused one stays away, until it is forgiven.
    drop(client);
    let mut client = DeltaClient::open(&server, "envoy-1", "").await;
    client.resume("LDS", &[], &["good=1"]).await;
    client.subscribe("RDS", &["barrier"]).await;
    assert_eq!(client.receive().await, "RDS: -barrier");
    assert_eq!(service.retry_rejected("envoy-1"), 1);
    assert_eq!(client.refuse("listener bad: no such filter").await, "LDS: bad=1");
    until("the refusal stands again", || rejected() == 1).await;
    assert_eq!(service.retry_resource("envoy-1", url("LDS"), "good"), 0);
    assert_eq!(service.retry_resource("envoy-2", url("LDS"), "bad"), 0);
    assert_eq!(service.retry_resource("envoy-1", url("LDS"), "bad"), 1);
    assert_eq!(client.receive().await, "LDS: bad=1");
    until("nothing is refused", || rejected() == 0).await;

    drop(client);
    loop {
        if next_event(&mut events).await.event == Event::Disconnected && service.clients().is_empty() {
            break;
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_of_an_unknown_key_waits_when_there_is_no_fallback() {
    let cache = Cache::new();
    let service = AdsService::new(cache.clone(), |node| node.cluster.clone());
    let server = Server::start(&service).await;
    let mut client = SotwClient::open(&server, "envoy-1", "").await;
    client.subscribe("CDS", &[]).await;
    until("the client is listed", || service.clients().iter().any(|c| c.source == Source::Nothing)).await;
    assert!(!service.clients()[0].in_sync());
    cache.publish("", snapshot(&["CDS a=1"]));
    assert_eq!(client.receive().await, "CDS: a=1");
    // Taken away without a fallback, what the client has stays.
    cache.remove("");
    until("the snapshot has gone", || service.clients()[0].source == Source::Nothing).await;
    cache.publish("", snapshot(&["CDS a=2"]));
    assert_eq!(client.receive().await, "CDS: a=2");
    server.stop().await;
}

#[tokio::test]
async fn after_a_reconnect_removals_come_when_the_grace_is_over() {
    let cache = Cache::new();
    let service =
        AdsService::builder(cache.clone(), |_| String::new()).resume_grace(Duration::from_millis(50)).build();
    let server = Server::start(&service).await;
    cache.publish("", snapshot(&["CDS a=1"]));
    let mut client = DeltaClient::open(&server, "envoy-1", "").await;
    client.resume("CDS", &[], &["a=1", "gone=1"]).await;
    assert_eq!(client.receive().await, "CDS: -gone");
    server.stop().await;
}

/// What it holds of a type is not known before it has asked for it again.
#[tokio::test]
async fn a_client_that_comes_back_is_in_sync_when_it_has_asked_for_everything_again() {
    for grace in [WAIT * 2, Duration::from_millis(50)] {
        let cache = Cache::new();
        let service = AdsService::builder(cache.clone(), |_| "all".to_owned()).resume_grace(grace).build();
        let server = Server::start(&service).await;
        cache.publish("all", snapshot(&["CDS a=1", "LDS b=1"]));
        let in_sync = || service.clients().iter().any(|client| client.in_sync());
        let who = ClientId::new("envoy-1", "all");
        assert!(!service.knows(&who));

        let mut client = DeltaClient::open(&server, "envoy-1", "").await;
        client.subscribe("CDS", &[]).await;
        assert_eq!(client.receive().await, "CDS: a=1");
        client.subscribe("LDS", &[]).await;
        assert_eq!(client.receive().await, "LDS: b=1");
        until("the client is in sync", in_sync).await;
        drop(client);
        until("the client has gone", || service.clients().is_empty()).await;
        assert!(service.knows(&who) && !service.knows(&ClientId::new("envoy-2", "all")));

        let mut client = DeltaClient::open(&server, "envoy-1", "").await;
        client.resume("CDS", &[], &["a=1"]).await;
        until("the client is back", || !service.clients().is_empty()).await;
        if grace > WAIT {
            let [status] = &service.clients()[..] else { panic!("one client") };
            assert!(status.resuming && !status.has_answered() && status.types[0].in_sync());
            client.resume("LDS", &[], &["b=1"]).await;
        }
        // Or when it has had the time to.
        until("the client is in sync again", in_sync).await;
        server.stop().await;
    }
}

#[tokio::test]
async fn a_stream_without_a_node_is_refused_clearly() {
    let service = AdsService::new(Cache::new(), |_| String::new());
    let server = Server::start(&service).await;
    let mut grpc = AggregatedDiscoveryServiceClient::new(server.channel().await);

    let request = DiscoveryRequest { type_url: url("LDS").to_owned(), ..Default::default() };
    let mut stream =
        grpc.stream_aggregated_resources(tokio_stream::iter([request])).await.expect("a stream").into_inner();
    let status = timeout(WAIT, stream.message()).await.expect("in time").expect_err("no node");
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("node"), "{}", status.message());

    let node = Some(Node { id: "x".to_owned(), ..Node::default() });
    let requests = tokio_stream::iter([DeltaDiscoveryRequest { node, ..Default::default() }]);
    let mut stream = grpc.delta_aggregated_resources(requests).await.expect("a stream").into_inner();
    let status = timeout(WAIT, stream.message()).await.expect("in time").expect_err("no type");
    assert_eq!(status.code(), Code::InvalidArgument);
    assert!(status.message().contains("type_url"), "{}", status.message());
    assert!(service.clients().is_empty());
    server.stop().await;
}

#[tokio::test]
async fn a_client_may_list_very_much_that_it_holds() {
    let cache = Cache::new();
    let service = AdsService::new(cache.clone(), |_| String::new());
    let server = Server::start(&service).await;
    cache.publish("", snapshot(&["LDS a=2"]));
    let mut grpc = AggregatedDiscoveryServiceClient::new(server.channel().await);
    let mut held: HashMap<_, _> = (0..100_000).map(|n| (format!("{n:050}"), version("x", "1"))).collect();
    held.insert("a".to_owned(), version("a", "1"));
    let request = DeltaDiscoveryRequest {
        node: Some(Node { id: "x".to_owned(), ..Node::default() }),
        type_url: url("LDS").to_owned(),
        resource_names_subscribe: strings(&["a"]),
        initial_resource_versions: held,
        ..Default::default()
    };
    assert!(prost::Message::encoded_len(&request) > 4 << 20, "more than tonic reads by itself");
    let (sender, requests) = mpsc::channel(1);
    sender.send(request).await.expect("room");
    let mut stream =
        grpc.delta_aggregated_resources(ReceiverStream::new(requests)).await.expect("a stream").into_inner();
    let response =
        timeout(WAIT, stream.message()).await.expect("in time").expect("no error").expect("a response");
    assert_eq!(response.resources[0].version, version("a", "2"));
    server.stop().await;
}

#[tokio::test]
async fn closing_the_cache_ends_streams_so_that_the_server_can_stop() {
    let cache = Cache::new();
    let service = AdsService::new(cache.clone(), |_| String::new());
    let server = Server::start(&service).await;
    cache.publish("", snapshot(&[]));
    let mut client = DeltaClient::open(&server, "envoy-1", "").await;
    client.subscribe("CDS", &[]).await;
    assert_eq!(client.receive().await, "CDS:");
    cache.close();
    let status = client.end().await.expect_err("the server goes away");
    assert_eq!(status.code(), Code::Unavailable);
    server.stop().await;
    assert!(service.clients().is_empty());
}

/// A client that is not who it says gets nothing, and is not among the clients either.
async fn is_refused<C: Client>(refused: impl AsyncFn(C) -> Status) {
    let cache = Cache::new();
    let (sink, mut events) = mpsc::channel(64);
    let service = AdsService::builder(cache.clone(), |_| "all".to_owned())
        .admission(|node, transport| {
            let peer = transport.get::<TcpConnectInfo>().and_then(TcpConnectInfo::remote_addr);
            assert!(peer.expect("what the listener knows").ip().is_loopback());
            match metadata_string(node, "role") {
                Some("gateway") => Ok(()),
                role => Err(Status::permission_denied(format!("not {role:?}"))),
            }
        })
        .events(sink)
        .build();
    let server = Server::start(&service).await;
    cache.publish("all", snapshot(&["CDS secret=1"]));

    let mut other = C::open(&server, "envoy-1", "other").await;
    other.subscribe("CDS", &[]).await;
    let status = refused(other).await;
    assert_eq!((status.code(), status.message()), (Code::PermissionDenied, "not Some(\"other\")"));
    assert!(service.clients().is_empty());

    let mut right = C::open(&server, "envoy-1", "gateway").await;
    right.subscribe("CDS", &[]).await;
    assert_eq!(right.receive().await, "CDS: secret=1");
    assert_eq!(service.clients().len(), 1);
    let event = next_event(&mut events).await;
    assert_eq!((event.stream, event.event), (1, Event::Connected), "the first was no client");
    drop(right);
    server.stop().await;
}

#[tokio::test]
async fn a_delta_client_that_is_not_admitted_gets_nothing() {
    is_refused(async |mut client: DeltaClient| client.end().await.expect_err("refused")).await;
}

#[tokio::test]
async fn a_sotw_client_that_is_not_admitted_gets_nothing() {
    is_refused(async |mut client: SotwClient| client.end().await.expect_err("refused")).await;
}

#[tokio::test]
async fn the_id_of_a_node_is_one_short_line() {
    let (sink, mut events) = mpsc::channel(64);
    let cache = Cache::new();
    let service = AdsService::builder(cache.clone(), |_| "all".to_owned()).events(sink).build();
    let server = Server::start(&service).await;
    cache.publish("all", snapshot(&["LDS good=1"]));
    let forged = format!("edge\n2026-01-01 ERROR \u{1b}[31m{}", "x".repeat(1_000_000));
    let mut client = DeltaClient::open(&server, &forged, "").await;
    client.subscribe("LDS", &[]).await;
    let id = next_event(&mut events).await.client.node_id;
    assert!(id.starts_with("edge\\n2026-01-01 ERROR \\u{1b}[31mxxx") && id.len() <= 512, "{id}");
    server.stop().await;
}
