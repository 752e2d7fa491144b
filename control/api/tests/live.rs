//! Many clients at once, on the store in memory and on SQLite.

mod kit;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use keyward_api::{Identity, StatusWrite, Target, WriteOptions};
use keyward_store::{Key, MemoryStore, Revision, SqliteStore, Store};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinSet;
use tokio::time::timeout;

use self::kit::Server;

const SECRETS: &str = "/api/v1/namespaces/team/secrets";
const GATEWAYS: &str = "/apis/gateway.keyward.io/v1/namespaces/team/gateways";
/// How long to wait for what must come. Generous: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on each store; the folder goes with the test.
async fn servers() -> (TempDir, Vec<Server>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sqlite = SqliteStore::open(folder.path().join("keyward.db")).await.expect("a new store opens");
    let stores: [Arc<dyn Store>; 2] = [Arc::new(MemoryStore::new()), Arc::new(sqlite)];
    let mut servers = Vec::new();
    for store in stores {
        servers.push(Server::over(store).await);
    }
    (folder, servers)
}

fn gateway(name: &str, port: u16) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "bindPort": port, "httpGateway": {} } })
}

/// Runs the writers to their end.
async fn join(mut writers: JoinSet<()>) {
    while let Some(done) = timeout(PATIENCE, writers.join_next()).await.expect("in time") {
        done.expect("the writer does not panic");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_writers_with_versions_lose_nothing() {
    const WRITERS: usize = 100;
    let (_folder, servers) = servers().await;
    for server in servers {
        server.json("POST", SECRETS, &json!({ "metadata": { "name": "a" }, "data": {} })).await;
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let server = server.clone();
            writers.spawn(async move {
                let path = format!("{SECRETS}/a");
                loop {
                    let mut object = server.get(&path).await.body;
                    object["data"][format!("w{writer}")] = "MQ==".into();
                    let answer = server.json("PUT", &path, &object).await;
                    match answer.code {
                        200 => return,
                        409 => {}
                        _ => panic!("{answer:?}"),
                    }
                }
            });
        }
        join(writers).await;
        let object = server.get(&format!("{SECRETS}/a")).await.body;
        assert_eq!(object["data"].as_object().map(serde_json::Map::len), Some(WRITERS), "{object}");
        assert_eq!(object["metadata"]["generation"], 1 + WRITERS);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_without_versions_all_get_through() {
    const WRITERS: usize = 30;
    let (_folder, servers) = servers().await;
    for server in servers {
        server.json("POST", SECRETS, &json!({ "metadata": { "name": "a" }, "data": {} })).await;
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let server = server.clone();
            writers.spawn(async move {
                let path = format!("{SECRETS}/a");
                let merge = json!({ "data": { format!("m{writer}"): "MQ==" } });
                let merged = server.patch(&path, "merge-patch+json", &merge).await;
                let add = json!([{ "op": "add", "path": format!("/data/j{writer}"), "value": "MQ==" }]);
                let added = server.patch(&path, "json-patch+json", &add).await;
                let applied = json!({
                    "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "a" },
                    "data": { format!("a{writer}"): "MQ==" },
                });
                let path = format!("{path}?fieldManager=m{writer}");
                let applied = server.patch(&path, "apply-patch+yaml", &applied).await;
                assert_eq!((merged.code, added.code, applied.code), (200, 200, 200), "{applied:?}");
            });
        }
        join(writers).await;
        let object = server.get(&format!("{SECRETS}/a")).await.body;
        assert_eq!(object["data"].as_object().map(serde_json::Map::len), Some(3 * WRITERS), "{object}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_that_breaks_off_again_and_again_sees_everything_once() {
    const CHANGES: usize = 300;
    let (_folder, servers) = servers().await;
    for server in servers {
        let list = server.get(SECRETS).await.body;
        let writer = {
            let server = server.clone();
            tokio::spawn(async move {
                for number in 0..CHANGES {
                    let name = format!("s{}", number % 7);
                    let path = format!("{SECRETS}/{name}");
                    let labels = json!({ "n": number.to_string() });
                    let object = json!({ "metadata": { "name": name, "labels": labels } });
                    match number % 5 {
                        4 => drop(server.send("DELETE", &path, &[], String::new()).await),
                        _ if server.json("PUT", &path, &object).await.code == 404 => {
                            server.json("POST", SECRETS, &object).await;
                        }
                        _ => {}
                    }
                }
            })
        };
        // What a client makes of the events, breaking off after a few each time.
        let mut at = list["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
        let mut known: BTreeMap<String, Value> = BTreeMap::new();
        let mut last = at.parse::<u64>().expect("a number");
        let mut rounds = 0_usize;
        loop {
            let done = writer.is_finished();
            let path = format!("{SECRETS}?watch=1&resourceVersion={at}&timeoutSeconds=1");
            let mut events = server.watch(&path).await;
            let mut seen = 0_usize;
            while let Some(event) = timeout(PATIENCE, events.next()).await.expect("in time") {
                let object = &event["object"];
                let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
                at = object["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
                let version: u64 = at.parse().expect("a number");
                assert!(version > last, "{version} after {last}");
                last = version;
                match event["type"].as_str() {
                    Some("ADDED") => assert!(known.insert(name, object.clone()).is_none(), "{event}"),
                    Some("MODIFIED") => assert!(known.insert(name, object.clone()).is_some(), "{event}"),
                    Some("DELETED") => assert!(known.remove(&name).is_some(), "{event}"),
                    _ => panic!("{event}"),
                }
                seen += 1;
                if seen == 3 + rounds % 5 {
                    break;
                }
            }
            rounds += 1;
            if done && seen == 0 {
                break;
            }
        }
        writer.await.expect("the writer does not panic");
        let list = server.get(SECRETS).await.body;
        let items = list["items"].as_array().expect("items");
        assert!(known.values().eq(items), "{known:?} instead of {items:?}");
        assert!(rounds > 10, "the watch broke off only {rounds} times");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_outlives_its_namespace() {
    const WRITERS: usize = 8;
    let (_folder, servers) = servers().await;
    for server in servers {
        let mut writers = JoinSet::new();
        for writer in 0..WRITERS {
            let server = server.clone();
            writers.spawn(async move {
                for number in 0..20 {
                    let object = json!({ "metadata": { "name": format!("w{writer}-{number}") } });
                    let answer = server.json("POST", SECRETS, &object).await;
                    assert!(matches!(answer.code, 201 | 403), "{answer:?}");
                }
            });
        }
        for _ in 0..15 {
            let answer = server.send("DELETE", "/api/v1/namespaces/team", &[], String::new()).await;
            assert!(matches!(answer.code, 200 | 404), "{answer:?}");
            tokio::task::yield_now().await;
        }
        join(writers).await;
        // Whatever is there is in a namespace that is there, and open.
        let secrets = server.get(SECRETS).await.body;
        let namespace = server.get("/api/v1/namespaces/team").await;
        if secrets["items"].as_array().is_some_and(|items| !items.is_empty()) {
            assert_eq!(namespace.body["status"]["phase"], "Active", "{namespace:?}");
        }
        server.send("DELETE", "/api/v1/namespaces/team", &[], String::new()).await;
        assert_eq!(server.get(SECRETS).await.body["items"], json!([]));
        assert_eq!(server.get("/api/v1/namespaces/team").await.code, 404);
    }
}

/// The answer tells of a revision that is no older than any deletion, whatever keeps the namespace.
#[tokio::test]
async fn a_namespace_that_stays_is_confirmed_with_what_went_from_it() {
    let server = Server::start().await;
    let mut held = gateway("held", 80);
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    server.json("POST", GATEWAYS, &held).await;
    server.json("POST", SECRETS, &json!({ "metadata": { "name": "key" }, "data": {} })).await;
    // The second time there is nothing left to do.
    for _ in 0..2 {
        let answer = server.send("DELETE", "/api/v1/namespaces/team?wait=5s", &[], String::new()).await;
        assert_eq!(
            (answer.code, &answer.body["status"]["phase"]),
            (200, &json!("Terminating")),
            "{answer:?}"
        );
        assert_eq!(server.get(&format!("{SECRETS}/key")).await.code, 404);
        let told: u64 = answer.headers["keyward-revision"].parse().expect("a revision");
        assert_eq!(told, server.store.revision().await.expect("a revision").0, "{answer:?}");
        // The object bears its own version all the same.
        let namespace = server.get("/api/v1/namespaces/team").await.body;
        assert_eq!(answer.body["metadata"]["resourceVersion"], namespace["metadata"]["resourceVersion"]);
    }
    server
        .patch(
            &format!("{GATEWAYS}/held"),
            "merge-patch+json",
            &json!({ "metadata": { "finalizers": null } }),
        )
        .await;
    let gone = async {
        while server.get("/api/v1/namespaces/team").await.code != 404 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, gone).await.expect("the namespace goes in time");
}

#[tokio::test]
async fn names_are_generated() {
    let server = Server::start().await;
    let object = json!({ "metadata": { "generateName": "key-" } });
    let mut names = Vec::new();
    for _ in 0..20 {
        let created = server.json("POST", SECRETS, &object).await;
        assert_eq!(created.code, 201, "{created:?}");
        let name = created.body["metadata"]["name"].as_str().expect("a name").to_owned();
        assert!(name.len() == 9 && name.starts_with("key-"), "{name}");
        assert_eq!(created.body["metadata"]["generateName"], "key-");
        names.push(name);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), 20);
}

#[tokio::test]
async fn the_status_of_the_control_loop_is_written_once_and_only_for_what_it_is_about() {
    let server = Server::start().await;
    let created = server.json("POST", GATEWAYS, &gateway("a", 80)).await.body;
    let version = |object: &Value| {
        Revision(
            object["metadata"]["resourceVersion"].as_str().expect("a version").parse().expect("a number"),
        )
    };
    let key = || Key::new("Gateway", "team", "a");
    let status = |state: &str| json!({ "state": state });
    let writer = &server.writer;
    let first = version(&created);
    let done = writer.write_status(&key(), first, status("Accepted")).await.expect("the store works");
    let StatusWrite::Written(record) = done else { panic!("{done:?}") };
    let again = writer.write_status(&key(), first, status("Accepted")).await.expect("the store works");
    assert_eq!(again, StatusWrite::Unchanged);
    assert_eq!(server.store.revision().await.expect("a revision"), record.revision);
    // Made from the object as it was before its last status.
    let done = writer.write_status(&key(), first, status("Warning")).await.expect("the store works");
    assert!(matches!(done, StatusWrite::Written(_)), "{done:?}");
    let read = server.get(&format!("{GATEWAYS}/a")).await.body;
    assert_eq!((&read["status"], &read["metadata"]["generation"]), (&status("Warning"), &json!(1)));
    let managers = read["metadata"]["managedFields"].as_array().expect("managers");
    let of_status =
        managers.iter().find(|manager| manager["subresource"] == "status").expect("one of the status");
    assert_eq!(of_status["manager"], "keyward");

    server.json("PUT", &format!("{GATEWAYS}/a"), &gateway("a", 81)).await;
    let late = writer.write_status(&key(), first, status("Accepted")).await.expect("the store works");
    assert_eq!(late, StatusWrite::Outdated);
    server.send("DELETE", &format!("{GATEWAYS}/a"), &[], String::new()).await;
    let late = writer.write_status(&key(), first, status("Accepted")).await.expect("the store works");
    assert_eq!(late, StatusWrite::Outdated);
}

#[tokio::test]
async fn statuses_and_writers_do_not_get_in_each_others_way() {
    let server = Server::start().await;
    let mut object = server.json("POST", GATEWAYS, &gateway("a", 80)).await.body;
    for port in 81..91 {
        let key = Key::new("Gateway", "team", "a");
        let version = object["metadata"]["resourceVersion"].as_str().expect("a version").to_owned();
        let version = Revision(version.parse().expect("a number"));
        for state in ["Pending", "Accepted"] {
            let status = json!({ "state": state, "port": port });
            let done = server.writer.write_status(&key, version, status).await.expect("the store works");
            assert!(matches!(done, StatusWrite::Written(_)), "{done:?}");
        }
        // The client still has the object from before the statuses.
        object["spec"]["bindPort"] = port.into();
        let answer = server.json("PUT", &format!("{GATEWAYS}/a"), &object).await;
        assert_eq!(answer.code, 200, "{answer:?}");
        object = answer.body;
    }
    assert_eq!(object["metadata"]["generation"], 11);
}

#[tokio::test]
async fn a_folder_can_apply_what_rest_can() {
    let server = Server::start().await;
    let manifest = json!({
        "apiVersion": "gateway.solo.io/v1",
        "kind": "Gateway",
        "metadata": { "name": "a" },
        "spec": { "bindPort": 80, "httpGateway": {} },
    });
    let target = Target::of_object(&manifest, "team").expect("a kind that is served");
    let options = WriteOptions { identity: Identity::internal("folder"), ..WriteOptions::internal("folder") };
    server.writer.apply(&target, manifest.clone(), true, &options).await.expect("it is applied");
    let read = server.get(&format!("{GATEWAYS}/a")).await.body;
    assert_eq!(read["metadata"]["managedFields"][0]["manager"], "folder");
    let mut bad = manifest;
    bad["spec"]["bindPort"] = 0.into();
    bad["spec"]["colour"] = 1.into();
    let refused = server.writer.apply(&target, bad, true, &options).await.expect_err("it has mistakes");
    assert_eq!(refused.code, 422);
    assert!(refused.message.contains("spec.colour") && refused.message.contains("spec.bindPort"));
    assert!(Target::of_object(&json!({ "kind": "Nothing" }), "team").is_err());
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let server = Server::start().await;
    let object = json!({ "metadata": { "name": "a" }, "pad": " ".repeat(keyward_api::MAX_BODY) });
    let refused = server.json("POST", SECRETS, &object).await;
    assert_eq!((refused.code, &refused.body["reason"]), (413, &json!("RequestEntityTooLarge")));
}
