//! The key stream: whatever the server sends, the tables are always at a version that it named.
//!
//! An input is a row of messages, each behind its length as two bytes.

use keyward_filter_core::decide::Tables as _;
use keyward_filter_core::key;
use keyward_filter_core::record::Record;
use keyward_filter_core::replica::{Effect, Replica, Subscriber};
use keyward_filter_core::wire::{
    Alias, Delta, Digest, Drop, Entries, ServerMessage, SnapshotBegin, SnapshotChunk, SnapshotEnd, Version,
    entry_hash, pack_entry, removals, server_message::Kind,
};
use prost::Message as _;

use crate::engine::{Random, Unstructured};

const TABLES: [&str; 3] = ["t", "u", ""];
const USERS: [&str; 4] = ["ann", "bob", "cat", "d"];

/// What tables may occupy beyond a multiple of what was sent: the first segments of a few tables.
const MEMORY_FLOOR: usize = 1 << 20;

/// Plays the messages, and after each one looks whether every table is what its version says.
pub(crate) fn run(input: &[u8]) {
    let mut replica = Replica::new();
    let mut bytes = Unstructured::new(input);
    while !bytes.is_empty() {
        let length = usize::from(u16::from_le_bytes([bytes.byte(), bytes.byte()]));
        let before = versions(&replica);
        match replica.on_message(bytes.take(length)) {
            Ok(Effect::Changed { ack, .. }) => {
                let held = ack.held.expect("an ack says what is held");
                assert_eq!(replica.version(&held.table), held.version);
            }
            Ok(Effect::Dropped) => {}
            Ok(Effect::None | Effect::Refused { .. } | Effect::Reported { .. }) | Err(_) => {
                assert_eq!(versions(&replica), before, "a refused message changes nothing");
            }
        }
        check(&replica);
        assert!(replica.memory_bytes() <= MEMORY_FLOOR + 64 * input.len(), "{}", replica.memory_bytes());
    }
    recovers(&mut replica);
}

/// Packed entries: what is read, packed again, is what was there.
pub(crate) fn run_entries(input: &[u8]) {
    let mut packed = Vec::new();
    let mut whole = true;
    for entry in Entries::new(input) {
        match entry {
            Ok((digest, identity)) => pack_entry(&mut packed, &digest, identity),
            Err(_) => whole = false,
        }
    }
    assert!(input.starts_with(&packed));
    assert_eq!(whole, packed.len() == input.len(), "nothing is left over without an error");
    match removals(input) {
        Ok(digests) => assert_eq!(digests.as_flattened(), input),
        Err(_) => assert_ne!(input.len() % size_of::<Digest>(), 0),
    }
}

pub(crate) fn generate(random: &mut Random) -> Vec<u8> {
    let mut input = Vec::new();
    for _ in 0..random.below(8) {
        let messages = if random.below(2) == 0 { snapshot(random) } else { vec![message(random)] };
        for kind in messages {
            let bytes = ServerMessage { kind: Some(kind) }.encode_to_vec();
            let length = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
            input.extend_from_slice(&length.to_le_bytes());
            input.extend_from_slice(&bytes);
        }
    }
    input
}

pub(crate) fn generate_entries(random: &mut Random) -> Vec<u8> {
    let mut packed = Vec::new();
    for _ in 0..random.below(6) {
        let (digest, user) = (digest(random), *random.choose(&USERS));
        pack_entry(&mut packed, &digest, user);
    }
    packed
}

fn versions(replica: &Replica) -> Vec<Option<Version>> {
    TABLES.iter().map(|table| replica.version(table)).collect()
}

fn nobody() -> Subscriber {
    let none = String::new;
    Subscriber { node_id: none(), role: none(), worker: none(), filter_build: none(), config_version: 0 }
}

/// The content of every table adds up to its version, in order and without doubles.
fn check(replica: &Replica) {
    let mut keys = 0;
    let held = replica.subscribe(nobody()).held;
    for name in TABLES {
        let Some(table) = replica.table(name) else {
            assert_eq!(replica.version(name), None);
            continue;
        };
        let entries: Vec<_> = table.iter().collect();
        assert!(entries.windows(2).all(|pair| pair[0].0 < pair[1].0), "strictly ascending");
        assert!(entries.iter().all(|(digest, user)| table.get(digest) == Some(*user)));
        let sum = entries.iter().map(|(digest, user)| entry_hash(digest, user)).fold(0, u64::wrapping_add);
        let told = held.iter().find(|told| told.table == name).expect("what is held is told");
        assert_eq!(told.version, replica.version(name));
        // Less is there only after a change that took something away and led nowhere.
        assert_eq!(told.content.or_else(|| told.version.map(|version| version.checksum)), Some(sum));
        assert_eq!(table.len(), entries.len());
        keys += entries.len();
    }
    // Mutation may have made tables of other names.
    assert!(replica.keys() >= keys);
}

/// A new stream with an honest server brings the table right, whatever was before.
fn recovers(replica: &mut Replica) {
    replica.on_close();
    let digest = key::digest(b"the key");
    let version = Version { revision: 9, checksum: entry_hash(&digest, "eve") };
    let mut entries = Vec::new();
    pack_entry(&mut entries, &digest, "eve");
    let table = TABLES[0].to_owned();
    for kind in [
        Kind::Begin(SnapshotBegin { table: table.clone(), entries: 1 }),
        Kind::Chunk(SnapshotChunk { table: table.clone(), entries }),
        Kind::End(SnapshotEnd { table: table.clone(), version: Some(version) }),
    ] {
        let effect = replica.on_message(&ServerMessage { kind: Some(kind) }.encode_to_vec());
        assert!(matches!(effect, Ok(Effect::None | Effect::Changed { .. })), "{effect:?}");
    }
    assert_eq!(replica.version(&table), Some(version));
    assert_eq!(
        replica.table(&table).and_then(|table| table.get(&digest)).map(Record::identity),
        Some(&b"eve"[..])
    );
    check(replica);
}

/// Few digests, so that messages meet.
fn digest(random: &mut Random) -> Digest {
    let first = u8::try_from(random.below(12)).unwrap_or(0);
    let mut digest = key::digest(&[first]);
    if random.below(4) == 0 {
        digest[0] = first;
    }
    digest
}

/// A snapshot that is right.
fn snapshot(random: &mut Random) -> Vec<Kind> {
    let table = (*random.choose(&TABLES)).to_owned();
    let mut digests: Vec<Digest> = (0..random.below(6)).map(|_| digest(random)).collect();
    digests.sort_unstable();
    digests.dedup();
    let mut checksum = 0_u64;
    let mut messages =
        vec![Kind::Begin(SnapshotBegin { table: table.clone(), entries: digests.len() as u64 })];
    for digest in &digests {
        let user = random.choose(&USERS);
        let mut entries = Vec::new();
        pack_entry(&mut entries, digest, user);
        checksum = checksum.wrapping_add(entry_hash(digest, user));
        messages.push(Kind::Chunk(SnapshotChunk { table: table.clone(), entries }));
    }
    let version = Version { revision: random.next() % 9, checksum };
    messages.push(Kind::End(SnapshotEnd { table: table.clone(), version: Some(version) }));
    if let Some(removed) = digests.first().filter(|_| random.below(2) == 0) {
        messages.push(Kind::Delta(delta(random, table, version, removed)));
    }
    messages
}

/// A change that fits: an addition that may replace, and sometimes one that does not fit.
fn delta(random: &mut Random, table: String, from: Version, removed: &Digest) -> Delta {
    let mut new = *removed;
    new[15] ^= 1;
    let user = random.choose(&USERS);
    let mut upserts = Vec::new();
    pack_entry(&mut upserts, &new, user);
    let checksum = from.checksum.wrapping_add(entry_hash(&new, user));
    let to = Version { revision: from.revision + 1, checksum };
    let removals = if random.below(3) == 0 { removed.to_vec() } else { Vec::new() };
    let takes_away = random.below(5) == 0;
    Delta { table, from: Some(from), to: Some(to), upserts, removals, also: also(random), takes_away }
}

/// Now and then another table that changes alike, or should.
fn also(random: &mut Random) -> Vec<String> {
    let some = random.below(4) == 0;
    some.then(|| (*random.choose(&TABLES)).to_owned()).into_iter().collect()
}

/// A message that is most likely wrong.
fn message(random: &mut Random) -> Kind {
    let table = (*random.choose(&TABLES)).to_owned();
    let version =
        (random.below(3) > 0).then(|| Version { revision: random.next() % 9, checksum: random.next() });
    match random.below(7) {
        0 => Kind::Begin(SnapshotBegin { table, entries: random.next() >> random.below(64) }),
        1 => Kind::Chunk(SnapshotChunk { table, entries: generate_entries(random) }),
        2 => Kind::Chunk(SnapshotChunk { table, entries: random.bytes(40) }),
        3 => Kind::End(SnapshotEnd { table, version }),
        4 => {
            let removals = random.bytes(40);
            Kind::Delta(Delta {
                table,
                from: version,
                to: version,
                upserts: generate_entries(random),
                removals,
                also: also(random),
                takes_away: random.below(5) == 0,
            })
        }
        5 => Kind::Alias(Alias { table, of: (*random.choose(&TABLES)).to_owned(), version }),
        _ => Kind::Drop(Drop { table }),
    }
}
