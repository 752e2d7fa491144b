//! Whose a key is that several Secrets hold, from the way in to the key table, and what stands beside a key that
//! was stored before anybody looked at it.

use jiff::{SignedDuration, Timestamp};
use keyward_filter_core::key;
use keyward_filter_core::record::Record as KeyRecord;

use super::*;

async fn with_keys() -> World {
    let world = World::start().await;
    let auth = json!({ "spec": { "configs": [{ "apiKeyAuth": {
        "labelSelector": { "team": "x" },
        "headersFromMetadataEntry": { "x-plan": { "name": "plan" } },
    } }] } });
    world.create("AuthConfig", "team", "keys", auth).await.expect("an AuthConfig");
    world
}

/// A Secret that was rotated: its previous key ends after so many milliseconds.
fn rotated(present: &str, previous: &str, after: i64) -> Value {
    let end = Timestamp::now() + SignedDuration::from_millis(after);
    let mut secret = key_secret(present);
    secret["stringData"]["previous-api-key"] = previous.into();
    secret["stringData"]["previous-expires-at"] = end.to_string().into();
    secret
}

// === impl World ===

impl World {
    /// Waits until a key is somebody's.
    async fn owned(&mut self, literal: &str, owner: &str) {
        let digest = key::digest(literal.as_bytes());
        let is_owned = |view: &KeyView| {
            let record = view.table("team/keys").and_then(|table| table.get(&digest));
            record
                .and_then(|record| KeyRecord::parse(record).ok())
                .is_some_and(|record| record.identity() == owner.as_bytes())
        };
        let seen = tokio::time::timeout(PATIENCE, self.keys.wait_for(is_owned)).await;
        seen.unwrap_or_else(|_| panic!("the key never was {owner}'s")).expect("the loop runs");
    }

    /// Puts an object there past the way in.
    async fn store_raw(&self, kind: &str, name: &str, object: Value) {
        let body = object.to_string().into_bytes().into();
        self.store.create(Key::new(kind, "team", name), body).await.expect("it is stored");
    }
}

#[tokio::test]
async fn an_edit_takes_no_key_over_and_a_restart_changes_nothing() {
    let mut world = with_keys().await;
    for (name, key) in [("ann", "key-one-1"), ("bob", "key-two-2"), ("abe", "key-two-2")] {
        world.create("Secret", "team", name, key_secret(key)).await.expect("a Secret");
    }
    world.owned("key-two-2", "bob").await;
    // Of another one who is older, and first by name.
    world.update("Secret", "team", "ann", key_secret("key-two-2")).await.expect("an edit");
    world.keys("team/keys", 1).await;
    world.owned("key-two-2", "bob").await;
    // Later edits make no key younger.
    let mut labelled = key_secret("key-two-2");
    labelled["metadata"]["labels"]["tier"] = "gold".into();
    world.update("Secret", "team", "bob", labelled).await.expect("an edit");
    // It is a rotated one: who is last is who was given the key by that.
    world
        .update("Secret", "team", "bob", rotated("key-three-3", "key-two-2", 600_000))
        .await
        .expect("an edit");
    world.keys("team/keys", 2).await;
    world.owned("key-two-2", "bob").await;

    let mut again = World::over(Arc::clone(&world.store)).await;
    again.keys("team/keys", 2).await;
    again.owned("key-two-2", "bob").await;
    again.delete("Secret", "team", "bob").await.expect("it goes");
    again.owned("key-two-2", "abe").await;
    again.delete("Secret", "team", "abe").await.expect("it goes");
    again.owned("key-two-2", "ann").await;
}

#[tokio::test]
async fn a_key_whose_overlap_is_over_is_handed_over_although_nothing_changes() {
    let mut world = with_keys().await;
    world.create("Secret", "team", "bob", key_secret("key-one-1")).await.expect("a Secret");
    world.create("Secret", "team", "abe", key_secret("key-one-1")).await.expect("a Secret");
    world.owned("key-one-1", "bob").await;
    world.update("Secret", "team", "bob", rotated("key-two-2", "key-one-1", 3_000)).await.expect("an edit");
    world.keys("team/keys", 2).await;
    world.owned("key-one-1", "bob").await;
    world.owned("key-one-1", "abe").await;
    world.owned("key-two-2", "bob").await;
}

#[tokio::test]
async fn what_no_header_can_carry_is_refused_and_rejected_where_it_was_stored() {
    let mut world = with_keys().await;
    world.create("Secret", "team", "bob", key_secret("key-two-2")).await.expect("a Secret");
    let mut odd = key_secret("key-one-1");
    odd["stringData"]["plan"] = "gold ".into();
    let refused = world.create("Secret", "team", "ann", odd).await.expect_err("it is refused");
    assert_eq!((refused.code, refused.message.contains("data[plan]")), (422, true), "{}", refused.message);

    for (name, entry, value) in [("ann", "plan", "Z29sZCA="), ("abe", "api-key", "dHdvCmxpbmVz")] {
        let mut data = json!({ "api-key": "a2V5LW9uZS0x" });
        data[entry] = value.into();
        let meta = json!({ "namespace": "team", "name": name, "labels": { "team": "x" } });
        let stored = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey", "metadata": meta,
            "data": data,
        });
        world.store_raw("Secret", name, stored).await;
        let object = ObjectKey::new("Secret", "team", name);
        let says = |published: &Arc<Published>| {
            published.report(&object, Revision(1)).is_some_and(|report| report.state == State::Rejected)
        };
        let wait = world.published.wait_for(says);
        tokio::time::timeout(PATIENCE, wait).await.expect("in time").expect("the loop runs");
        let report = world.published.borrow().report(&object, Revision(1)).expect("a report");
        assert!(report.reasons[0].contains(&format!("data.{entry}")), "{:?}", report.reasons);
    }
    world.create("Secret", "team", "cat", key_secret("key-three-3")).await.expect("a Secret");
    world.keys("team/keys", 2).await;
    world.owned("key-two-2", "bob").await;
    world.owned("key-three-3", "cat").await;
}

/// Whoever waits for a revocation is told the truth: nothing stands between it and the keys.
#[tokio::test]
async fn a_secret_that_finalizers_keep_has_let_go_of_its_key() {
    let mut world = with_keys().await;
    let mut held = key_secret("key-one-1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    world.create("Secret", "team", "bob", held).await.expect("a Secret");
    world.create("Secret", "team", "abe", key_secret("key-one-1")).await.expect("a Secret");
    world.owned("key-one-1", "bob").await;
    let marked = world.delete("Secret", "team", "bob").await.expect("it is marked");
    assert_eq!(marked.effect, keyward_api::Effect::Changed);
    world.owned("key-one-1", "abe").await;
    world.delete("Secret", "team", "abe").await.expect("it goes");
    world.keys("team/keys", 0).await;

    let mut again = World::over(Arc::clone(&world.store)).await;
    again.keys("team/keys", 0).await;
    let object = ObjectKey::new("Secret", "team", "bob");
    let says = |published: &Arc<Published>| {
        let report = published.report(&object, marked.revision.expect("a revision"));
        report.is_some_and(|report| report.reasons[0].contains("its keys are revoked already"))
    };
    let wait = again.published.wait_for(says);
    drop(tokio::time::timeout(PATIENCE, wait).await.expect("in time").expect("the loop runs"));
    // An edit brings nothing back.
    let mut edited = key_secret("key-two-2");
    edited["metadata"]["finalizers"] = json!(["example.com/hold"]);
    again.update("Secret", "team", "bob", edited).await.expect("an edit");
    again.create("Secret", "team", "cat", key_secret("key-three-3")).await.expect("a Secret");
    again.owned("key-three-3", "cat").await;
    again.keys("team/keys", 1).await;
}
