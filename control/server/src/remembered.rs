//! Keeps the last good version of every object that is rejected over a restart.
//!
//! While a newer version of an object is rejected, the one before goes on serving. People have
//! overwritten it, so the store holds it nowhere: it is put there once more, beside the objects and out
//! of the sight of the API, for as long as it is needed.
//!
//! So is what proxies run with while they have not yet taken what is newer: a server that starts between
//! the two must not take for good what no proxy has said to be, and has to know what they go back to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream::{self, StreamExt as _};
use keyward_resource::kinds::secret::{KEY_TYPE, canonical_type};
use keyward_resource::{KINDS, Kind, ObjectKey, Resource, decode};
use keyward_store::{Body, Key, Record, Selector, Store, StoreError};
use keyward_translate::LastGood;
use serde_json::{Value, json};

use crate::objects::Content;

/// In front of the kind of what is kept. No kind of the API begins like this.
const PREFIX: &str = "~LastGood/";
/// So many versions are written at once: the store puts them on the disk together.
const AT_ONCE: usize = 64;
/// The kinds of which last good versions are kept.
const KEPT: &[&str] = &[
    "Gateway",
    "RouteOption",
    "RouteTable",
    "Secret",
    "Settings",
    "Upstream",
    "VirtualHostOption",
    "VirtualService",
];

/// What is needed to keep last good versions.
pub(crate) struct Remembered {
    store: Arc<dyn Store>,
    /// The versions that may be needed, by the revision that made them: the present one of each object,
    /// and the last good one.
    versions: BTreeMap<ObjectKey, BTreeMap<u64, Body>>,
    /// The revision of what is kept in the store.
    kept: BTreeMap<ObjectKey, u64>,
}

fn key_of(object: &ObjectKey) -> Key {
    Key::new(format!("{PREFIX}{}", object.kind), &object.namespace, &object.name)
}

/// The form in which a version is kept.
fn wrap(object: &Value, revision: u64, created: u64) -> Body {
    json!({ "revision": revision, "created": created, "object": object }).to_string().into_bytes().into()
}

/// Reads what was kept.
fn unwrap(kind: &'static Kind, record: &Record) -> Option<(u64, Resource)> {
    let mut kept: Value = serde_json::from_slice(&record.body).ok()?;
    let (revision, created) = (kept["revision"].as_u64()?, kept["created"].as_u64()?);
    let mut object = kept["object"].take();
    object["metadata"]["resourceVersion"] = revision.to_string().into();
    let mut resource = decode(kind, &object).ok()?;
    resource.meta_mut().created = created;
    Some((revision, resource))
}

// === impl Remembered ===

impl Remembered {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, versions: BTreeMap::new(), kept: BTreeMap::new() }
    }

    /// Reads what was kept before a restart. What cannot be read any more is passed over.
    pub(crate) async fn load(&mut self) -> Result<LastGood, StoreError> {
        let mut last_good = LastGood::default();
        self.kept.clear();
        self.versions.clear();
        for kind in KINDS.iter().filter(|kind| KEPT.contains(&kind.name)) {
            let page = self.store.list(Selector::kind(format!("{PREFIX}{}", kind.name)), None, None).await?;
            for record in page.records {
                let object = ObjectKey::new(kind.name, &record.key.namespace, &record.key.name);
                match unwrap(kind, &record) {
                    Some((revision, resource)) => {
                        self.versions.entry(object.clone()).or_default().insert(revision, record.body);
                        self.kept.insert(object, revision);
                        last_good.restore(resource);
                    }
                    None => tracing::warn!(%object, "its last good version cannot be read any more"),
                }
            }
        }
        Ok(last_good)
    }

    /// Whether anything is kept that may have to be given up.
    pub(crate) fn keeps_any(&self) -> bool {
        !self.kept.is_empty()
    }

    /// Takes note of the present version of an object, without its status.
    pub(crate) fn saw(&mut self, content: &Content) {
        let Content { object, value, revision, created } = content;
        // Of API keys there may be a million, and none is ever fallen back to.
        let is_key = object.kind == "Secret" && value["type"].as_str().map(canonical_type) == Some(KEY_TYPE);
        if KEPT.contains(&object.kind) && !is_key {
            let body = wrap(value, revision.0, created.0);
            self.versions.entry(object.clone()).or_default().insert(revision.0, body);
        }
    }

    /// Keeps the last good versions that a server which starts now would not find to be good, and gives up
    /// the others. `current` is the revision that made an object what it is, `None` when it does not
    /// exist; what is `confirmed` is given up only once proxies have taken something newer: one may still
    /// refuse it. `is_rejected` tells whether it is rejected as it is.
    ///
    /// A failure of the store is told and made good the next time.
    pub(crate) async fn settle(
        &mut self,
        last_good: &LastGood,
        confirmed: &LastGood,
        current: impl Fn(&ObjectKey) -> Option<u64>,
        is_rejected: impl Fn(&ObjectKey) -> bool,
    ) {
        let good: BTreeMap<ObjectKey, u64> =
            last_good.versions().map(|version| (version.object, version.resource_version)).collect();
        self.versions.retain(|object, versions| {
            // One that a proxy may yet refuse is followed by the one before.
            let wanted = [current(object), good.get(object).copied(), confirmed.version_of(object)];
            versions.retain(|revision, _| wanted.contains(&Some(*revision)));
            !versions.is_empty()
        });
        // A Secret may be gone altogether while a VirtualService is served with it: of all other objects
        // that are gone there is no last good version.
        let needed: BTreeMap<&ObjectKey, u64> = good
            .iter()
            .map(|(object, good)| {
                let confirmed = confirmed.version_of(object).filter(|_| current(object).is_some());
                (object, confirmed.unwrap_or(*good))
            })
            .filter(|(object, revision)| {
                current(object) != Some(*revision)
                    || is_rejected(object)
                    || last_good.holds_against_older(object)
            })
            .collect();
        let may_return = |object: &ObjectKey, revision: u64| {
            current(object).is_some() && confirmed.version_of(object) == Some(revision)
        };
        let surplus = self.kept.iter().filter(|(object, revision)| {
            !needed.contains_key(object)
                && (current(object) == Some(**revision) || !may_return(object, **revision))
        });
        let surplus: BTreeSet<ObjectKey> = surplus.map(|(object, _)| object.clone()).collect();
        let missing = needed.into_iter().filter(|(object, revision)| self.kept.get(object) != Some(revision));
        let missing: Vec<(ObjectKey, u64, Body)> = missing
            .filter_map(|(object, revision)| {
                let body = self.versions.get(object)?.get(&revision)?;
                Some((object.clone(), revision, body.clone()))
            })
            .collect();
        let store = &*self.store;
        let keep = missing.into_iter().map(|(object, revision, body)| async move {
            let outcome = keep(store, key_of(&object), body).await;
            told(outcome, &object).then_some((object, revision))
        });
        let kept: Vec<_> = stream::iter(keep).buffer_unordered(AT_ONCE).collect().await;
        self.kept.extend(kept.into_iter().flatten());
        for object in surplus {
            let outcome = self.store.delete(key_of(&object), None).await.map(drop);
            let outcome = match outcome {
                Err(StoreError::NotFound { .. }) => Ok(()),
                other => other,
            };
            if told(outcome, &object) {
                self.kept.remove(&object);
            }
        }
    }
}

async fn keep(store: &dyn Store, key: Key, body: Body) -> Result<(), StoreError> {
    match store.update(key.clone(), None, body.clone()).await {
        Err(StoreError::NotFound { .. }) => store.create(key, body).await.map(drop),
        other => other.map(drop),
    }
}

/// Whether it went well; otherwise it is in the log.
fn told(outcome: Result<(), StoreError>, object: &ObjectKey) -> bool {
    if let Err(error) = outcome {
        tracing::error!(%object, "its last good version could not be kept: {:#}", anyhow::Error::new(error));
        return false;
    }
    true
}

#[cfg(test)]
mod tests;
