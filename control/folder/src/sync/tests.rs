mod model;

use keyward_api::{AuditLog, Origin as Ids};
use keyward_resource::Format;
use keyward_store::MemoryStore;
use serde_json::{Value, json};

use super::*;
use crate::manifest::{NAMESPACE, read};
use crate::plan::GRACE;

/// A store, its writer, and the folder's part.
struct Bench {
    store: Arc<dyn Store>,
    writer: Writer,
    objects: Synchronizer,
    now: Instant,
}

fn key(name: &str) -> Key {
    Key::new("Upstream", "default", name)
}

fn object(name: &str, port: u16) -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": { "name": name, "namespace": "default" },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": port }] } },
    })
}

/// The files of a folder, each with its documents.
fn files(texts: &[(&str, String)]) -> Files {
    let read = |(path, text): &(&str, String)| {
        ((*path).to_owned(), Arc::new(read(path, text.as_bytes(), Format::Json, NAMESPACE)))
    };
    texts.iter().map(read).collect()
}

fn port(stored: &Stored) -> u64 {
    stored.object.pointer("/spec/static/hosts/0/port").and_then(Value::as_u64).expect("a port")
}

/// Somebody else than the folder.
fn somebody() -> WriteOptions {
    WriteOptions::internal("somebody")
}

fn target(object: &Value) -> Target {
    Target::of_object(object, "default").expect("a target")
}

impl Bench {
    async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let writer = Writer::new(store.clone(), Arc::new(AuditLog), "keyward-system", Ids::SYSTEM);
        writer.prepare().await.expect("the store works");
        let objects = Synchronizer::load(writer.clone(), store.clone(), true).await.expect("the store works");
        Self { store, writer, objects, now: Instant::now() }
    }

    async fn restart(&mut self) {
        let load = Synchronizer::load(self.writer.clone(), self.store.clone(), true);
        self.objects = load.await.expect("the store works");
    }

    async fn look(&mut self, files: &Files, thorough: bool) -> Vec<String> {
        let outcome = self.objects.look(files, thorough, self.now).await;
        outcome.problems.iter().map(ToString::to_string).collect()
    }

    /// Looks until there is nothing to wait for.
    async fn settle(&mut self, files: &Files) -> Vec<String> {
        self.look(files, true).await;
        self.now += GRACE;
        self.look(files, true).await
    }

    async fn find(&self, key: Key) -> Option<Stored> {
        let record = self.store.get(key).await.expect("the store works");
        record.map(|record| Stored::read(&record).expect("JSON"))
    }

    async fn get(&self, name: &str) -> Option<Stored> {
        self.find(key(name)).await
    }

    async fn create(&self, object: Value) {
        let mut collection = target(&object);
        collection.name = None;
        self.writer.create(&collection, object, &somebody()).await.expect("it is created");
    }

    async fn apply(&self, object: Value) {
        self.writer.apply(&target(&object), object, true, &somebody()).await.expect("it is applied");
    }

    async fn delete(&self, object: Value) {
        let (target, options) = (target(&object), somebody());
        let deleted = self.writer.delete(&target, &Preconditions::default(), &options).await;
        deleted.expect("it is deleted");
    }
}

#[tokio::test]
async fn an_object_comes_changes_and_goes_with_its_file() {
    let mut bench = Bench::new().await;
    assert_eq!(bench.look(&files(&[("a.json", object("a", 1).to_string())]), false).await, [""; 0]);
    assert_eq!(port(&bench.get("a").await.expect("the object")), 1);
    bench.look(&files(&[("b.json", object("a", 2).to_string())]), false).await;
    let stored = bench.get("a").await.expect("the object");
    assert_eq!((port(&stored), Mark::read(&stored).expect("a mark").file.as_str()), (2, "b.json"));
    bench.settle(&files(&[])).await;
    assert_eq!(bench.get("a").await, None);
}

#[tokio::test]
async fn a_deletion_while_the_server_was_down_is_noticed() {
    let mut bench = Bench::new().await;
    bench.create(object("other", 9)).await;
    bench.look(&files(&[("a.json", object("a", 1).to_string())]), false).await;
    bench.restart().await;
    bench.settle(&files(&[])).await;
    assert_eq!(bench.get("a").await, None);
    assert_eq!(port(&bench.get("other").await.expect("the object of somebody else")), 9);
}

#[tokio::test]
async fn nothing_is_written_when_nothing_has_changed() {
    let mut bench = Bench::new().await;
    let files = files(&[("a.json", object("a", 1).to_string())]);
    bench.look(&files, false).await;
    let before = bench.store.revision().await.expect("a revision");
    bench.look(&files, false).await;
    bench.look(&files, true).await;
    bench.restart().await;
    bench.look(&files, true).await;
    assert_eq!(bench.store.revision().await.expect("a revision"), before);
}

#[tokio::test]
async fn an_object_that_was_there_before_is_never_deleted() {
    let mut bench = Bench::new().await;
    bench.create(object("a", 1)).await;
    bench.settle(&files(&[("a.json", object("a", 2).to_string())])).await;
    assert_eq!(port(&bench.get("a").await.expect("the object")), 2, "the folder wins");
    bench.restart().await;
    bench.settle(&files(&[])).await;
    let stored = bench.get("a").await.expect("it stays");
    assert_eq!((port(&stored), Mark::read(&stored)), (2, None));
    let metadata = stored.object["metadata"].to_string();
    assert!(!metadata.contains("folder"), "nothing is left of the folder: {metadata}");
}

#[tokio::test]
async fn a_copy_of_an_object_is_not_the_folders() {
    let mut bench = Bench::new().await;
    let files = files(&[("a.json", object("a", 1).to_string())]);
    bench.look(&files, false).await;
    let mut copy = bench.get("a").await.expect("the object").object;
    copy["metadata"]["name"] = "copy".into();
    for key in ["uid", "resourceVersion"] {
        copy["metadata"].as_object_mut().expect("metadata").remove(key);
    }
    bench.create(copy).await;
    bench.restart().await;
    bench.settle(&files).await;
    assert!(bench.get("copy").await.is_some());
    assert!(bench.get("a").await.is_some());
}

#[tokio::test]
async fn others_keep_their_fields_and_lose_those_of_the_folder() {
    let mut bench = Bench::new().await;
    let files = files(&[("a.json", object("a", 1).to_string())]);
    bench.look(&files, false).await;
    let mut theirs = object("a", 7);
    theirs["metadata"]["labels"] = json!({ "team": "x" });
    bench.apply(theirs).await;
    bench.look(&files, false).await;
    assert_eq!(port(&bench.get("a").await.expect("the object")), 7, "no file has changed");
    bench.look(&files, true).await;
    let stored = bench.get("a").await.expect("the object");
    assert_eq!(port(&stored), 1);
    assert_eq!(stored.object["metadata"]["labels"], json!({ "team": "x" }));
}

#[tokio::test]
async fn what_cannot_be_written_is_told_and_harms_nobody() {
    let mut bench = Bench::new().await;
    let secret = |kind: &str| {
        json!({
            "apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": { "name": "s" },
            "stringData": { "api-key": "abcdefgh" },
        })
    };
    bench.create(secret("Opaque")).await;
    let files = files(&[
        ("a.json", secret("extauth.keyward.io/apikey").to_string()),
        ("b.json", object("b", 1).to_string()),
    ]);
    for _ in 0..2 {
        let problems = bench.look(&files, false).await;
        assert_eq!(problems.len(), 1, "it is told as long as it is so: {problems:?}");
        assert!(problems[0].contains("immutable") && problems[0].contains("--> a.json:1:1"), "{problems:?}");
        assert!(!problems[0].contains("abcdefgh"), "{problems:?}");
    }
    assert!(bench.get("b").await.is_some());
}

#[tokio::test]
async fn a_namespace_goes_only_when_nothing_is_in_it() {
    let mut bench = Bench::new().await;
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "n" } });
    bench.look(&files(&[("n.json", namespace.to_string())]), false).await;
    let mut theirs = object("theirs", 1);
    theirs["metadata"]["namespace"] = "n".into();
    bench.create(theirs.clone()).await;
    let problems = bench.settle(&files(&[])).await;
    assert!(problems.len() == 1 && problems[0].contains("still objects in it"), "{problems:?}");
    let (namespace, theirs_key) = (Key::new("Namespace", "", "n"), Key::new("Upstream", "n", "theirs"));
    assert!(bench.find(namespace.clone()).await.is_some());
    assert!(bench.find(theirs_key).await.is_some());
    bench.delete(theirs).await;
    assert_eq!(bench.look(&files(&[]), false).await, [""; 0]);
    assert_eq!(bench.find(namespace).await, None);
}

#[tokio::test]
async fn many_objects_are_looked_at_quickly() {
    let mut bench = Bench::new().await;
    let list = |changed: u16| {
        let items: Vec<Value> =
            (0..2_000).map(|n| object(&format!("u{n}"), if n == 7 { changed } else { 80 })).collect();
        json!({ "apiVersion": "v1", "kind": "List", "items": items }).to_string()
    };
    bench.look(&files(&[("a.json", list(80))]), true).await;
    let before = bench.store.revision().await.expect("a revision");
    bench.look(&files(&[("a.json", list(81))]), false).await;
    let after = bench.store.revision().await.expect("a revision");
    assert_eq!(after.0 - before.0, 1, "one object has changed, so one is written");
}
