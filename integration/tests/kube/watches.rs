//! The watcher of `kube`: it lists, watches, and begins anew when the server has forgotten.

use std::pin::pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _, TryStreamExt as _};
use keyward_store::Revision;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, Config, Event, ListSemantic, watcher};
use serde_json::json;
use tokio::time::timeout;

use crate::kit::{PATIENCE, Server, dynamic, port, upstream};

/// The next event.
async fn next(
    events: &mut (impl Stream<Item = watcher::Result<Event<DynamicObject>>> + Unpin),
) -> Event<DynamicObject> {
    let event =
        timeout(PATIENCE, events.next()).await.expect("an event in time").expect("a stream without end");
    event.expect("an event")
}

/// What an event says, in a word.
fn said(event: &Event<DynamicObject>) -> String {
    let of = |object: &DynamicObject| {
        format!("{} {}", object.metadata.name.as_deref().unwrap_or("?"), port(object).unwrap_or_default())
    };
    match event {
        Event::Init => "init".to_owned(),
        Event::InitApply(object) => format!("there is {}", of(object)),
        Event::InitDone => "all".to_owned(),
        Event::Apply(object) => format!("now {}", of(object)),
        Event::Delete(object) => format!("gone {}", of(object)),
    }
}

/// Everything until all that is there has been told.
async fn beginning(
    events: &mut (impl Stream<Item = watcher::Result<Event<DynamicObject>>> + Unpin),
) -> Vec<String> {
    let mut all = Vec::new();
    while all.last().is_none_or(|last| last != "all") {
        all.push(said(&next(events).await));
    }
    all
}

/// What is there is told, then every change, whichever way the watcher learns what is there.
async fn follows(config: Config) {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    for (name, port) in [("a", 8000), ("b", 8001)] {
        upstreams.create(&PostParams::default(), &dynamic(upstream(name, port))).await.expect("created");
    }
    let mut events = pin!(watcher(upstreams.clone(), config));
    assert_eq!(beginning(&mut events).await, ["init", "there is a 8000", "there is b 8001", "all"]);
    upstreams
        .patch("a", &PatchParams::apply("one").force(), &Patch::Apply(upstream("a", 9000)))
        .await
        .expect("applied");
    assert_eq!(said(&next(&mut events).await), "now a 9000");
    upstreams.delete("b", &Default::default()).await.expect("deleted");
    assert_eq!(said(&next(&mut events).await), "gone b 8001");
    // Out of what is selected is gone, too.
    upstreams
        .patch("a", &PatchParams::default(), &Patch::Merge(json!({ "metadata": { "labels": null } })))
        .await
        .expect("patched");
    assert_eq!(said(&next(&mut events).await), "gone a 9000");
    upstreams.create(&PostParams::default(), &dynamic(upstream("c", 8002))).await.expect("created");
    assert_eq!(said(&next(&mut events).await), "now c 8002");
}

#[tokio::test]
async fn a_watcher_that_lists_first_follows_every_change() {
    follows(Config::default().labels("team=pets")).await;
}

#[tokio::test]
async fn a_watcher_that_lists_from_anywhere_follows_every_change() {
    follows(
        Config { list_semantic: ListSemantic::Any, ..Config::default() }.labels("team=pets").page_size(1),
    )
    .await;
}

#[tokio::test]
async fn a_watcher_that_streams_the_list_follows_every_change() {
    follows(Config::default().labels("team=pets").streaming_lists()).await;
}

#[tokio::test]
async fn a_watcher_begins_anew_when_the_server_has_forgotten() {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    upstreams.create(&PostParams::default(), &dynamic(upstream("a", 8000))).await.expect("created");
    // Each watch ends after a second and the next goes on from what was seen last. Without bookmarks that
    // stays what the list was.
    let config = Config { bookmarks: false, ..Config::default() }.labels("team=pets").timeout(1);
    let mut events = pin!(watcher(upstreams.clone(), config));
    assert_eq!(beginning(&mut events).await, ["init", "there is a 8000", "all"]);
    // A change that is not selected, then nobody remembers how it was before.
    let other = dynamic(json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": { "name": "unseen" },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": 1 }] } },
    }));
    upstreams.create(&PostParams::default(), &other).await.expect("created");
    let now: Revision = server.store.revision().await.expect("a revision");
    server.store.compact(now).await.expect("compacted");
    let told =
        timeout(PATIENCE, events.next()).await.expect("an answer in time").expect("a stream without end");
    let code = match told {
        Err(watcher::Error::WatchError(status)) => status.code,
        Err(watcher::Error::WatchStartFailed(kube::Error::Api(status))) => status.code,
        Err(error) => panic!("another error: {error}"),
        Ok(event) => panic!("an event: {}", said(&event)),
    };
    assert_eq!(code, 410);
    assert_eq!(beginning(&mut events).await, ["init", "there is a 8000", "all"]);
    upstreams.delete("a", &Default::default()).await.expect("deleted");
    assert_eq!(said(&next(&mut events).await), "gone a 8000");
}

#[tokio::test]
async fn a_quiet_watch_says_how_far_it_is() {
    let server = Server::start().await;
    let upstreams = server.upstreams();
    let secrets = server.of("", "v1", "Secret");
    let begin = upstreams
        .list(&Default::default())
        .await
        .expect("a list")
        .metadata
        .resource_version
        .expect("a version");
    let parameters = WatchParams::default().timeout(2);
    let mut events = pin!(upstreams.watch(&parameters, &begin).await.expect("a watch"));
    let secret =
        dynamic(json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "one" }, "data": {} }));
    let created = secrets.create(&PostParams::default(), &secret).await.expect("created");
    let version: u64 = created.metadata.resource_version.expect("a version").parse().expect("a number");
    let mut marks = Vec::new();
    let read = timeout(PATIENCE.min(Duration::from_secs(20)), async {
        while let Some(event) = events.try_next().await.expect("an event") {
            match event {
                WatchEvent::Bookmark(mark) => {
                    marks.push(mark.metadata.resource_version.parse::<u64>().expect("a number"))
                }
                other => panic!("nothing else happens: {other:?}"),
            }
        }
    });
    read.await.expect("the watch ends");
    assert!(marks.last().is_some_and(|last| *last >= version), "{marks:?} {version}");
}
