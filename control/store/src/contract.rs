//! What every [`Store`] must do, as a suite to run on each implementation.
//!
//! ```ignore
//! contract::check(async || MyStore::fresh().await).await;
//! ```

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::error::StoreError;
use crate::record::{Body, Event, Key, Record, Revision, Selector};
use crate::store::{Page, Store};
use crate::watch::Watch;

/// How long to wait for what must come. Generous: machines may be busy.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs the whole suite; `fresh` makes an empty store for each part.
///
/// # Panics
///
/// When the store breaks the contract.
pub async fn check<S: Store>(fresh: impl AsyncFn() -> S) {
    an_object_lives_and_dies(&fresh().await).await;
    refused_writes_leave_no_trace(&fresh().await).await;
    lists_are_in_order_and_come_in_pages(&fresh().await).await;
    a_list_shows_the_moment_asked_for(&fresh().await).await;
    bodies_are_bytes(&fresh().await).await;
    a_watch_sees_everything_once_and_in_order(&fresh().await).await;
    a_watch_starts_only_where_the_log_is(&fresh().await).await;
    a_watch_is_compacted_away_only_where_it_lags(&fresh().await).await;
    compaction_takes_nothing_that_exists(&fresh().await).await;
    writers_at_once_do_not_lose_each_other(fresh().await).await;
    a_watch_ends_with_its_store(fresh().await).await;
}

/// A body for tests.
#[must_use]
pub fn body(text: &str) -> Body {
    Body::from(text.as_bytes())
}

/// The next `count` events of a watch.
///
/// # Panics
///
/// When they do not come, or others come.
pub async fn events(watch: &mut Watch, count: usize) -> Vec<Event> {
    let mut events = Vec::new();
    while events.len() < count {
        let batch = timeout(PATIENCE, watch.next()).await.expect("the watch gives a batch in time");
        let batch = batch.expect("the watch goes on").expect("the watch does not fail");
        assert!(!batch.is_empty(), "a batch is never empty");
        events.extend(batch);
    }
    assert_eq!(events.len(), count, "more events than there were changes: {events:?}");
    events
}

fn put(record: &Record, before: Option<&Record>) -> Event {
    Event::Put { record: record.clone(), before: before.cloned() }
}

fn secret(name: &str) -> Key {
    Key::new("Secret", "default", name)
}

async fn revision(store: &impl Store) -> Revision {
    store.revision().await.expect("the revision can be read")
}

async fn create(store: &impl Store, key: Key, text: &str) -> Record {
    store.create(key, body(text)).await.expect("a new object can be created")
}

async fn an_object_lives_and_dies(store: &impl Store) {
    assert_eq!(revision(store).await, Revision(0));
    assert_eq!(store.get(secret("a")).await.expect("get"), None);

    let created = create(store, secret("a"), "1").await;
    let expected = Record { key: secret("a"), revision: Revision(1), created: Revision(1), body: body("1") };
    assert_eq!(created, expected);
    assert_eq!(store.get(secret("a")).await.expect("get"), Some(created.clone()));

    let updated = store.update(secret("a"), Some(created.revision), body("2")).await.expect("update");
    assert_eq!((updated.revision, updated.created), (Revision(2), Revision(1)));
    let updated = store.update(secret("a"), None, body("3")).await.expect("update of whatever is there");
    assert_eq!((updated.revision, updated.created), (Revision(3), Revision(1)));
    assert_eq!(store.get(secret("a")).await.expect("get"), Some(updated.clone()));

    let (gone_at, last) = store.delete(secret("a"), Some(updated.revision)).await.expect("delete");
    assert_eq!((gone_at, last), (Revision(4), updated));
    assert_eq!(store.get(secret("a")).await.expect("get"), None);

    let again = create(store, secret("a"), "4").await;
    assert_eq!((again.revision, again.created), (Revision(5), Revision(5)));
    assert_eq!(revision(store).await, Revision(5));
}

async fn refused_writes_leave_no_trace(store: &impl Store) {
    let there = create(store, secret("there"), "1").await;
    let old = there.revision;
    let now = store.update(secret("there"), None, body("2")).await.expect("update").revision;

    let refused = store.create(secret("there"), body("x")).await;
    assert!(
        matches!(&refused, Err(StoreError::AlreadyExists { key, current }) if *key == secret("there") && *current == now),
        "{refused:?}"
    );
    let conflict = |error: &StoreError| {
        matches!(error, StoreError::Conflict { key, expected, current }
            if *key == secret("there") && *expected == old && *current == now)
    };
    let refused = store.update(secret("there"), Some(old), body("x")).await;
    assert!(refused.as_ref().is_err_and(conflict), "{refused:?}");
    let refused = store.delete(secret("there"), Some(old)).await;
    assert!(refused.as_ref().is_err_and(conflict), "{refused:?}");
    for expected in [None, Some(old)] {
        let refused = store.update(secret("missing"), expected, body("x")).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
        let refused = store.delete(secret("missing"), expected).await;
        assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    }

    assert_eq!(revision(store).await, now);
    let mut watch = store.watch(old).await.expect("watch");
    assert_eq!(events(&mut watch, 1).await.first().map(Event::revision), Some(now));
    assert_eq!(store.get(secret("there")).await.expect("get").map(|record| record.body), Some(body("2")));
}

async fn lists_are_in_order_and_come_in_pages(store: &impl Store) {
    let keys = [
        Key::new("AuthConfig", "default", "z"),
        Key::new("Secret", "a", "b"),
        Key::new("Secret", "a", "bb"),
        Key::new("Secret", "a", "\u{e9}"),
        Key::new("Secret", "a-b", "a"),
        Key::new("Secret", "b", "a"),
        Key::new("Secrets", "a", "a"),
    ];
    for key in keys.iter().rev() {
        create(store, key.clone(), &key.name).await;
    }
    let secrets = &keys[1..6];
    let names = |records: &[Record]| records.iter().map(|record| record.key.clone()).collect::<Vec<_>>();

    let all = store.list(Selector::kind("Secret"), None, None).await.expect("list");
    assert_eq!((names(&all.records).as_slice(), all.revision, all.more), (secrets, Revision(7), false));
    assert!(all.records.iter().all(|record| *record.body == *record.key.name.as_bytes()));
    let some = store.list(Selector::namespaced("Secret", "a"), None, None).await.expect("list");
    assert_eq!(names(&some.records), &keys[1..4]);
    let none = store.list(Selector::namespaced("Secret", "c"), None, None).await.expect("list");
    assert!(none.records.is_empty() && !none.more);

    for selector in [Selector::kind("Secret"), Selector::namespaced("Secret", "a")] {
        for limit in 1..7 {
            let whole = store.list(selector.clone(), None, None).await.expect("list").records;
            let mut pages = Vec::new();
            let mut after = None;
            for _ in 0..=whole.len() {
                let page = store.list(selector.clone(), after, Some(limit)).await.expect("list");
                assert!(page.records.len() <= limit);
                after = page.records.last().map(|record| record.key.clone());
                pages.extend(page.records);
                if !page.more {
                    break;
                }
            }
            assert_eq!(pages, whole, "pages of {limit}");
        }
    }

    // A page goes on where an object was that is gone, and at any other place in the order.
    store.delete(keys[2].clone(), None).await.expect("delete");
    let places = [
        (keys[2].clone(), &keys[3..6]),
        (Key::new("Secret", "a", ""), &keys[1..6]),
        (Key::new("Secret", "aa", "x"), &keys[5..6]),
        (Key::new("AuthConfig", "x", "x"), &keys[1..6]),
        (Key::new("Zzz", "", ""), &[]),
    ];
    for (after, expected) in places {
        let expected: Vec<Key> = expected.iter().filter(|key| **key != keys[2]).cloned().collect();
        let page = store.list(Selector::kind("Secret"), Some(after.clone()), None).await.expect("list");
        assert_eq!(names(&page.records), expected, "after {after}");
        let within = Selector::namespaced("Secret", "a");
        let expected: Vec<Key> = expected.into_iter().filter(|key| within.selects(key)).collect();
        let page = store.list(within, Some(after.clone()), None).await.expect("list");
        assert_eq!(names(&page.records), expected, "after {after} in a");
    }
}

async fn a_list_shows_the_moment_asked_for(store: &impl Store) {
    let selector = || Selector::namespaced("Secret", "default");
    let at = |revision| store.list_at(selector(), None, None, Revision(revision));
    let names = |page: &Page| {
        let shown =
            |record: &Record| format!("{}={}", record.key.name, String::from_utf8_lossy(&record.body));
        page.records.iter().map(shown).collect::<Vec<_>>().join(" ")
    };
    create(store, secret("b"), "1").await;
    create(store, secret("a"), "1").await;
    store.update(secret("b"), None, body("2")).await.expect("update");
    store.delete(secret("a"), None).await.expect("delete");
    create(store, secret("a"), "3").await;
    create(store, Key::new("Secret", "other", "z"), "1").await;
    for (revision, expected) in (1..).zip(["b=1", "a=1 b=1", "a=1 b=2", "b=2", "a=3 b=2", "a=3 b=2"]) {
        let page = at(revision).await.expect("a list of the past");
        assert_eq!((names(&page).as_str(), page.revision.0), (expected, revision));
    }
    assert!(at(0).await.expect("before everything").records.is_empty());
    let first = store.list_at(selector(), None, Some(1), Revision(3)).await.expect("a page");
    assert_eq!((names(&first), first.more), ("a=1".to_owned(), true));
    let rest = store.list_at(selector(), Some(secret("a")), Some(1), Revision(3)).await.expect("a page");
    assert_eq!((names(&rest), rest.more), ("b=2".to_owned(), false));
    store.compact(Revision(4)).await.expect("compact");
    assert!(matches!(at(3).await, Err(StoreError::Compacted { .. })));
    assert_eq!(names(&at(4).await.expect("as far as the log goes")), "b=2");
    assert!(matches!(at(7).await, Err(StoreError::Future { .. })));
}

async fn bodies_are_bytes(store: &impl Store) {
    let large: Vec<u8> = (0..1_500_000_u32).map(|index| index.to_le_bytes()[0]).collect();
    for (name, bytes) in [("empty", vec![]), ("binary", vec![0, 255, 0]), ("large", large)] {
        store.create(secret(name), Body::from(bytes.as_slice())).await.expect("create");
        let read = store.get(secret(name)).await.expect("get").expect("it is there");
        assert_eq!(*read.body, *bytes, "{name}");
        let shown = format!("{read:?}");
        assert!(shown.contains(&format!("[{} bytes]", bytes.len())), "a body is never shown: {shown:.200}");
    }
    let mut watch = store.watch(Revision(0)).await.expect("watch");
    assert!(events(&mut watch, 3).await.iter().all(|event| matches!(event, Event::Put { before: None, .. })));
}

async fn a_watch_sees_everything_once_and_in_order(store: &impl Store) {
    let mut all = store.watch(Revision(0)).await.expect("watch");
    let first = create(store, secret("a"), "1").await;
    assert_eq!(events(&mut all, 1).await, [put(&first, None)]);

    let mut later = store.watch(revision(store).await).await.expect("watch");
    let second = store.update(secret("a"), None, body("2")).await.expect("update");
    let (gone_at, _) = store.delete(secret("a"), None).await.expect("delete");
    let third = create(store, secret("a"), "3").await;
    let expected = [
        put(&second, Some(&first)),
        Event::Delete { key: secret("a"), revision: gone_at, last: second },
        put(&third, None),
    ];
    assert_eq!(events(&mut all, 3).await, expected);
    assert_eq!(events(&mut later, 3).await, expected);

    // More than fits into one batch.
    for number in 0..1_500 {
        create(store, secret(&format!("n{number:04}")), "x").await;
    }
    let numbers: Vec<u64> = events(&mut all, 1_500).await.iter().map(|event| event.revision().0).collect();
    assert_eq!(numbers, (5..1_505).collect::<Vec<_>>());
    drop(all);
    let from = Revision(2);
    let mut again = store.watch(from).await.expect("watch");
    assert_eq!(events(&mut again, 1_502).await.first().map(Event::revision), Some(Revision(3)));
}

async fn a_watch_starts_only_where_the_log_is(store: &impl Store) {
    for number in 0..10 {
        create(store, secret(&number.to_string()), "x").await;
    }
    let refused = store.watch(Revision(11)).await;
    assert!(
        matches!(refused, Err(StoreError::Future { from: Revision(11), current: Revision(10) })),
        "{refused:?}"
    );
    store.compact(Revision(5)).await.expect("compact");
    let refused = store.watch(Revision(4)).await;
    assert!(
        matches!(refused, Err(StoreError::Compacted { from: Revision(4), oldest: Revision(5) })),
        "{refused:?}"
    );
    let mut watch = store.watch(Revision(5)).await.expect("watch from where the log was compacted to");
    assert_eq!(events(&mut watch, 5).await.len(), 5);
    // Compacting further back than before, or into the future, does no harm.
    store.compact(Revision(3)).await.expect("compact");
    store.watch(Revision(5)).await.expect("still the same");
    store.compact(Revision(99)).await.expect("compact");
    store.watch(Revision(10)).await.expect("from the present");
    assert!(matches!(store.watch(Revision(9)).await, Err(StoreError::Compacted { .. })));
}

async fn a_watch_is_compacted_away_only_where_it_lags(store: &impl Store) {
    for round in 0..3_000 {
        if round % 3 == 2 {
            store.delete(secret("a"), None).await.expect("delete");
        } else if round % 3 == 1 {
            store.update(secret("a"), None, body("x")).await.expect("update");
        } else {
            create(store, secret("a"), "x").await;
        }
    }
    let mut slow = store.watch(Revision(0)).await.expect("watch");
    let mut quick = store.watch(Revision(2_999)).await.expect("watch");
    let first = timeout(PATIENCE, slow.next()).await.expect("in time").expect("a batch").expect("no failure");
    assert_eq!(first.first().map(Event::revision), Some(Revision(1)));
    assert_eq!(events(&mut quick, 1).await.first().map(Event::revision), Some(Revision(3_000)));
    store.compact(Revision(3_000)).await.expect("compact");

    let created = create(store, secret("a"), "y").await;
    assert_eq!(events(&mut quick, 1).await, [put(&created, None)]);
    // The slow one may have read ahead, without a gap; then it is told.
    let mut at = first.last().map_or(0, |event| event.revision().0);
    let failure = loop {
        match timeout(PATIENCE, slow.next()).await.expect("in time").expect("a watch does not just end") {
            Ok(batch) => {
                for event in batch {
                    assert_eq!(event.revision().0, at + 1, "a gap");
                    at += 1;
                }
            }
            Err(failure) => break failure,
        }
    };
    assert!(matches!(failure, StoreError::Compacted { oldest: Revision(3_000), .. }), "{failure:?}");
    assert!(timeout(PATIENCE, slow.next()).await.expect("in time").is_none(), "it ends after a failure");
}

async fn compaction_takes_nothing_that_exists(store: &impl Store) {
    let kept = create(store, secret("kept"), "1").await;
    create(store, secret("changed"), "1").await;
    let changed = store.update(secret("changed"), None, body("2")).await.expect("update");
    create(store, secret("gone"), "1").await;
    store.delete(secret("gone"), None).await.expect("delete");
    create(store, secret("going"), "1").await;
    store.compact(Revision(6)).await.expect("compact");

    let all = store.list(Selector::kind("Secret"), None, None).await.expect("list");
    let names: Vec<&str> = all.records.iter().map(|record| record.key.name.as_str()).collect();
    assert_eq!((names, all.revision), (vec!["changed", "going", "kept"], Revision(6)));
    assert_eq!(store.get(secret("kept")).await.expect("get"), Some(kept));
    // What is changed after a compaction is still known as it was before.
    let mut watch = store.watch(Revision(6)).await.expect("watch");
    let (revision, _) = store.delete(secret("changed"), Some(changed.revision)).await.expect("delete");
    let expected = Event::Delete { key: secret("changed"), revision, last: changed };
    assert_eq!(events(&mut watch, 1).await, [expected]);
}

async fn writers_at_once_do_not_lose_each_other(store: impl Store) {
    const WRITERS: usize = 32;
    const ROUNDS: usize = 8;
    let store = Arc::new(store);
    create(&*store, secret("counter"), "0").await;
    let mut watch = store.watch(Revision(1)).await.expect("watch");
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for round in 0..ROUNDS {
                    create(&*store, secret(&format!("w{writer}-{round}")), "x").await;
                    count_up(&*store).await;
                }
            })
        })
        .collect();
    for writer in writers {
        timeout(PATIENCE, writer).await.expect("in time").expect("the writer does not panic");
    }
    let counter = store.get(secret("counter")).await.expect("get").expect("it is there");
    assert_eq!(*counter.body, *(WRITERS * ROUNDS).to_string().as_bytes());
    let events = events(&mut watch, 2 * WRITERS * ROUNDS).await;
    let numbers: Vec<u64> = events.iter().map(|event| event.revision().0).collect();
    assert_eq!(numbers, (2..).take(numbers.len()).collect::<Vec<_>>());
    let created = store.list(Selector::kind("Secret"), None, None).await.expect("list").records;
    assert_eq!(created.len(), WRITERS * ROUNDS + 1);
}

/// Adds one to the counter, again and again until nobody was quicker.
async fn count_up(store: &impl Store) {
    loop {
        let counter = store.get(secret("counter")).await.expect("get").expect("it is there");
        let count: usize = std::str::from_utf8(&counter.body).expect("text").parse().expect("a number");
        let next = body(&(count + 1).to_string());
        match store.update(secret("counter"), Some(counter.revision), next).await {
            Ok(_) => return,
            Err(StoreError::Conflict { .. }) => {}
            Err(failure) => panic!("{failure}"),
        }
    }
}

async fn a_watch_ends_with_its_store(store: impl Store) {
    let mut watch = store.watch(Revision(0)).await.expect("watch");
    let last = create(&store, secret("a"), "x").await;
    assert_eq!(events(&mut watch, 1).await, [put(&last, None)]);
    drop(store);
    let end = timeout(PATIENCE, watch.next()).await.expect("in time");
    assert!(end.is_none(), "{end:?}");
}
