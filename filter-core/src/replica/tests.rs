use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;

use super::*;
use crate::fake::{FakeTable, drop_table, encode};
use crate::record::Record;
use crate::wire::{Delta, Digest, ServerMessage, entry_hash, server_message::Kind};

mod room;
mod shared;
mod written;

/// Takes a message and says in one line what came of it.
fn tell(replica: &mut Replica, message: &[u8]) -> String {
    match replica.on_message(message) {
        Ok(Effect::None) => "-".to_owned(),
        Ok(Effect::Dropped) => "dropped".to_owned(),
        Ok(Effect::Changed { ack, arrived }) => {
            let held = ack.held.expect("an ack says what is held");
            let version = held.version.expect("an ack has a version");
            assert_eq!(replica.version(&held.table), Some(version));
            format!("{} {} at {}", if arrived { "new" } else { "ack" }, held.table, version.revision)
        }
        Ok(Effect::Refused { nack, no_room: false }) => format!("nack {}: {}", nack.table, nack.reason),
        Ok(Effect::Refused { nack, no_room: true }) => format!("no room {}: {}", nack.table, nack.reason),
        Ok(Effect::Reported { seq }) => format!("reported {seq}"),
        Err(NotAMessage(_)) => "not a message".to_owned(),
    }
}

fn tell_all(replica: &mut Replica, messages: &[Vec<u8>]) -> Vec<String> {
    messages.iter().map(|message| tell(replica, message)).filter(|line| line != "-").collect()
}

fn three() -> FakeTable {
    FakeTable::new(5, &[("k1", "ann"), ("k2", "bob"), ("k3", "cat")])
}

fn holding(table: &FakeTable) -> Replica {
    let mut replica = Replica::new();
    tell_all(&mut replica, &table.snapshot("t", 2));
    assert_holds(&replica, table);
    replica
}

fn assert_holds(replica: &Replica, table: &FakeTable) {
    let held = replica.table("t").expect("the table is held");
    let expected = table.entries.iter().map(|(digest, who)| (digest, Record::known(who)));
    assert!(held.iter().eq(expected));
    assert_eq!(replica.version("t"), Some(table.version()));
}

fn who() -> Subscriber {
    Subscriber {
        node_id: "n".to_owned(),
        role: "r".to_owned(),
        worker: "w".to_owned(),
        filter_build: "b".to_owned(),
        config_version: 3,
    }
}

#[test]
fn a_table_exists_from_the_end_of_its_first_snapshot_on() {
    let mut replica = Replica::new();
    let messages = three().snapshot("t", 1);
    let (end, before) = messages.split_last().expect("a snapshot");
    assert_eq!(tell_all(&mut replica, before), [""; 0]);
    assert!(replica.table("t").is_none());
    assert_eq!(tell(&mut replica, end), "new t at 5");
    assert_holds(&replica, &three());
    assert_eq!((replica.keys(), replica.revision()), (3, 5));
}

#[test]
fn an_empty_table_is_a_table() {
    let mut replica = Replica::new();
    assert_eq!(tell_all(&mut replica, &FakeTable::new(1, &[]).snapshot("t", 1)), ["new t at 1"]);
    assert!(replica.table("t").is_some_and(Table::is_empty));
}

#[test]
fn the_old_table_serves_until_the_new_one_is_whole() {
    let (old, new) = (three(), FakeTable::new(9, &[("k4", "dan"), ("k5", "eve")]));
    let mut replica = holding(&old);
    let messages = new.snapshot("t", 1);
    let (end, before) = messages.split_last().expect("a snapshot");
    tell_all(&mut replica, before);
    assert_holds(&replica, &old);
    assert_eq!(tell(&mut replica, end), "ack t at 9");
    assert_holds(&replica, &new);
}

#[test]
fn a_change_leads_from_exactly_one_version_to_the_next() {
    let (old, new) = (three(), FakeTable::new(6, &[("k1", "ann"), ("k2", "bert"), ("k4", "dan")]));
    let mut replica = holding(&old);
    let delta = old.delta("t", &new);
    assert_eq!(tell(&mut replica, &delta), "ack t at 6");
    assert_holds(&replica, &new);

    // The same again starts from a version that is no longer held.
    let gap = "nack t: the change starts from another version than the one held";
    assert_eq!(tell(&mut replica, &delta), gap);
    assert_holds(&replica, &new);
    assert_eq!(tell(&mut Replica::new(), &delta), gap);
}

#[test]
fn a_change_of_the_same_revision_but_other_content_is_refused() {
    let held = three();
    let other = FakeTable::new(5, &[("k1", "somebody else")]);
    let mut replica = holding(&held);
    let delta = other.delta("t", &FakeTable::new(6, &[]));
    assert!(tell(&mut replica, &delta).starts_with("nack t: the change starts"));
    assert_holds(&replica, &held);
}

#[test]
fn a_change_that_does_not_add_up_is_refused_whole() {
    let old = three();
    let mut replica = holding(&old);
    let delta = old.delta("t", &FakeTable::new(6, &[("k9", "zoe")]));
    let Some(Kind::Delta(mut delta)) = ServerMessage::decode(&delta[..]).expect("a message").kind else {
        panic!("a delta");
    };
    delta.removals.truncate(16);
    assert!(
        tell(&mut replica, &encode(Kind::Delta(delta.clone()))).starts_with("nack t: the checksum would be")
    );
    assert_holds(&replica, &old);
    delta.to = None;
    assert_eq!(tell(&mut replica, &encode(Kind::Delta(delta))), "nack t: the message has no version");
    assert_holds(&replica, &old);
}

#[test]
fn a_spoiled_snapshot_is_refused_once_and_the_next_one_counts() {
    let old = three();
    let new = FakeTable::new(9, &[("k4", "dan"), ("k5", "eve"), ("k6", "fay"), ("k7", "gus")]);
    let mut replica = holding(&old);
    let mut messages = new.snapshot("t", 1);
    messages.swap(1, 2);
    assert_eq!(tell_all(&mut replica, &messages), ["nack t: digests are not strictly ascending"]);
    assert_holds(&replica, &old);
    messages.swap(1, 2);
    assert_eq!(tell_all(&mut replica, &messages), ["ack t at 9"]);
    assert_holds(&replica, &new);
}

#[test]
fn a_snapshot_that_lacks_a_part_is_refused() {
    let messages = three().snapshot("t", 1);
    let without = |missing: usize| {
        let mut left = messages.clone();
        left.remove(missing);
        tell_all(&mut Replica::new(), &left)
    };
    assert_eq!(without(0), ["nack t: the snapshot has no beginning"]);
    assert_eq!(without(1), ["nack t: 3 entries were announced and 2 arrived"]);
    assert_eq!(without(messages.len() - 1), [""; 0]);
    assert_eq!(tell_all(&mut Replica::new(), &messages[4..]), ["nack t: the snapshot has no beginning"]);
}

#[test]
fn a_snapshot_may_start_over() {
    let mut replica = Replica::new();
    let messages = three().snapshot("t", 1);
    tell_all(&mut replica, &messages[..3]);
    assert_eq!(tell_all(&mut replica, &messages), ["new t at 5"]);
}

#[test]
fn half_a_snapshot_does_not_outlive_its_stream() {
    let old = three();
    let mut replica = holding(&old);
    let messages = FakeTable::new(9, &[("k4", "dan"), ("k5", "eve")]).snapshot("t", 1);
    tell_all(&mut replica, &messages[..2]);
    replica.on_close();
    assert_holds(&replica, &old);
    assert_eq!(tell_all(&mut replica, &messages[2..]), ["nack t: the snapshot has no beginning"]);
}

#[test]
fn snapshots_of_two_tables_may_interleave() {
    let (one, other) = (three().snapshot("t", 1), three().snapshot("u", 1));
    let interleaved: Vec<_> = one.into_iter().zip(other).flat_map(|(one, other)| [one, other]).collect();
    assert_eq!(tell_all(&mut Replica::new(), &interleaved), ["new t at 5", "new u at 5"]);
}

#[test]
fn a_dropped_table_is_gone_and_one_that_was_never_there_is_no_news() {
    let mut replica = holding(&three());
    tell_all(&mut replica, &three().snapshot("t", 1)[..2]);
    assert_eq!(tell(&mut replica, &drop_table("t")), "dropped");
    assert!(replica.table("t").is_none());
    assert_eq!(tell(&mut replica, &drop_table("t")), "-");
    assert_eq!((replica.keys(), replica.revision(), replica.memory_bytes()), (0, 0, 0));
}

#[test]
fn a_message_of_a_later_protocol_is_passed_over_and_garbage_is_not() {
    let mut replica = holding(&three());
    // Field 15, of type message, empty.
    assert_eq!(tell(&mut replica, &[0x7a, 0]), "-");
    assert_eq!(tell(&mut replica, &[]), "-");
    assert_eq!(tell(&mut replica, &[0xff; 8]), "not a message");
    assert_holds(&replica, &three());
}

#[test]
fn a_subscription_names_all_that_is_held() {
    let mut replica = holding(&three());
    tell_all(&mut replica, &FakeTable::new(8, &[]).snapshot("u", 1));
    let subscribe = replica.subscribe(who());
    let held: Vec<_> = subscribe.held.iter().map(|held| (held.table.as_str(), held.version)).collect();
    let empty = Version { revision: 8, checksum: 0 };
    assert_eq!(held, [("t", Some(three().version())), ("u", Some(empty))]);
    assert_eq!((subscribe.role.as_str(), subscribe.config_version), ("r", 3));
}

type Entries = BTreeMap<u8, u8>;

fn table(revision: u64, entries: &Entries) -> FakeTable {
    let named: Vec<_> = entries.iter().map(|(key, who)| (format!("k{key}"), format!("u{who}"))).collect();
    FakeTable::new(revision, &named.iter().map(|(key, who)| (key.as_str(), who.as_str())).collect::<Vec<_>>())
}

/// A replica that holds three keys and has room for a few more.
fn cramped() -> Replica {
    let mut replica = holding(&three());
    replica.set_limit(32 * 1024);
    replica
}

fn with_many(base: &FakeTable) -> FakeTable {
    let mut many = FakeTable { revision: base.revision + 1, ..base.clone() };
    (0..2000).for_each(|n| many.insert(&format!("more-{n}"), b"somebody"));
    many
}

#[test]
fn a_snapshot_that_does_not_fit_is_refused_once_and_what_is_held_stays() {
    let mut replica = cramped();
    let many = with_many(&three());
    let lines = tell_all(&mut replica, &many.snapshot("t", 50));
    assert_eq!(
        lines,
        ["no room t: the tables would need more than 32768 bytes, which is the limit of a worker"]
    );
    assert_holds(&replica, &three());
    // One that says too little at its beginning.
    let mut messages = many.snapshot("t", 50);
    let begin = SnapshotBegin { table: "t".to_owned(), entries: 1 };
    messages[0] = encode(Kind::Begin(begin));
    assert_eq!(tell_all(&mut replica, &messages).len(), 1);
    assert_holds(&replica, &three());
    replica.set_limit(1024 * 1024);
    assert_eq!(tell_all(&mut replica, &many.snapshot("t", 50)), ["ack t at 6"]);
    assert_holds(&replica, &many);
}

#[test]
fn what_is_revoked_ends_also_where_nothing_more_fits() {
    let mut replica = cramped();
    let mut next = with_many(&three());
    next.entries.remove(&crate::key::digest(b"k1"));
    assert!(tell(&mut replica, &three().delta("t", &next)).starts_with("no room t: "));
    let holds = |replica: &Replica, key: &str| {
        replica.table("t").is_some_and(|table| table.get(&crate::key::digest(key.as_bytes())).is_some())
    };
    assert!(!holds(&replica, "k1") && holds(&replica, "k2") && !holds(&replica, "more-1"));
    // The server goes on from what was acknowledged.
    next.revision += 1;
    next.entries.remove(&crate::key::digest(b"k2"));
    assert!(tell(&mut replica, &three().delta("t", &next)).starts_with("no room t: "));
    assert!(!holds(&replica, "k2") && holds(&replica, "k3"));
    // Given back, it is there again by a snapshot at the latest.
    let back = FakeTable { revision: 9, ..three() };
    assert!(tell(&mut replica, &three().delta("t", &back)).starts_with("nack t: the table has less in it"));
    assert_eq!(tell_all(&mut replica, &back.snapshot("t", 2)), ["ack t at 9"]);
    // And with room all is as it should be.
    replica.set_limit(1024 * 1024);
    assert_eq!(tell(&mut replica, &back.delta("t", &next)), "ack t at 7");
    assert_holds(&replica, &next);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// A server that loses, doubles and damages messages, and answers a Nack with a snapshot: the
    /// replica holds one of the server's versions at every moment, and the newest one after a
    /// message that got through.
    #[test]
    fn what_is_held_is_always_a_version_of_the_server(
        steps in vec((btree_map(any::<u8>(), any::<u8>(), 0..40), 0_u8..6, any::<u16>(), 1_usize..50), 1..40),
    ) {
        let mut server = table(0, &Entries::new());
        let mut versions = BTreeMap::from([(server.version().checksum, server.clone())]);
        let mut replica = Replica::new();
        for (revision, (entries, fate, place, chunk)) in (1..).zip(steps) {
            let next = table(revision, &entries);
            versions.insert(next.version().checksum, next.clone());
            let mut message = server.delta("t", &next);
            let refused = match fate {
                // Lost.
                0 => false,
                // Damaged somewhere.
                1 => {
                    let place = usize::from(place) % message.len();
                    message[place] ^= 1 + (place as u8 >> 1);
                    !tell(&mut replica, &message).starts_with("ack")
                }
                // Doubled.
                2 => {
                    tell(&mut replica, &message);
                    tell(&mut replica, &message).starts_with("nack")
                }
                _ => tell(&mut replica, &message).starts_with("nack"),
            };
            if refused {
                let lines = tell_all(&mut replica, &next.snapshot("t", chunk));
                prop_assert_eq!(lines.len(), 1);
            }
            if fate > 1 || refused {
                assert_holds(&replica, &next);
            } else if let Some(held) = replica.table("t") {
                let known = versions.get(&held.checksum()).expect("a version of the server");
                prop_assert!(held.iter().eq(known.entries.iter().map(|(digest, who)| (digest, Record::known(who)))));
            }
            server = next;
        }
    }

    #[test]
    fn any_bytes_are_survived(messages in vec(vec(any::<u8>(), 0..80), 0..20)) {
        let mut replica = holding(&three());
        for message in &messages {
            let _ = replica.on_message(message);
        }
    }
}
