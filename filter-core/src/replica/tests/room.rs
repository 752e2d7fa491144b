//! Changes for which there is no room: what they take away is carried out, and nothing else of them.

use super::*;
use crate::life::Life;
use crate::record;
use crate::table::Refused;

/// Times of which each is later than the one before.
const TIMES: [Option<u64>; 3] = [None, Some(1_000), Some(2_000)];

fn life() -> impl Strategy<Value = Life> {
    let time = || proptest::sample::select(&TIMES[..]);
    (time(), time(), any::<bool>()).prop_map(|(not_before, expires_at, disabled)| Life {
        not_before,
        expires_at,
        disabled,
        any_shape: false,
    })
}

/// Keys, and of each whose it is, when it is valid and how much there is to tell of it.
fn content() -> impl Strategy<Value = BTreeMap<u8, (bool, Life, usize)>> {
    // Of few lengths, so that only the life or only the owner of a key changes, and changes back.
    btree_map(0..24_u8, (any::<bool>(), life(), proptest::sample::select(&[0, 40, 290][..])), 0..16)
}

fn table_of(revision: u64, content: &BTreeMap<u8, (bool, Life, usize)>) -> FakeTable {
    let mut table = FakeTable::new(revision, &[]);
    for (key, (whose, life, length)) in content {
        let identity = if *whose { "ann" } else { "bob" };
        let more = "m".repeat(*length);
        table.insert(&format!("k{key}"), &record::pack(*life, identity, [("more", more.as_bytes())]));
    }
    table
}

/// The same change, of which only what it takes away is to be done.
fn only_taking_away(delta: &[u8]) -> Vec<u8> {
    let Some(Kind::Delta(delta)) = ServerMessage::decode(delta).expect("a message").kind else {
        panic!("a delta");
    };
    encode(Kind::Delta(Delta { takes_away: true, ..delta }))
}

fn held(replica: &Replica) -> BTreeMap<Digest, Vec<u8>> {
    let table = replica.table("t").expect("the table is held");
    table.iter().map(|(digest, record)| (*digest, record.as_bytes().to_vec())).collect()
}

/// Each key that was held and that the server did not narrow is as it was; each other one is gone, or has the
/// record that the server has. Nothing is given that the server does not give.
fn check(before: &BTreeMap<Digest, Vec<u8>>, after: &BTreeMap<Digest, Vec<u8>>, to: &FakeTable) {
    for (digest, was) in before {
        let wanted = to.entries.get(digest);
        let narrows = wanted.is_none_or(|now| Record::known(now).narrows(Record::known(was)));
        match after.get(digest) {
            Some(is) if narrows => assert_eq!(Some(is), wanted, "it is narrower"),
            Some(is) => assert_eq!(is, was, "nothing else changes"),
            None => assert!(narrows, "nothing else ends"),
        }
    }
    for (digest, is) in after {
        assert!(before.contains_key(digest), "nothing is added");
        let wanted = to.entries.get(digest).expect("the server has it");
        assert!(
            Record::known(is).is_within(Record::known(wanted)),
            "nothing is given beyond what the server gives"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn what_a_change_takes_away_is_gone_whether_it_fits_or_not(
        start in content(),
        steps in vec((content(), 0..40_u32, any::<bool>()), 1..20),
    ) {
        // What the worker goes on from.
        let mut base = table_of(1, &start);
        let mut replica = Replica::new();
        tell_all(&mut replica, &base.snapshot("t", 5));
        // Now and then all is again as it was where the worker goes on from, and the change names nothing.
        let steps = steps.into_iter().flat_map(|(content, kilobytes, takes_away)| {
            [(Some(content), kilobytes, takes_away), (None, kilobytes, takes_away)]
        });
        for (revision, (content, kilobytes, takes_away)) in (2..).zip(steps) {
            let to = match content {
                Some(content) => table_of(revision, &content),
                None => FakeTable { revision, ..base.clone() },
            };
            let before = held(&replica);
            replica.set_limit(kilobytes * 512);
            let delta = base.delta("t", &to);
            let delta = if takes_away { only_taking_away(&delta) } else { delta };
            let told = match replica.on_message(&delta).expect("a message") {
                Effect::Changed { ack, .. } if !takes_away => {
                    prop_assert_eq!(held(&replica), to.entries.clone());
                    base = to;
                    ack.held
                }
                Effect::Changed { ack, .. } => {
                    check(&before, &held(&replica), &to);
                    ack.held
                }
                Effect::Refused { nack, .. } => {
                    check(&before, &held(&replica), &to);
                    nack.held.first().cloned()
                }
                other => panic!("{other:?}"),
            };
            // What it says of itself is so.
            let told = told.expect("it says what it holds");
            prop_assert_eq!(told.version, Some(base.version()));
            let now = held(&replica);
            let sum = now.iter().map(|(digest, record)| entry_hash(digest, record));
            let sum = sum.fold(0, u64::wrapping_add);
            prop_assert_eq!(told.content, (sum != base.version().checksum).then_some(sum));
            let subscribe = replica.subscribe(who());
            prop_assert_eq!(&subscribe.held, &[told]);
        }
        replica.set_limit(1024 * 1024);
        let last = FakeTable { revision: 99, ..base };
        tell_all(&mut replica, &last.snapshot("t", 5));
        assert_holds(&replica, &last);
    }
}

#[test]
fn what_was_put_in_before_memory_ended_is_taken_out_again() {
    let mut replica = holding(&three());
    let mut next = FakeTable { revision: 6, ..three() };
    next.entries.remove(&crate::key::digest(b"k1"));
    next.insert("k2", &record::pack(Life::ALWAYS, "bob", [("team", &b"blue"[..])]));
    next.insert("k3", &record::pack(Life { disabled: true, ..Life::ALWAYS }, "cat", []));
    next.insert("k4", b"dan");
    let message = ServerMessage::decode(&three().delta("t", &next)[..]).expect("a message");
    let Some(Kind::Delta(delta)) = message.kind else { panic!("a delta") };
    // Two of three were put in, in some order.
    let ended = replica.change(
        &delta,
        &mut |table| {
            table.remove(&crate::key::digest(b"k1"))?;
            for key in ["k4", "k2"] {
                let digest = crate::key::digest(key.as_bytes());
                table.put(&digest, Record::known(&next.entries[&digest]))?;
            }
            Err(Refused::NoMemory)
        },
        Some(next.version()),
    );
    assert_eq!(ended, Err(Refused::NoMemory));
    replica.undo(&delta);
    replica.set_limit(1);
    replica.take(&delta, 5);
    assert!(held(&replica).is_empty(), "one is revoked, one narrowed, of one nobody knows how it was");
    assert_eq!(replica.version("t"), Some(three().version()));
    replica.set_limit(1024 * 1024);
    assert_eq!(tell(&mut replica, &three().delta("t", &next)), "ack t at 6");
    assert_holds(&replica, &next);
}

#[test]
fn a_key_that_is_given_back_as_it_was_needs_a_snapshot_and_what_else_is_revoked_ends() {
    let mut replica = holding(&three());
    replica.set_limit(1);
    let mut less = FakeTable { revision: 6, ..three() };
    less.entries.remove(&crate::key::digest(b"k1"));
    assert_eq!(tell(&mut replica, &only_taking_away(&three().delta("t", &less))), "ack t at 5");
    assert_eq!(held(&replica), less.entries);
    replica.set_limit(1024 * 1024);
    let mut next = FakeTable { revision: 7, ..three() };
    next.entries.remove(&crate::key::digest(b"k2"));
    let said =
        "nack t: the table has less in it than its version, as there was no room for an earlier change";
    assert_eq!(tell(&mut replica, &three().delta("t", &next)), said);
    assert_eq!(held(&replica).len(), 1, "of three, one was taken away, and one is revoked");
    tell_all(&mut replica, &next.snapshot("t", 5));
    assert_holds(&replica, &next);
}

#[test]
fn a_change_that_only_takes_away_is_refused_like_any_other() {
    let mut replica = holding(&three());
    let next = FakeTable::new(6, &[]);
    let gap = only_taking_away(&FakeTable::new(4, &[]).delta("t", &next));
    assert!(tell(&mut replica, &gap).starts_with("nack t: the change starts from another version"));
    let Some(Kind::Delta(mut delta)) =
        ServerMessage::decode(&three().delta("t", &next)[..]).expect("a message").kind
    else {
        panic!("a delta")
    };
    delta.takes_away = true;
    delta.upserts = vec![1];
    assert!(tell(&mut replica, &encode(Kind::Delta(delta.clone()))).starts_with("nack t: packed entries"));
    delta.upserts.clear();
    delta.removals.push(0);
    assert!(tell(&mut replica, &encode(Kind::Delta(delta))).starts_with("nack t: "));
    assert_holds(&replica, &three());
}
