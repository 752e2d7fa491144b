//! Fills the store of a control server that does not run: the same objects as over REST, sooner.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context as _;
use keyward_api::{AuditLog, FieldValidation, Identity, Origin, Sight, Target, WriteOptions, Writer};
use keyward_store::{SqliteStore, Store};
use serde_json::{Value, json};

use crate::keys::{self, NAMESPACE};
use crate::progress::Progress;

/// Writes under way at once: the store shares one sync between those that wait.
const WRITERS: usize = 512;
/// The namespace of the installation, unless it is told another.
const SYSTEM_NAMESPACE: &str = "keyward-system";

/// The Secret of a key.
pub(crate) fn secret(number: usize) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "extauth.keyward.io/apikey",
        // One label for each of two AuthConfigs.
        "metadata": { "name": keys::identity(number), "labels": { "team": "bench", "again": "yes" } },
        "stringData": { "api-key": keys::known(number) },
    })
}

/// Adds the Secrets from one number up to another to the store in a data folder.
pub(crate) async fn fill(data: &Path, from: usize, to: usize) -> anyhow::Result<()> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(data.join("keyward.db")).await?);
    let writer = Writer::new(Arc::clone(&store), Arc::new(AuditLog), SYSTEM_NAMESPACE, Origin::SYSTEM);
    let next = Arc::new(AtomicUsize::new(from));
    let progress = Progress::new("Secrets into the store", to - from);
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..WRITERS.min(to - from) {
        let (next, writer, progress) = (Arc::clone(&next), writer.clone(), progress.clone());
        writers.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= to {
                    return anyhow::Ok(());
                }
                write(&writer, secret(number)).await?;
                progress.one();
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.context("a writer failed")??;
    }
    // The file is free once the last handle is gone, which waits for the writer thread.
    drop(writer);
    tokio::task::spawn_blocking(move || drop(store)).await?;
    Ok(())
}

async fn write(writer: &Writer, object: Value) -> anyhow::Result<()> {
    let options = WriteOptions {
        identity: Identity { name: Arc::from("bench"), peer: None, sight: Sight::EVERYWHERE },
        manager: "bench".to_owned(),
        dry_run: false,
        field_validation: FieldValidation::Strict,
    };
    let mut target =
        Target::of_object(&object, NAMESPACE).map_err(|status| anyhow::anyhow!(status.message))?;
    target.name = None;
    let written = writer.create(&target, object, &options).await;
    written.map(|_| ()).map_err(|status| anyhow::anyhow!(status.message))
}
