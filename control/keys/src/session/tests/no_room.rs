//! Workers without room for more.

use keyward_filter_core::record::Record;
use keyward_resource::kinds::secret::{ApiKeySecret, KeyLife};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::fixtures::{delete, secret};
use crate::workers::Workers;

/// A worker that holds three keys and has room for few more, a view that does not fit, and its index.
fn full() -> (Line, KeyIndex) {
    let mut index = index(4096);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    line.replica.set_limit(8 * 1024);
    let many = (0..=250_u8).map(|key| {
        let name = format!("b/{}-{key}", "long".repeat(50));
        put(&name, "team=x", key)
    });
    index.apply(2, many);
    (line, index)
}

fn holds(line: &Line, key: u8) -> bool {
    line.content(ONE).is_some_and(|entries| entries.contains_key(&digest(key)))
}

#[test]
fn what_is_revoked_reaches_a_worker_without_room_before_another_snapshot() {
    let (mut line, mut index) = full();
    let view = index.view(only(&[ONE]));
    assert!(line.send(&view).is_some_and(|words| words.starts_with("delta ")));
    line.exchange();
    assert_eq!(line.refused, 1);
    // At whatever point of what is tried instead.
    for (revision, (user, key)) in (3..).zip([("a/ann", 1), ("a/bob", 2), ("a/cat", 3)]) {
        assert!(holds(&line, key));
        index.apply(revision, [delete(user), delete(&format!("b/{}-{key}", "long".repeat(50)))]);
        let view = index.view(only(&[ONE]));
        // A snapshot that has begun is refused first.
        let words = std::iter::from_fn(|| {
            line.exchange();
            line.send(&view).filter(|words| !words.starts_with("delta "))
        });
        assert!(words.take(4).all(|words| !words.starts_with("begin ")));
        line.exchange();
        assert!(!holds(&line, key), "{user} is revoked");
        assert!(line.send(&view).is_none_or(|words| words.starts_with("begin ")));
    }
    // With room it comes right.
    line.replica.set_limit(1024 * 1024);
    index.apply(9, [put("a/eve", "team=x", 251)]);
    let view = index.view(only(&[ONE]));
    line.settle(&view);
    assert_eq!(line.content(ONE), view.table(ONE).map(entries));
}

#[test]
fn a_worker_without_room_is_not_tried_for_ever() {
    let (mut line, index) = full();
    line.settle(&index.view(only(&[ONE])));
    assert_eq!(line.refused, 3);
}

/// What may happen to a Secret, by its number.
#[derive(Debug, Clone)]
enum Fate {
    Put(u8, KeyLife, usize),
    Gone(u8),
}

/// Times of which each is later than the one before.
const TIMES: [Option<u64>; 3] = [None, Some(1_000), Some(2_000)];

fn fate() -> impl Strategy<Value = Fate> {
    let time = || select(&TIMES[..]);
    let life = (time(), time(), any::<bool>()).prop_map(|(not_before, expires_at, disabled)| KeyLife {
        not_before,
        expires_at,
        disabled,
    });
    prop_oneof![
        4 => (10..30_u8, life, 1..200_usize).prop_map(|(key, life, length)| Fate::Put(key, life, length)),
        2 => (10..30_u8).prop_map(Fate::Gone),
    ]
}

/// The Secret of a number. Whose it is stands in its name, which is short or long.
fn of(key: u8, life: KeyLife, length: usize) -> ApiKeySecret {
    ApiKeySecret { life, ..secret(&format!("a/{}-{key}", "n".repeat(length)), "team=x", key) }
}

/// Nobody has more than the table gives, key by key.
fn assert_no_more(line: &Line, view: &KeyView) {
    use keyward_filter_core::decide::Tables as _;
    let Some(held) = line.replica.table(ONE) else { return };
    for (digest, held) in held.iter() {
        let record = view.table(ONE).and_then(|table| table.get(digest)).map(Record::parse);
        let record = record.expect("a key that is revoked is not held").expect("a record");
        assert!(!record.narrows(held), "{record:?} gives less than {held:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever finds no room, and whatever breaks: what is revoked or narrowed is so in the worker, the server
    /// says that it lacks something exactly where it does, and with room it comes right.
    #[test]
    fn a_worker_without_room_gives_nobody_too_much_and_all_know_what_it_lacks(
        steps in vec((vec(fate(), 1..12), any::<bool>(), any::<bool>()), 1..12),
        old in any::<bool>(),
    ) {
        let mut index = index(4096);
        let mut line = Line::new(ROLE, LARGE);
        line.is_old = old;
        line.reconnect();
        let mut workers = Workers::default();
        let mut connection = workers.connect();
        let mut names: BTreeMap<u8, String> = BTreeMap::new();
        let mut settle = |line: &mut Line, view: &KeyView, reconnects: bool| {
            workers.on_keys(view.clone(), std::time::Duration::ZERO);
            if reconnects {
                workers.disconnect(connection, std::time::Duration::ZERO);
                connection = workers.connect();
                line.connect();
            }
            for _ in 0..1_000 {
                for event in line.exchange() {
                    workers.on_event(connection, &event, std::time::Duration::ZERO);
                }
                if line.send(view).is_none() {
                    break;
                }
            }
            assert!(line.to_worker.is_empty(), "it never ends");
            let lacks = workers.standings(std::time::Duration::ZERO).any(|it| !it.missing.is_empty());
            assert_eq!(lacks, line.content(ONE) != view.table(ONE).map(entries));
        };
        settle(&mut line, &index.view(only(&[ONE])), true);
        for (revision, (fates, fits, reconnects)) in (2..).zip(steps) {
            let mut changes = Vec::new();
            for fate in fates {
                let (key, put) = match fate {
                    Fate::Put(key, life, length) => (key, Some(of(key, life, length))),
                    Fate::Gone(key) => (key, None),
                };
                let name = put.as_ref().map(|secret| format!("a/{}", secret.meta.name));
                // A key has one owner.
                let before = std::mem::replace(names.entry(key).or_default(), name.clone().unwrap_or_default());
                if !before.is_empty() && Some(&before) != name.as_ref() {
                    changes.push(delete(&before));
                }
                changes.extend(put.map(Change::PutSecret));
            }
            index.apply(revision, changes);
            line.replica.set_limit(if fits { 1024 * 1024 } else { 1 });
            let view = index.view(only(&[ONE]));
            settle(&mut line, &view, reconnects);
            assert_no_more(&line, &view);
            // A worker learns of more room with a configuration, and so with a stream.
            if fits && reconnects {
                assert_eq!(line.content(ONE), view.table(ONE).map(entries));
            }
        }
        line.replica.set_limit(1024 * 1024);
        let view = index.view(only(&[ONE]));
        settle(&mut line, &view, true);
        assert_eq!(line.content(ONE), view.table(ONE).map(entries));
    }
}

#[test]
fn what_is_revoked_behind_much_that_does_not_fit_reaches_a_worker_without_room() {
    let (mut line, mut index) = full();
    line.settle(&index.view(only(&[ONE])));
    index.apply(3, [delete("a/ann"), delete(&format!("b/{}-1", "long".repeat(50)))]);
    line.session.limits = Limits { delta_bytes: 1024, ..LARGE };
    let sent = line.settle(&index.view(only(&[ONE])));
    assert_eq!(sent.first().map(String::as_str), Some("delta a/one +0 -1"), "{sent:?}");
    assert!(!holds(&line, 1) && holds(&line, 2));
}

#[test]
fn a_change_is_no_gap_after_one_for_which_there_was_no_room() {
    let (mut line, mut index) = full();
    line.settle(&index.view(only(&[ONE])));
    // What did not fit is gone again, and one key with it.
    let many = (0..=250_u8).map(|key| delete(&format!("b/{}-{key}", "long".repeat(50))));
    index.apply(3, many.chain([delete("a/ann"), put("a/eve", "team=x", 251)]));
    let view = index.view(only(&[ONE]));
    let refused = line.refused;
    let sent = line.settle(&view);
    assert_eq!(sent.first().map(String::as_str), Some("delta a/one +0 -1"), "{sent:?}");
    assert_eq!(line.refused, refused, "{sent:?}");
    assert_eq!(line.content(ONE), view.table(ONE).map(entries));
}
