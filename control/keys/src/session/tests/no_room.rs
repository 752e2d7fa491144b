//! Workers without room for more.

use super::*;
use crate::fixtures::delete;

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
