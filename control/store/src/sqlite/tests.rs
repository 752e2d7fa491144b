//! The suite and the model on SQLite.

use proptest::prelude::*;
use tempfile::TempDir;

use super::SqliteStore;
use crate::contract;
use crate::error::StoreError;
use crate::record::{Body, Event, Key, Record, Revision, Selector};
use crate::store::{Page, Store};
use crate::tests::{Action, Model, actions, runtime};
use crate::watch::Watch;

mod crash;
mod opening;
mod writing;

/// A store in a folder that goes with it.
struct Temporary {
    store: SqliteStore,
    _folder: TempDir,
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// The integrity check of SQLite itself.
fn check_integrity(path: &std::path::Path) {
    let connection = rusqlite::Connection::open(path).expect("the file can be opened");
    let result: String =
        connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).expect("the check runs");
    assert_eq!(result, "ok");
}

#[async_trait::async_trait]
impl Store for Temporary {
    async fn create(&self, key: Key, body: Body) -> Result<Record, StoreError> {
        self.store.create(key, body).await
    }

    async fn update(&self, key: Key, expected: Option<Revision>, body: Body) -> Result<Record, StoreError> {
        self.store.update(key, expected, body).await
    }

    async fn delete(&self, key: Key, expected: Option<Revision>) -> Result<(Revision, Record), StoreError> {
        self.store.delete(key, expected).await
    }

    async fn get(&self, key: Key) -> Result<Option<Record>, StoreError> {
        self.store.get(key).await
    }

    async fn list(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
    ) -> Result<Page, StoreError> {
        self.store.list(selector, after, limit).await
    }

    async fn list_at(
        &self,
        selector: Selector,
        after: Option<Key>,
        limit: Option<usize>,
        at: Revision,
    ) -> Result<Page, StoreError> {
        self.store.list_at(selector, after, limit, at).await
    }

    async fn watch(&self, from: Revision) -> Result<Watch, StoreError> {
        self.store.watch(from).await
    }

    async fn revision(&self) -> Result<Revision, StoreError> {
        self.store.revision().await
    }

    async fn compact(&self, keep_from: Revision) -> Result<(), StoreError> {
        self.store.compact(keep_from).await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_keeps_the_contract() {
    contract::check(async || {
        let folder = folder();
        let store = SqliteStore::open(folder.path().join("keyward.db")).await.expect("a new store opens");
        Temporary { store, _folder: folder }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compaction_frees_the_log() {
    let folder = folder();
    let path = folder.path().join("keyward.db");
    let store = SqliteStore::open(&path).await.expect("open");
    let key = Key::new("Secret", "default", "a");
    store.create(key.clone(), contract::body("0")).await.expect("create");
    for _ in 0..500 {
        store.update(key.clone(), None, contract::body("x")).await.expect("update");
        store.delete(key.clone(), None).await.expect("delete");
        store.create(key.clone(), contract::body("0")).await.expect("create");
    }
    let rows = || {
        let connection = rusqlite::Connection::open(&path).expect("open");
        connection.query_row("SELECT count(*) FROM log", [], |row| row.get::<_, i64>(0)).expect("count")
    };
    assert_eq!(rows(), 1_501);
    store.compact(Revision(1_000)).await.expect("compact");
    // What replaces something before the line keeps no more than itself.
    assert!((501..=502).contains(&rows()), "{} rows", rows());
    store.compact(Revision(1_501)).await.expect("compact");
    assert_eq!(rows(), 1);
    let events = contract::events(&mut store.watch(Revision(1_501)).await.expect("watch"), 0).await;
    assert_eq!(events, Vec::<Event>::new());
}

/// Everything that the files of a store hold.
fn contents(folder: &std::path::Path) -> Vec<u8> {
    let files = std::fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    files.flat_map(|file| std::fs::read(file).expect("a file")).collect()
}

fn holds(contents: &[u8], text: &str) -> bool {
    contents.windows(text.len()).any(|window| window == text.as_bytes())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_deleted_is_gone_from_the_files_after_a_compaction() {
    let folder = folder();
    let store = SqliteStore::open(folder.path().join("keyward.db")).await.expect("open");
    for number in 0..50 {
        let key = Key::new("Secret", "default", format!("a-{number}"));
        let record = store.create(key.clone(), contract::body("deleted-secret")).await.expect("create");
        store.get(key.clone()).await.expect("a read").expect("it is there");
        store.delete(key, Some(record.revision)).await.expect("delete");
    }
    assert!(holds(&contents(folder.path()), "deleted-secret"), "the log still knows it");
    store.compact(Revision(100)).await.expect("compact");
    assert!(!holds(&contents(folder.path()), "deleted-secret"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_stop_the_file_alone_is_the_whole_store() {
    let (from, to) = (folder(), folder());
    let key = Key::new("Secret", "default", "a");
    let store = SqliteStore::open(from.path().join("keyward.db")).await.expect("open");
    store.create(key.clone(), contract::body("kept")).await.expect("create");
    store.get(key.clone()).await.expect("a read");
    drop(store);
    std::fs::copy(from.path().join("keyward.db"), to.path().join("keyward.db")).expect("a copy");
    let copy = SqliteStore::open(to.path().join("keyward.db")).await.expect("open");
    let kept = copy.get(key).await.expect("a read").expect("it is there");
    assert_eq!(kept.body, contract::body("kept"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sqlite_is_like_the_model(actions in actions()) {
        runtime().block_on(async {
            let folder = folder();
            let path = folder.path().join("keyward.db");
            let mut store = SqliteStore::open(&path).await.expect("open");
            let mut model = Model::default();
            for action in actions {
                if matches!(action, Action::Reopen) {
                    drop(store);
                    store = SqliteStore::open(&path).await.expect("it opens again");
                }
                model.step(&store, action).await;
            }
            model.compare(&store).await;
            drop(store);
            check_integrity(&path);
            model.compare(&SqliteStore::open(&path).await.expect("it opens again")).await;
        });
    }
}
