//! Waiting, on a clock that stands still until everybody waits.

use std::collections::BTreeMap;

use keyward_filter_core::wire::Version;
use keyward_keys::{Change, Connection, GRACE, KeyIndex, KeyView, SessionEvent};
use keyward_resource::{Kind, decode, kind, kinds::Resource};
use serde_json::json;

use super::*;

const ROLE: &str = "keyward-system~gateway-proxy";
const TABLE: &str = "team/keys";
const SECOND: Duration = Duration::from_secs(1);

fn kind(name: &str) -> &'static Kind {
    kind::by_name(name).expect("a kind")
}

/// A view with one table, without keys.
fn view(revision: u64) -> KeyView {
    let object = json!({
        "metadata": { "namespace": "team", "name": "keys" },
        "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "a" } } }] },
    });
    let Ok(Resource::AuthConfig(config)) = decode(kind("AuthConfig"), &object) else {
        panic!("an AuthConfig")
    };
    let mut index = KeyIndex::new();
    index.apply(revision, [Change::PutAuthConfig(config)]);
    index.view(BTreeMap::from([(ROLE.to_owned(), [TABLE.to_owned()].into())]))
}

fn join(handle: &WorkersHandle, name: &str) -> Connection {
    let subscribed = SessionEvent::Subscribed {
        node: "gateway".to_owned(),
        role: ROLE.to_owned(),
        worker: name.to_owned(),
        build: "b".to_owned(),
        config_version: 1,
        held: Vec::new(),
    };
    handle.change(|workers, now| {
        let connection = workers.connect();
        workers.on_event(connection, &subscribed, now);
        connection
    })
}

fn acknowledge(handle: &WorkersHandle, connection: Connection, revision: u64) {
    let acked = SessionEvent::Acked { table: TABLE.to_owned(), version: Version { revision, checksum: 0 } };
    handle.change(|workers, now| workers.on_event(connection, &acked, now));
}

#[tokio::test(start_paused = true)]
async fn the_answer_comes_when_the_last_worker_has_confirmed() {
    let handle = WorkersHandle::settled();
    handle.change(|workers, now| workers.on_keys(view(7), now));
    let (first, second) = (join(&handle, "w1"), join(&handle, "w2"));
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.confirm(kind("Secret"), Revision(7), 5 * SECOND).await }
    });
    acknowledge(&handle, first, 7);
    tokio::time::sleep(SECOND).await;
    assert!(!waiting.is_finished(), "one worker has not confirmed");
    acknowledge(&handle, second, 7);
    let confirmation = waiting.await.expect("it ends");
    assert_eq!(confirmation, Confirmation { workers: 2, confirmed: 2, lagging: None });
}

#[tokio::test(start_paused = true)]
async fn who_lags_is_named_when_the_time_is_over() {
    let handle = WorkersHandle::settled();
    handle.change(|workers, now| workers.on_keys(view(7), now));
    let began = Instant::now();
    let connections: Vec<_> = (1..=5).map(|name| join(&handle, &format!("w{name}"))).collect();
    acknowledge(&handle, connections[0], 7);
    let confirmation = handle.confirm(kind("Secret"), Revision(7), 2 * SECOND).await;
    assert_eq!(began.elapsed(), 2 * SECOND);
    assert_eq!((confirmation.workers, confirmation.confirmed), (5, 1));
    let who = "4 of 5 workers have not confirmed revision 7 within 2s: gateway/w2 does not hold the keys of \
               team/keys yet; gateway/w3 does not hold the keys of team/keys yet; gateway/w4 does not hold \
               the keys of team/keys yet; and 1 more";
    assert_eq!(confirmation.lagging.as_deref(), Some(who));
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_goes_during_the_wait_is_waited_for_and_then_called_lost() {
    let handle = WorkersHandle::settled();
    handle.change(|workers, now| workers.on_keys(view(7), now));
    let (gone, stays) = (join(&handle, "w1"), join(&handle, "w2"));
    acknowledge(&handle, stays, 7);
    handle.change(|workers, now| workers.disconnect(gone, now));
    let began = Instant::now();
    let confirmation = handle.confirm(kind("Secret"), Revision(7), 20 * SECOND).await;
    let who = "1 of 2 workers have not confirmed revision 7 within 20s: gateway/w1 was lost meanwhile, and may \
               serve on with the keys that it holds";
    assert_eq!(confirmation, Confirmation { workers: 2, confirmed: 1, lagging: Some(who.to_owned()) });
    assert!(began.elapsed() > GRACE && began.elapsed() < GRACE + SECOND, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn policies_are_waited_for_where_they_were_written_and_not_for_a_key() {
    let handle = WorkersHandle::settled();
    handle.change(|workers, now| workers.on_keys(view(7), now));
    handle.change(|workers, _| {
        workers.on_configs(7, BTreeMap::from([(ROLE.to_owned(), 2)]));
        workers.on_routes(7);
    });
    let worker = join(&handle, "w1");
    acknowledge(&handle, worker, 7);
    assert_eq!(handle.confirm(kind("Secret"), Revision(7), SECOND).await.lagging, None);
    let lagging = handle.confirm(kind("AuthConfig"), Revision(7), SECOND).await.lagging.expect("it lags");
    assert!(lagging.contains("gateway/w1 runs with older policies"), "{lagging}");
    handle.change(|workers, now| {
        workers.on_event(worker, &SessionEvent::ConfigApplied { version: 2 }, now);
    });
    assert_eq!(handle.confirm(kind("AuthConfig"), Revision(7), SECOND).await.lagging, None);
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_comes_back_during_the_wait_is_not_lost() {
    let handle = WorkersHandle::settled();
    handle.change(|workers, now| workers.on_keys(view(7), now));
    let first = join(&handle, "w1");
    handle.change(|workers, now| workers.disconnect(first, now));
    let waiting = tokio::spawn({
        let handle = handle.clone();
        async move { handle.confirm(kind("Secret"), Revision(7), 20 * SECOND).await }
    });
    tokio::time::sleep(2 * SECOND).await;
    let again = join(&handle, "w1");
    tokio::time::sleep(GRACE).await;
    acknowledge(&handle, again, 7);
    let confirmation = waiting.await.expect("it ends");
    assert_eq!(confirmation, Confirmation { workers: 1, confirmed: 1, lagging: None });
}

#[tokio::test(start_paused = true)]
async fn routes_are_waited_for_where_they_were_written() {
    let handle = WorkersHandle::settled();
    handle.change(|workers, now| workers.on_keys(view(7), now));
    handle.change(|workers, _| workers.on_configs(7, BTreeMap::new()));
    assert_eq!(handle.confirm(kind("Secret"), Revision(7), SECOND).await.lagging, None);
    let lagging = handle.confirm(kind("VirtualService"), Revision(7), SECOND).await.lagging.expect("it lags");
    assert!(lagging.contains("revision 7 is not in force within 1s"), "{lagging}");
    handle.change(|workers, _| workers.on_routes(7));
    assert_eq!(handle.confirm(kind("VirtualService"), Revision(7), SECOND).await.lagging, None);
}

#[tokio::test(start_paused = true)]
async fn nobody_says_so_right_after_the_start_or_before_the_revision_is_published() {
    let handle = WorkersHandle::new();
    handle.change(|workers, now| workers.on_keys(view(7), now));
    let lagging = handle.confirm(kind("Secret"), Revision(7), SECOND).await.lagging.expect("too early");
    assert!(lagging.contains("has just started"), "{lagging}");
    assert_eq!(handle.confirm(kind("Secret"), Revision(7), GRACE).await.lagging, None);
    let lagging = handle.confirm(kind("Secret"), Revision(8), SECOND).await.lagging.expect("not published");
    assert!(lagging.contains("revision 8 is not published"), "{lagging}");
    handle.change(|workers, _| workers.on_reached(8));
    assert_eq!(handle.confirm(kind("Secret"), Revision(8), SECOND).await.lagging, None);
}
