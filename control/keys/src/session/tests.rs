use keyward_filter_core::wire::{ConfigApplied, TableUsage, TableVersion, Usage, pack_use};

use super::*;
use crate::fixtures::{delete_config, digest, entries, foreign, put, put_config, wanted};
use crate::index::{Change, KeyIndex, LogLimits};
use crate::view::Wanted;
use line::Line;

mod line;
mod model;
mod no_room;
mod shared;

const ONE: &str = "a/one";
const TWO: &str = "a/two";
const ROLE: &str = "front";

/// Any message is large enough.
const LARGE: Limits = Limits { chunk_bytes: CHUNK_BYTES, delta_bytes: DELTA_BYTES };
/// Every entry is a chunk and every change a delta.
const SMALL: Limits = Limits { chunk_bytes: 1, delta_bytes: 1 };

/// An index with `a/one`, three keys of team x, and `a/two`, one key of team y.
fn index(log_limit: usize) -> KeyIndex {
    let mut index = KeyIndex::with_log_limits(LogLimits { changes: log_limit, ..LogLimits::default() });
    index.apply(1, objects());
    index
}

fn objects() -> Vec<Change> {
    vec![
        put("a/ann", "team=x", 1),
        put("a/bob", "team=x", 2),
        put("a/cat", "team=x", 3),
        put("a/dan", "team=y", 4),
        put_config(ONE, "team=x", &[]),
        put_config(TWO, "team=y", &[]),
    ]
}

fn only(tables: &[&str]) -> Wanted {
    wanted(&[(ROLE, tables)])
}

/// A worker that holds what it wants as it is in the view.
fn in_sync(view: &KeyView, limits: Limits) -> Line {
    let mut line = Line::new(ROLE, limits);
    line.settle(view);
    for (name, table) in view.wanted_tables(ROLE) {
        assert_eq!(line.content(name), Some(entries(&table.table)));
    }
    line
}

fn version(view: &KeyView, table: &str) -> Version {
    view.table(table).expect("the table exists").version()
}

fn message(kind: client_message::Kind) -> ClientMessage {
    ClientMessage { kind: Some(kind) }
}

fn ack(table: &str, version: Version) -> ClientMessage {
    let held = TableVersion { table: table.to_owned(), version: Some(version), content: None };
    message(client_message::Kind::Ack(Ack { held: Some(held), ..Ack::default() }))
}

fn nack(table: &str, reason: &str) -> ClientMessage {
    message(client_message::Kind::Nack(Nack {
        table: table.to_owned(),
        reason: reason.to_owned(),
        ..Nack::default()
    }))
}

fn subscribe(held: Vec<TableVersion>) -> ClientMessage {
    let subscribe = Subscribe { role: ROLE.to_owned(), held, ..Subscribe::default() };
    message(client_message::Kind::Subscribe(subscribe))
}

#[test]
fn a_stream_begins_with_subscribe_and_has_one() {
    let view = index(8).view(only(&[ONE]));
    let applied = || message(client_message::Kind::ConfigApplied(ConfigApplied { version: 3 }));
    for early in [ack(ONE, foreign()), nack(ONE, ""), applied()] {
        let mut session = Session::new();
        assert_eq!(session.on_message(early), Err(ProtocolError::NotSubscribed));
        assert_eq!(session.next(&view), None);
    }
    let mut session = Session::new();
    assert_eq!(session.role(), None);
    let events = session.on_message(subscribe(Vec::new())).expect("it belongs there");
    assert!(matches!(&events[..], [SessionEvent::Subscribed { held, .. }] if held.is_empty()));
    assert_eq!(session.role(), Some(ROLE));
    assert_eq!(session.on_message(applied()), Ok(vec![SessionEvent::ConfigApplied { version: 3 }]));
    assert_eq!(session.on_message(subscribe(Vec::new())), Err(ProtocolError::SubscribedTwice));
}

#[test]
fn a_message_that_says_nothing_ends_the_stream() {
    let unversioned = TableVersion { table: ONE.to_owned(), version: None, content: None };
    let mut session = Session::new();
    assert_eq!(session.on_message(ClientMessage { kind: None }), Err(ProtocolError::Unknown));
    let held = subscribe(vec![unversioned.clone()]);
    assert_eq!(Session::new().on_message(held), Err(ProtocolError::NoVersion));
    session.on_message(subscribe(Vec::new())).expect("it belongs there");
    for held in [None, Some(unversioned)] {
        let ack = message(client_message::Kind::Ack(Ack { held, ..Ack::default() }));
        assert_eq!(session.on_message(ack), Err(ProtocolError::NoVersion));
    }
}

#[test]
fn a_report_of_uses_is_read_and_its_storage_is_told_once() {
    let view = index(8).view(only(&[]));
    let mut packed = Vec::new();
    pack_use(&mut packed, &digest(1), 3, 99);
    pack_use(&mut packed, &digest(2), 1, 98);
    let report = |uses: &[u8]| {
        let table = TableUsage { table: ONE.to_owned(), revision: 7, uses: uses.to_vec() };
        message(client_message::Kind::Usage(Usage { seq: 4, tables: vec![table] }))
    };
    let mut session = Session::new();
    session.on_stored(3);
    assert_eq!(session.next(&view), None, "nothing before it has subscribed");
    assert_eq!(session.on_message(report(&packed)), Err(ProtocolError::NotSubscribed));
    session.on_message(subscribe(Vec::new())).expect("it belongs there");
    let stored = |seq| Some(ServerMessage { kind: Some(server_message::Kind::UsageAck(UsageAck { seq })) });
    assert_eq!((session.next(&view), session.next(&view)), (stored(3), None));
    let uses = vec![(digest(1), 3, 99), (digest(2), 1, 98)];
    let tables = vec![TableUses { table: ONE.to_owned(), revision: 7, uses }];
    assert_eq!(session.on_message(report(&packed)), Ok(vec![SessionEvent::Used { seq: 4, tables }]));
    session.on_stored(4);
    assert_eq!((session.next(&view), session.next(&view)), (stored(4), None));
    assert_eq!(session.on_message(report(&packed[1..])), Err(ProtocolError::Uses));
}

#[test]
fn a_worker_without_a_table_is_sent_all_of_it_in_chunks_the_shortest_table_first() {
    let view = index(8).view(only(&[ONE, TWO]));
    let mut line = Line::new(ROLE, SMALL);
    let two = ["begin a/two 1", "chunk a/two 1", "end a/two"];
    let one = ["begin a/one 3", "chunk a/one 1", "chunk a/one 1", "chunk a/one 1", "end a/one"];
    assert_eq!(line.settle(&view), [&two[..], &one].concat());
    assert_eq!(line.refused, 0);
    let mut line = Line::new(ROLE, Limits { chunk_bytes: 2 * 21, ..LARGE });
    let one = ["begin a/one 3", "chunk a/one 2", "chunk a/one 1", "end a/one"];
    assert_eq!(line.settle(&view), [&two[..], &one].concat());
    let mut line = Line::new(ROLE, LARGE);
    assert_eq!(line.settle(&view)[3..], ["begin a/one 3", "chunk a/one 3", "end a/one"]);
    assert_eq!(line.settle(&view), [""; 0]);
}

#[test]
fn an_empty_table_is_sent_too() {
    let mut index = KeyIndex::new();
    index.apply(1, [put_config(ONE, "team=x", &[])]);
    let view = index.view(only(&[ONE]));
    let mut line = Line::new(ROLE, LARGE);
    assert_eq!(line.settle(&view), ["begin a/one 0", "end a/one"]);
    assert_eq!(line.replica.version(ONE), Some(version(&view, ONE)));
}

#[test]
fn a_change_of_what_is_held_is_a_delta() {
    let mut index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    index.apply(2, [put("a/eve", "team=x", 5), put("a/ann", "team=x", 6)]);
    let view = index.view(only(&[ONE]));
    assert_eq!(line.settle(&view), ["delta a/one +2 -1"]);
    assert_eq!(line.settle(&view), [""; 0]);
    index.apply(3, [put("a/dan", "team=y", 9)]);
    assert_eq!(line.settle(&index.view(only(&[ONE]))), [""; 0]);
}

#[test]
fn one_change_of_a_table_is_on_its_way_and_the_next_is_what_piled_up_meanwhile() {
    let mut index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE, TWO])), LARGE);
    index.apply(2, [put("a/ann", "team=x", 11)]);
    assert_eq!(line.send(&index.view(only(&[ONE, TWO]))).as_deref(), Some("delta a/one +1 -1"));
    index.apply(3, [put("a/ann", "team=x", 12)]);
    index.apply(4, [put("a/ann", "team=x", 13), put("a/bob", "", 2)]);
    assert_eq!(line.send(&index.view(only(&[ONE, TWO]))), None);
    index.apply(5, [put("a/dan", "team=y", 14)]);
    let view = index.view(only(&[ONE, TWO]));
    assert_eq!(line.send(&view).as_deref(), Some("delta a/two +1 -1"));
    assert_eq!(line.send(&view), None);
    line.deliver();
    line.answer();
    assert_eq!(line.send(&view).as_deref(), Some("delta a/one +1 -2"));
    assert_eq!(line.settle(&view), [""; 0]);
    assert_eq!((line.refused, line.replica.version(ONE)), (0, Some(version(&view, ONE))));
}

#[test]
fn a_snapshot_is_of_one_moment_and_deltas_of_other_tables_pass_it_by() {
    let mut index = index(8);
    let mut line = in_sync(&index.view(only(&[TWO])), SMALL);
    let both = only(&[ONE, TWO]);
    assert_eq!(line.send(&index.view(both.clone())).as_deref(), Some("begin a/one 3"));
    index.apply(2, [put("a/ann", "", 1), put("a/dan", "team=y", 5)]);
    let view = index.view(both);
    let mut sent = line.settle(&view);
    assert_eq!(sent.remove(0), "delta a/two +1 -1");
    let rest = ["chunk a/one 1", "chunk a/one 1", "chunk a/one 1", "end a/one", "delta a/one +0 -1"];
    assert_eq!(sent, rest);
    assert_eq!(line.refused, 0);
}

#[test]
fn a_worker_that_comes_back_is_sent_what_it_missed() {
    let mut index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    line.reconnect();
    assert_eq!(line.settle(&index.view(only(&[ONE]))), [""; 0]);
    index.apply(2, [put("a/eve", "team=x", 5)]);
    index.apply(3, [put("a/ann", "team=x", 6)]);
    line.reconnect();
    let view = index.view(only(&[ONE]));
    assert_eq!(line.settle(&view), ["delta a/one +2 -1"]);
    // What was lost on the way is sent again.
    index.apply(4, [put("a/ann", "team=x", 7)]);
    let view = index.view(only(&[ONE]));
    assert_eq!(line.send(&view).as_deref(), Some("delta a/one +1 -1"));
    line.reconnect();
    assert_eq!(line.settle(&view), ["delta a/one +1 -1"]);
}

#[test]
fn a_worker_that_missed_more_than_the_log_holds_is_sent_a_snapshot() {
    let mut index = index(1);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    index.apply(2, [put("a/eve", "team=x", 5)]);
    index.apply(3, [put("a/fay", "team=x", 6)]);
    let view = index.view(only(&[ONE]));
    assert_eq!(line.settle(&view), ["begin a/one 5", "chunk a/one 5", "end a/one"]);
}

#[test]
fn a_snapshot_that_has_begun_is_ended_even_if_the_worker_holds_the_content_again() {
    let mut index = index(0);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    index.apply(2, [put("a/ann", "", 1)]);
    assert_eq!(line.send(&index.view(only(&[ONE]))).as_deref(), Some("begin a/one 2"));
    index.apply(3, [put("a/ann", "team=x", 1)]);
    let view = index.view(only(&[ONE]));
    let again = ["chunk a/one 2", "end a/one", "begin a/one 3", "chunk a/one 3", "end a/one"];
    assert_eq!(line.settle(&view), again);
    assert_eq!((line.refused, line.replica.version(ONE)), (0, Some(version(&view, ONE))));
}

#[test]
fn a_new_server_sends_no_content_to_who_holds_it() {
    let mut line = in_sync(&index(8).view(only(&[ONE])), LARGE);
    let mut later = KeyIndex::new();
    later.apply(7, objects());
    let view = later.view(only(&[ONE]));
    line.reconnect();
    assert_eq!(line.settle(&view), ["delta a/one +0 -0"]);
    assert_eq!(line.replica.version(ONE), Some(version(&view, ONE)));
    line.reconnect();
    assert_eq!(line.settle(&view), [""; 0]);
    let mut same = KeyIndex::new();
    same.apply(7, objects());
    line.reconnect();
    assert_eq!(line.settle(&same.view(only(&[ONE]))), [""; 0]);
}

#[test]
fn a_new_server_with_other_content_sends_a_snapshot() {
    let mut line = in_sync(&index(8).view(only(&[ONE])), LARGE);
    let mut later = KeyIndex::new();
    later.apply(1, objects().into_iter().chain([put("a/eve", "team=x", 5)]));
    line.reconnect();
    let sent = line.settle(&later.view(only(&[ONE])));
    assert_eq!(sent, ["begin a/one 4", "chunk a/one 4", "end a/one"]);
}

#[test]
fn after_a_refusal_comes_a_snapshot() {
    let mut index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE])), SMALL);
    index.apply(2, [put("a/ann", "", 1)]);
    let view = index.view(only(&[ONE]));
    assert_eq!(line.send(&view).as_deref(), Some("delta a/one +0 -1"));
    line.damage();
    let snapshot = ["begin a/one 2", "chunk a/one 1", "chunk a/one 1", "end a/one"];
    assert_eq!(line.settle(&view), snapshot);
    assert_eq!(line.refused, 1);
    // A refusal in the middle of a snapshot starts it anew.
    index.apply(3, [put_config(ONE, "team=y", &[]), put("a/eve", "team=y", 5)]);
    let mut fresh = Line::new(ROLE, SMALL);
    let view = index.view(only(&[ONE]));
    fresh.send(&view);
    fresh.send(&view);
    fresh.damage();
    assert_eq!(fresh.settle(&view), snapshot);
    assert_eq!((fresh.refused, fresh.replica.version(ONE)), (1, Some(version(&view, ONE))));
}

#[test]
fn what_is_refused_again_and_again_is_offered_once_a_version() {
    let mut index = index(8);
    let view = index.view(only(&[ONE]));
    let mut line = Line::new(ROLE, LARGE);
    let mut sent = Vec::new();
    for _ in 0..10 {
        while let Some(message) = line.send(&view) {
            line.damage();
            sent.push(message);
        }
        line.exchange();
    }
    let ends = |sent: &[String]| sent.iter().filter(|message| message.starts_with("end")).count();
    assert_eq!((ends(&sent), line.refused), (3, 3));
    // The next version is another chance, one.
    index.apply(2, [put("a/ann", "team=x", 9)]);
    let view = index.view(only(&[ONE]));
    let mut sent = Vec::new();
    for _ in 0..10 {
        while let Some(message) = line.send(&view) {
            line.damage();
            sent.push(message);
        }
        line.exchange();
    }
    assert_eq!((ends(&sent), line.refused), (1, 4));
    index.apply(3, [put("a/ann", "team=x", 10)]);
    let view = index.view(only(&[ONE]));
    assert_eq!(line.settle(&view), ["begin a/one 3", "chunk a/one 3", "end a/one"]);
    // Taken once, it is in favour again.
    index.apply(4, [put("a/ann", "team=x", 11)]);
    assert_eq!(line.settle(&index.view(only(&[ONE]))), ["delta a/one +1 -1"]);
}

#[test]
fn a_worker_that_refuses_snapshots_is_sent_the_next_change_as_a_delta() {
    let mut index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    index.apply(2, [put("a/eve", "team=x", 5)]);
    let view = index.view(only(&[ONE]));
    for _ in 0..10 {
        while line.send(&view).is_some() {
            line.damage();
        }
        line.exchange();
    }
    assert_eq!(line.refused, 3);
    index.apply(3, [put("a/ann", "team=x", 6)]);
    let view = index.view(only(&[ONE]));
    assert_eq!(line.settle(&view), ["delta a/one +2 -1"]);
    assert_eq!(line.replica.version(ONE), Some(version(&view, ONE)));
}

#[test]
fn a_long_reason_is_cut_between_characters() {
    let mut session = Session::new();
    session.on_message(subscribe(Vec::new())).expect("it belongs there");
    let long = format!("x{}", "\u{e9}".repeat(MAX_REASON_LEN));
    let events = session.on_message(nack(ONE, &long)).expect("it belongs there");
    let kept = format!("x{}", "\u{e9}".repeat((MAX_REASON_LEN - 1) / 2));
    assert_eq!(events, [SessionEvent::Nacked { table: ONE.to_owned(), reason: kept, holds: None }]);
}

#[test]
fn a_table_that_is_not_wanted_any_more_is_dropped() {
    let index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE, TWO])), LARGE);
    assert_eq!(line.settle(&index.view(only(&[TWO]))), ["drop a/one"]);
    assert_eq!((line.content(ONE), line.content(TWO).map(|two| two.len())), (None, Some(1)));
    let again = ["begin a/one 3", "chunk a/one 3", "end a/one"];
    assert_eq!(line.settle(&index.view(only(&[ONE, TWO]))), again);
    line.reconnect();
    assert_eq!(line.settle(&index.view(only(&[]))), ["drop a/one", "drop a/two"]);
    assert_eq!(line.replica.keys(), 0);
}

#[test]
fn a_snapshot_that_is_not_wanted_any_more_is_broken_off() {
    let index = index(8);
    let mut line = Line::new(ROLE, SMALL);
    line.send(&index.view(only(&[ONE])));
    line.send(&index.view(only(&[ONE])));
    let sent = line.settle(&index.view(only(&[TWO])));
    assert_eq!(sent, ["drop a/one", "begin a/two 1", "chunk a/two 1", "end a/two"]);
    assert_eq!(line.refused, 0);
}

#[test]
fn a_table_that_is_gone_and_still_wanted_stays() {
    let mut index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    let held = line.content(ONE);
    index.apply(2, [delete_config(ONE), put("a/ann", "team=x", 9)]);
    assert_eq!(line.settle(&index.view(only(&[ONE]))), [""; 0]);
    line.reconnect();
    assert_eq!(line.settle(&index.view(only(&[ONE]))), [""; 0]);
    assert_eq!(line.content(ONE), held);
    index.apply(3, [put_config(ONE, "team=x", &[])]);
    let view = index.view(only(&[ONE]));
    assert_eq!(line.settle(&view), ["begin a/one 3", "chunk a/one 3", "end a/one"]);
    index.apply(4, [delete_config(ONE)]);
    assert_eq!(line.settle(&index.view(only(&[]))), ["drop a/one"]);
}

#[test]
fn a_retired_table_is_sent_to_who_comes_new_until_nobody_wants_it() {
    let mut index = index(8);
    let before = index.view(only(&[ONE]));
    index.apply(2, [delete_config(ONE), delete_config(TWO)]);
    let view = index.view(only(&[ONE])).with_retired(&before);
    assert_eq!(version(&view, ONE), version(&before, ONE));
    assert!(view.table(TWO).is_none());
    in_sync(&view, LARGE);
    let view = index.view(only(&[ONE])).with_retired(&view);
    assert_eq!(version(&view, ONE), version(&before, ONE));
    index.apply(3, [put_config(ONE, "team=y", &[])]);
    let anew = index.view(only(&[ONE])).with_retired(&view);
    assert_eq!(version(&anew, ONE).revision, 3);
    assert!(index.view(only(&[])).with_retired(&view).table(TWO).is_none());
}

#[test]
fn a_worker_of_an_unknown_role_is_left_alone() {
    let index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    let held = line.content(ONE);
    let unknown = index.view(wanted(&[("back", &[TWO])]));
    assert_eq!(line.settle(&unknown), [""; 0]);
    line.reconnect();
    assert_eq!(line.settle(&unknown), [""; 0]);
    assert_eq!(line.content(ONE), held);
    assert_eq!(line.settle(&index.view(only(&[]))), ["drop a/one"]);
}

#[test]
fn an_answer_to_nothing_is_passed_over() {
    let index = index(8);
    let view = index.view(only(&[ONE]));
    let mut line = in_sync(&view, LARGE);
    assert_eq!(line.session.on_message(ack(ONE, foreign())), Ok(Vec::new()));
    assert_eq!(line.session.on_message(ack(ONE, version(&view, ONE))), Ok(Vec::new()));
    assert_eq!(line.session.on_message(ack("a/none", foreign())), Ok(Vec::new()));
    line.session.on_message(nack(ONE, "why")).expect("it belongs there");
    assert_eq!(line.settle(&view), [""; 0]);
}

/// The late answer to a delta was taken for the answer to the snapshot after it: the table counted
/// as held while the worker was yet to be told to drop it.
#[test]
fn regression_a_table_dropped_and_wanted_again_while_a_delta_is_on_its_way() {
    let mut index = index(8);
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    index.apply(2, [put("a/ann", "team=x", 9)]);
    let view = index.view(only(&[ONE]));
    assert_eq!(line.send(&view).as_deref(), Some("delta a/one +1 -1"));
    let unwanted = index.view(only(&[]));
    while line.send(&unwanted).is_some() {}
    while line.send(&view).is_some() {}
    line.deliver();
    let acked = SessionEvent::Acked { table: ONE.to_owned(), version: version(&view, ONE) };
    assert_eq!(line.answer(), [acked]);
    assert_eq!(line.to_worker.len(), 0, "what is acknowledged is the last thing that was sent");
    assert_eq!(line.settle(&view), [""; 0]);
    assert_eq!(line.settle(&unwanted), ["drop a/one"]);
}
