use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyward_filter_core::wire::Digest;
use keyward_keys::Change;
use keyward_resource::kinds::secret::ApiKeySecret;
use keyward_resource::{Resource, decode, kind};
use keyward_store::Revision;
use serde_json::json;
use tempfile::TempDir;

use super::*;

/// A server that knows some Secrets, and its file.
struct World {
    usage: Usage,
    published: watch::Sender<Arc<Published>>,
    folder: TempDir,
}

fn secret(name: &str, created: u64) -> ApiKeySecret {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": name },
        "data": { "api-key": STANDARD.encode(format!("key of {name}")) },
    });
    let kind = kind::by_name("Secret").expect("a kind");
    match decode(kind, &object).expect("a Secret") {
        Resource::ApiKeySecret(mut secret) => {
            secret.meta.created = created;
            secret
        }
        other => panic!("no key: {other:?}"),
    }
}

fn digest(name: &str) -> Digest {
    keyward_filter_core::key::digest(format!("key of {name}").as_bytes())
}

fn worker() -> WorkerName {
    WorkerName { node: "n".to_owned(), role: "r".to_owned(), worker: "w".to_owned() }
}

fn report(revision: u64, uses: &[(&str, u32, u32)]) -> Vec<TableUses> {
    let uses = uses.iter().map(|(name, uses, last)| (digest(name), *uses, *last)).collect();
    vec![TableUses { table: "team/keys".to_owned(), revision, uses }]
}

fn open(folder: &TempDir) -> Usage {
    let file = UsageFile::open(&folder.path().join("usage.db")).expect("a file");
    Usage { now: || 1_000, ..Usage::new(file).expect("a readable file") }
}

impl World {
    fn start() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (published, _) =
            watch::channel(Arc::new(Published { revision: Some(Revision(1)), ..Published::default() }));
        let world = Self { usage: open(&folder), published, folder };
        world.apply(1, ["ann", "bob", "cat"].map(|name| Change::PutSecret(secret(name, 1))));
        world
    }

    fn apply(&self, revision: u64, changes: impl IntoIterator<Item = Change>) {
        let published = self.published.borrow().clone();
        published.index.write().expect("the index").apply(revision, changes);
    }

    fn take(&self, seq: u64, tables: &[TableUses]) {
        let published = self.published.borrow().clone();
        let index = published.index.read().expect("the index");
        self.usage.take(&worker(), seq, tables, &index);
    }

    async fn list(&self, limit: usize) -> BTreeMap<String, (u64, u64)> {
        let (mut all, mut after) = (BTreeMap::new(), None);
        loop {
            let published = self.published.subscribe();
            let page = self.usage.list(&published, None, after, limit).await.expect("a page");
            assert!(page.rows.len() <= limit);
            all.extend(page.rows.into_iter().map(|row| (row.name, (row.uses, row.last_used))));
            after = page.next;
            if after.is_none() {
                return all;
            }
        }
    }
}

fn rows(rows: &[(&str, u64, u64)]) -> BTreeMap<String, (u64, u64)> {
    rows.iter().map(|(name, uses, last)| ((*name).to_owned(), (*uses, *last))).collect()
}

#[tokio::test]
async fn what_is_saved_is_listed_and_outlives_the_server() {
    let mut world = World::start();
    world.take(1, &report(1, &[("ann", 3, 50), ("bob", 1, 9_999), ("nobody", 7, 50)]));
    assert_eq!((world.usage.stored(&worker()), world.list(10).await), (0, rows(&[])));
    assert!(world.usage.save().await);
    assert_eq!(world.usage.stored(&worker()), 1);
    // No clock is believed that is ahead of ours.
    assert_eq!(world.list(1).await, rows(&[("ann", 3, 50), ("bob", 1, 1_000)]));

    // A server that dies here has not saved this, and is sent it again.
    world.take(2, &report(1, &[("ann", 5, 60)]));
    world.usage = open(&world.folder);
    assert_eq!(world.usage.stored(&worker()), 1);
    for seq in [1, 2, 2] {
        world.take(seq, &report(1, &[("ann", 5, 60)]));
    }
    assert!(world.usage.save().await);
    assert_eq!(world.list(10).await, rows(&[("ann", 8, 60), ("bob", 1, 1_000)]));
}

#[tokio::test]
async fn a_secret_that_is_deleted_is_forgotten() {
    let world = World::start();
    world.take(1, &report(1, &[("ann", 3, 50), ("bob", 1, 50), ("cat", 1, 50)]));
    assert!(world.usage.save().await);
    let gone = |name| Change::DeleteSecret(ObjectRef::new("team", name));
    world.apply(2, [gone("ann"), gone("bob"), Change::PutSecret(secret("bob", 2))]);
    assert_eq!(world.list(1).await, rows(&[("cat", 1, 50)]));
    // What the new one is used for is its own, and what the old one was used for is nobody's.
    world.take(2, &report(1, &[("bob", 9, 60)]));
    world.take(3, &report(2, &[("bob", 2, 60)]));
    assert!(world.usage.save().await);
    assert_eq!(world.list(10).await, rows(&[("bob", 2, 60), ("cat", 1, 50)]));
    assert_eq!(world.usage.page(None, None, 10).await.expect("rows").len(), 3);
    world.usage.sweep(&world.published.subscribe()).await.expect("swept");
    assert_eq!(world.usage.page(None, None, 10).await.expect("rows").len(), 2);
}

#[tokio::test]
async fn nothing_is_forgotten_before_it_is_known_which_secrets_there_are() {
    let world = World::start();
    world.take(1, &report(1, &[("ann", 3, 50)]));
    assert!(world.usage.save().await);
    let (_starting, published) = watch::channel(Arc::new(Published::default()));
    world.usage.sweep(&published).await.expect("swept");
    assert_eq!(world.list(10).await, rows(&[("ann", 3, 50)]));
}

#[tokio::test(start_paused = true)]
async fn reports_are_saved_soon_and_when_the_server_stops() {
    let world = World::start();
    let stop = CancellationToken::new();
    let task = tokio::spawn(world.usage.clone().run(world.published.subscribe(), stop.clone()));
    let mut stored = world.usage.changes();
    world.take(1, &report(1, &[("ann", 3, 50)]));
    tokio::time::timeout(Duration::from_secs(60), stored.changed()).await.expect("soon").expect("stored");
    assert_eq!(world.usage.stored(&worker()), 1);
    world.take(2, &report(1, &[("ann", 1, 70)]));
    stop.cancel();
    task.await.expect("no panic").expect("no failure");
    assert_eq!(world.usage.stored(&worker()), 2);
    assert_eq!(world.list(10).await, rows(&[("ann", 4, 70)]));
}
