//! Writes what each proxy is told to do as an object of kind `Proxy`, for people to read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use keyward_api::{Preconditions, Target, WriteOptions, Writer};
use keyward_resource::ApiStatus;
use keyward_translate::proxy::Proxy;
use keyward_translate::proxy::object::{object, skeleton};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::published::Published;

/// Changes within this time are written together: nothing but eyes waits for these objects.
const SETTLE: Duration = Duration::from_secs(1);
/// The field manager.
const MANAGER: &str = "keyward";

/// What each proxy is told, by node role.
pub(crate) type Proxies = BTreeMap<String, Proxy>;

/// Follows what is published until cancelled.
pub(crate) async fn follow(
    writer: Writer,
    mut published: watch::Receiver<Arc<Published>>,
    cancelled: CancellationToken,
) -> anyhow::Result<()> {
    let mut written: BTreeMap<String, Value> = BTreeMap::new();
    loop {
        tokio::select! {
            () = cancelled.cancelled() => return Ok(()),
            changed = published.changed() => if changed.is_err() { return Ok(()) },
        }
        tokio::select! {
            () = cancelled.cancelled() => return Ok(()),
            () = sleep(SETTLE) => {}
        }
        let proxies = Arc::clone(&published.borrow_and_update().told);
        let gone: BTreeSet<String> =
            written.keys().filter(|role| !proxies.contains_key(*role)).cloned().collect();
        for role in gone {
            report(&role, delete(&writer, &role).await);
            written.remove(&role);
        }
        for (role, proxy) in &*proxies {
            let Some(object) = object(role, proxy) else { continue };
            if written.get(role) != Some(&object) {
                report(role, apply(&writer, &object).await);
                written.insert(role.clone(), object);
            }
        }
    }
}

async fn apply(writer: &Writer, object: &Value) -> Result<(), ApiStatus> {
    let target = Target::of_object(object, "")?;
    writer.apply(&target, object.clone(), true, &WriteOptions::internal(MANAGER)).await.map(drop)
}

async fn delete(writer: &Writer, role: &str) -> Result<(), ApiStatus> {
    let Some((namespace, name)) = role.split_once('~') else { return Ok(()) };
    let target = Target::of_object(&skeleton(namespace, name), namespace)?;
    writer.delete(&target, &Preconditions::default(), &WriteOptions::internal(MANAGER)).await.map(drop)
}

fn report(role: &str, outcome: Result<(), ApiStatus>) {
    if let Err(status) = outcome {
        tracing::warn!(%role, "the Proxy object could not be written: {}", status.message);
    }
}
