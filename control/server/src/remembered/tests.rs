//! Tests of what is kept over a restart.

use keyward_store::MemoryStore;

use super::*;

fn upstream(port: u16) -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": { "name": "u", "namespace": "n" },
        "spec": { "static": { "hosts": [{ "addr": "a.example.com", "port": port }] } },
    })
}

fn object() -> ObjectKey {
    ObjectKey::new("Upstream", "n", "u")
}

fn content(revision: u64, port: u16) -> Content {
    let revision = keyward_store::Revision(revision);
    Content { object: object(), value: upstream(port), revision, created: keyward_store::Revision(1) }
}

fn decoded(revision: u64, port: u16) -> LastGood {
    let kind = keyward_resource::kind::by_name("Upstream").expect("a kind");
    let body = wrap(&upstream(port), revision, 1);
    let record = Record {
        key: key_of(&object()),
        revision: keyward_store::Revision(1),
        created: keyward_store::Revision(1),
        body,
    };
    let mut last_good = LastGood::default();
    last_good.restore(unwrap(kind, &record).expect("what was wrapped").1);
    last_good
}

#[tokio::test]
async fn a_last_good_version_outlives_a_restart_for_as_long_as_it_is_needed() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut remembered = Remembered::new(store.clone());
    remembered.saw(&content(3, 80));
    let good = decoded(3, 80);
    remembered.settle(&good, &good, |_| Some(3), |_| false).await;
    assert_eq!(
        store.revision().await.expect("a revision").0,
        0,
        "the present version is in the store anyway"
    );

    // A newer version is rejected.
    remembered.saw(&content(5, 81));
    remembered.settle(&good, &good, |_| Some(5), |_| true).await;
    let mut restarted = Remembered::new(store.clone());
    assert_eq!(restarted.load().await.expect("what was kept"), good);

    // Its successor may be good, but no proxy has said so: after another restart it may be needed again.
    restarted.saw(&content(7, 82));
    restarted.settle(&decoded(7, 82), &good, |_| Some(7), |_| false).await;
    assert_eq!(Remembered::new(store.clone()).load().await.expect("what was kept"), good);
    restarted.settle(&decoded(7, 82), &decoded(7, 82), |_| Some(7), |_| false).await;
    assert_eq!(Remembered::new(store.clone()).load().await.expect("nothing"), LastGood::default());
}

#[tokio::test]
async fn what_is_good_no_more_through_no_change_of_its_own_is_kept_too() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut remembered = Remembered::new(store.clone());
    remembered.saw(&content(3, 80));
    let good = decoded(3, 80);
    remembered.settle(&good, &good, |_| Some(3), |_| true).await;
    assert_eq!(Remembered::new(store.clone()).load().await.expect("what was kept"), good);
    // Even when it is deleted, for as long as something that is served needs it.
    remembered.settle(&good, &good, |_| None, |_| false).await;
    assert_eq!(Remembered::new(store.clone()).load().await.expect("what was kept"), good);
    remembered.settle(&LastGood::default(), &LastGood::default(), |_| None, |_| false).await;
    assert_eq!(Remembered::new(store).load().await.expect("nothing"), LastGood::default());
}

#[tokio::test]
async fn a_version_that_a_proxy_refuses_later_has_one_before_it() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut remembered = Remembered::new(store.clone());
    let (good, new) = (decoded(3, 80), decoded(5, 81));
    remembered.saw(&content(3, 80));
    remembered.settle(&good, &good, |_| Some(3), |_| false).await;
    // The newer version is taken for good until a proxy refuses it.
    remembered.saw(&content(5, 81));
    remembered.settle(&new, &good, |_| Some(5), |_| false).await;
    remembered.settle(&good, &good, |_| Some(5), |_| true).await;
    assert_eq!(Remembered::new(store).load().await.expect("what was kept"), good);
}

#[tokio::test]
async fn what_proxies_run_with_is_kept_until_they_have_taken_what_is_newer() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let mut remembered = Remembered::new(store.clone());
    let (old, new, newest) = (decoded(3, 80), decoded(5, 81), decoded(7, 82));
    remembered.saw(&content(3, 80));
    remembered.settle(&old, &old, |_| Some(3), |_| false).await;
    // Valid, published and never confirmed: whoever starts now goes back to what was.
    remembered.saw(&content(5, 81));
    remembered.settle(&new, &old, |_| Some(5), |_| false).await;
    let mut restarted = Remembered::new(store.clone());
    assert_eq!(restarted.load().await.expect("what was kept"), old);
    // Nor does it count when a third one is rejected and it serves on.
    restarted.saw(&content(5, 81));
    restarted.saw(&content(7, 82));
    restarted.settle(&new, &old, |_| Some(7), |_| true).await;
    assert_eq!(Remembered::new(store.clone()).load().await.expect("what was kept"), old);
    restarted.settle(&newest, &newest, |_| Some(7), |_| false).await;
    assert_eq!(Remembered::new(store).load().await.expect("nothing"), LastGood::default());
}
