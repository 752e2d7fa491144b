//! Names that stand for one table: a worker is sent it once.

use super::*;
use crate::fixtures::{allow, delete, list};
use prost::Message;

const THREE: &str = "a/three";
const FOUR: &str = "b/four";

/// `a/one`, `a/two` and `a/three` select team x, of 100 keys; `b/four` selects team y, of 1.
fn shared() -> KeyIndex {
    let mut index = KeyIndex::new();
    let keys = (1..=100).map(|key| put(&format!("a/user-{key:03}"), "team=x", key));
    let configs = [ONE, TWO, THREE].map(|name| put_config(name, "team=x", &[]));
    let others = [put("b/dan", "team=y", 200), put_config(FOUR, "team=y", &[])];
    index.apply(1, keys.chain(configs).chain(others));
    index
}

/// How many bytes the server sends until there is nothing more to say, and what.
fn cost(line: &mut Line, view: &KeyView) -> (usize, Vec<String>) {
    let (mut bytes, mut sent) = (0, Vec::new());
    while let Some(words) = line.send(view) {
        bytes += line.to_worker.back().map_or(0, Message::encoded_len);
        sent.push(words);
        line.exchange();
    }
    for (name, table) in view.wanted_tables(ROLE) {
        assert_eq!(line.content(name), Some(entries(&table.table)), "{name}");
    }
    (bytes, sent)
}

#[test]
fn what_is_the_same_is_sent_once_and_changes_at_once() {
    let mut index = shared();
    let mut line = Line::new(ROLE, LARGE);
    let (_, sent) = cost(&mut line, &index.view(only(&[ONE, TWO, THREE])));
    let snapshot = ["begin a/one 100", "chunk a/one 100", "end a/one"];
    assert_eq!(sent, [&snapshot[..], &["alias a/three of a/one", "alias a/two of a/one"]].concat());
    index.apply(2, [delete("a/user-007")]);
    assert_eq!(cost(&mut line, &index.view(only(&[ONE, TWO, THREE]))).1, ["delta a/one=a/three=a/two +0 -1"]);
    // The server knows that of each of them.
    let held: Vec<_> = line.session.slots.iter().map(|(name, slot)| (name.to_string(), slot.held)).collect();
    let now = Some(version(&index.view(only(&[])), ONE));
    assert_eq!(held, [ONE, THREE, TWO].map(|name| (name.to_owned(), now)));
}

#[test]
fn an_answer_to_a_change_of_several_is_one_of_each() {
    let mut index = shared();
    let mut line = in_sync(&index.view(only(&[ONE, TWO])), LARGE);
    index.apply(2, [delete("a/user-007")]);
    let view = index.view(only(&[ONE, TWO]));
    line.send(&view);
    let acked = |table: &str| SessionEvent::Acked { table: table.to_owned(), version: version(&view, table) };
    assert_eq!(line.exchange(), [acked(ONE), acked(TWO)]);
    index.apply(3, [delete("a/user-008")]);
    line.send(&index.view(only(&[ONE, TWO])));
    line.damage();
    let nacked = |event: &SessionEvent| matches!(event, SessionEvent::Nacked { .. });
    assert_eq!(line.exchange().iter().filter(|event| nacked(event)).count(), 2);
}

#[test]
fn who_joins_costs_a_small_message() {
    let mut index = shared();
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    // One that is new, one that was there and comes into use, and one that selected something else.
    let (bytes, sent) = cost(&mut line, &index.view(only(&[ONE, TWO])));
    assert_eq!(sent, ["alias a/two of a/one"]);
    assert!(bytes < 64, "{bytes}");
    index.apply(2, [put_config("b/new", "team=x", &[])]);
    assert_eq!(cost(&mut line, &index.view(only(&[ONE, TWO, "b/new"]))).1, ["alias b/new of a/one"]);
    cost(&mut line, &index.view(only(&[ONE, FOUR])));
    index.apply(3, [put_config(FOUR, "team=x", &[])]);
    let (bytes, sent) = cost(&mut line, &index.view(only(&[ONE, FOUR])));
    assert_eq!(sent, ["alias b/four of a/one"]);
    assert!(bytes < 64, "{bytes}");
}

#[test]
fn whose_selection_is_edited_alone_is_told_the_difference() {
    let mut index = shared();
    let mut line = in_sync(&index.view(only(&[FOUR])), LARGE);
    index.apply(2, [put_config(FOUR, "team=y", &["a/user-001"])]);
    assert_eq!(cost(&mut line, &index.view(only(&[FOUR]))).1, ["delta b/four +1 -0"]);
    // And so it is where others, that this worker does not have, select the same already.
    let refs = ["a/user-001", "a/user-002"];
    index.apply(3, [put_config(TWO, "team=y", &refs)]);
    index.apply(4, [put_config(FOUR, "team=y", &refs)]);
    assert!(index.view(only(&[])).are_one(TWO, FOUR));
    assert_eq!(cost(&mut line, &index.view(only(&[FOUR]))).1, ["delta b/four +1 -0"]);
    // From there it goes on with what they share.
    index.apply(5, [delete("a/user-002")]);
    assert_eq!(cost(&mut line, &index.view(only(&[FOUR]))).1, ["delta b/four +0 -1"]);
}

#[test]
fn who_missed_the_edit_and_more_is_told_all_of_it() {
    let mut index = shared();
    let mut line = in_sync(&index.view(only(&[FOUR])), LARGE);
    index.apply(2, [put_config(TWO, "team=y", &["a/user-001"])]);
    index.apply(3, [put_config(FOUR, "team=y", &["a/user-001"])]);
    index.apply(4, [put("b/eve", "team=y", 201), delete("b/dan")]);
    line.reconnect();
    assert_eq!(cost(&mut line, &index.view(only(&[FOUR]))).1, ["delta b/four +2 -1"]);
}

#[test]
fn whoever_goes_its_own_way_is_told_the_difference_and_the_others_nothing() {
    let mut index = shared();
    let wanted = || only(&[ONE, TWO, THREE]);
    let mut line = in_sync(&index.view(wanted()), LARGE);
    // Whichever of them it is.
    index.apply(2, [put_config(ONE, "team=x", &["b/dan"])]);
    assert_eq!(cost(&mut line, &index.view(wanted())).1, ["delta a/one +1 -0"]);
    index.apply(3, [delete("a/user-001")]);
    let sent = cost(&mut line, &index.view(wanted())).1;
    assert_eq!(sent, ["delta a/one +0 -1", "delta a/three=a/two +0 -1"]);
    // What comes back is an alias again.
    index.apply(4, [put_config(ONE, "team=x", &[])]);
    assert_eq!(cost(&mut line, &index.view(wanted())).1, ["alias a/one of a/three"]);
}

#[test]
fn who_is_deleted_takes_nothing_from_the_others() {
    let mut index = shared();
    let mut line = in_sync(&index.view(only(&[ONE, TWO, THREE])), LARGE);
    index.apply(2, [delete_config(ONE)]);
    assert_eq!(cost(&mut line, &index.view(only(&[TWO, THREE]))).1, ["drop a/one"]);
    index.apply(3, [delete("a/user-001")]);
    assert_eq!(cost(&mut line, &index.view(only(&[TWO, THREE]))).1, ["delta a/three=a/two +0 -1"]);
}

#[test]
fn a_new_server_goes_on_with_what_is_shared() {
    let objects = |team: &str| {
        let keys = (1..=100).map(|key| put(&format!("a/user-{key:03}"), "team=x", key));
        let configs = [ONE, TWO, THREE].map(|name| put_config(name, team, &[]));
        keys.chain(configs).collect::<Vec<_>>()
    };
    let mut index = KeyIndex::new();
    index.apply(5, objects("team=x"));
    let wanted = || only(&[ONE, TWO, THREE]);
    let mut line = in_sync(&index.view(wanted()), LARGE);
    // It begins with a state of the past and goes through what has happened since.
    let mut index = KeyIndex::new();
    index.apply(5, objects("team=x"));
    line.reconnect();
    assert_eq!(cost(&mut line, &index.view(wanted())).1, [""; 0]);
    index.apply(6, [delete("a/user-001")]);
    index.apply(7, [put_config(TWO, "team=x", &["b/dan"])]);
    index.apply(8, [put("b/dan", "", 200)]);
    line.reconnect();
    let sent = cost(&mut line, &index.view(wanted())).1;
    assert_eq!(sent, ["delta a/one=a/three +0 -1", "delta a/two +1 -1"]);
}

#[test]
fn a_worker_that_does_not_know_how_is_sent_each_table_by_itself() {
    let mut index = shared();
    let mut line = Line::new(ROLE, LARGE);
    line.is_old = true;
    line.reconnect();
    let begins = |sent: &[String]| sent.iter().filter(|words| words.starts_with("begin ")).count();
    let (_, sent) = cost(&mut line, &index.view(only(&[ONE, TWO])));
    assert_eq!((begins(&sent), sent.len()), (2, 6));
    index.apply(2, [delete("a/user-001")]);
    let sent = cost(&mut line, &index.view(only(&[ONE, TWO]))).1;
    assert_eq!(sent, ["delta a/one +0 -1", "delta a/two +0 -1"]);
    // The build that follows it holds what it held, and shares from then on.
    line.is_old = false;
    line.reconnect();
    index.apply(3, [delete("a/user-002")]);
    assert_eq!(cost(&mut line, &index.view(only(&[ONE, TWO]))).1, ["delta a/one=a/two +0 -1"]);
}

#[test]
fn lists_of_who_is_allowed_are_shared_too() {
    let mut index = shared();
    let lists = |user: &str| [list(ONE, user, ""), list(TWO, user, "")];
    index.apply(2, [allow(lists("a/user-003"))]);
    let wanted = || only(&["a/one@a/user-003+", "a/two@a/user-003+"]);
    let mut line = Line::new(ROLE, LARGE);
    let sent = cost(&mut line, &index.view(wanted())).1;
    assert_eq!(sent.last().map(String::as_str), Some("alias a/two@a/user-003+ of a/one@a/user-003+"));
    index.apply(3, [delete("a/user-003")]);
    let sent = cost(&mut line, &index.view(wanted())).1;
    assert_eq!(sent, ["delta a/one@a/user-003+=a/two@a/user-003+ +0 -1"]);
}

#[test]
fn an_alias_that_is_refused_is_followed_by_a_snapshot() {
    let index = shared();
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    let view = index.view(only(&[ONE, TWO]));
    assert_eq!(line.send(&view).as_deref(), Some("alias a/two of a/one"));
    line.damage();
    line.exchange();
    assert_eq!(cost(&mut line, &view).1, ["begin a/two 100", "chunk a/two 100", "end a/two"]);
}

#[test]
fn nobody_is_given_what_was_revoked_before_he_joined() {
    let mut index = shared();
    let mut line = in_sync(&index.view(only(&[ONE])), LARGE);
    // The worker is behind: what it holds has a key that is gone.
    index.apply(2, [delete("a/user-001")]);
    index.apply(3, [put_config("b/new", "team=x", &[])]);
    let view = index.view(only(&[ONE, "b/new"]));
    assert_eq!(line.send(&view).as_deref(), Some("delta a/one +0 -1"));
    // Until that is answered there is nothing that the new one could be.
    assert_eq!(line.send(&view), None);
    line.exchange();
    assert_eq!(line.send(&view).as_deref(), Some("alias b/new of a/one"));
}
