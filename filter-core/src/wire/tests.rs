use proptest::prelude::*;

use super::*;
use crate::life::Life;
use crate::record::{MAX_IDENTITY_LEN, MAX_RECORD_LEN, pack};

fn identity() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z0-9.-]{1,63}", "[^\0]{1,60}", Just("x".repeat(MAX_IDENTITY_LEN))]
}

proptest! {
    #[test]
    fn packed_entries_are_read_back(entries in prop::collection::vec((any::<Digest>(), identity()), 0..50)) {
        let mut packed = Vec::new();
        for (digest, identity) in &entries {
            pack_entry(&mut packed, digest, identity);
        }
        let read: Result<Vec<_>, _> = Entries::new(&packed).collect();
        let read = read.map(|read| read.iter().map(|(digest, record)| (*digest, record.as_bytes())).collect());
        let expected = entries.iter().map(|(digest, identity)| (*digest, identity.as_bytes())).collect();
        prop_assert_eq!(read, Ok::<Vec<_>, Malformed>(expected));
    }

    #[test]
    fn an_entry_that_is_cut_off_is_noticed(
        digest in any::<Digest>(),
        identity in identity(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut packed = Vec::new();
        pack_entry(&mut packed, &digest, &identity);
        packed.truncate(1 + cut.index(packed.len() - 1));
        let read: Vec<_> = Entries::new(&packed).collect();
        prop_assert_eq!(read, vec![Err(Malformed::Truncated)]);
    }

    #[test]
    fn reading_any_bytes_ends(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let read = Entries::new(&bytes).count();
        prop_assert!(read <= bytes.len());
    }
}

#[test]
fn the_packed_form_is_fixed() {
    // Shared by two programs that may be of different versions: a change here breaks the protocol.
    let digest = *b"0123456789abcdef";
    let mut packed = Vec::new();
    pack_entry(&mut packed, &digest, "ann");
    assert_eq!(packed, b"0123456789abcdef\x03\x00ann");
    assert_eq!(entry_hash(&digest, "ann"), 0x5cd4_20bb_6ccf_2b17);
    packed.clear();
    pack_entry(&mut packed, &digest, pack(Life::ALWAYS, "ann", [("team", &b"blue"[..])]));
    assert_eq!(packed, b"0123456789abcdef\x0d\x00ann\0team\0blue");
    packed.clear();
    let life = Life { expires_at: Some(0x0102_0304_0506), ..Life::ALWAYS };
    pack_entry(&mut packed, &digest, pack(life, "ann", []));
    assert_eq!(packed, b"0123456789abcdef\x0b\x00\xff\x04\x06\x05\x04\x03\x02\x01ann");
}

#[test]
fn the_hash_tells_entries_apart() {
    let (one, other) = ([1; DIGEST_LEN], [2; DIGEST_LEN]);
    // Two entries that swap their identities must not add up to the same sum.
    let sum = |a, b| entry_hash(&one, a).wrapping_add(entry_hash(&other, b));
    assert_ne!(sum("ann", "bob"), sum("bob", "ann"));
    let mut swapped = one;
    swapped[..8].copy_from_slice(&[3; 8]);
    assert_ne!(entry_hash(&one, "ann"), entry_hash(&swapped, "ann"));
}

#[test]
fn an_identity_is_neither_empty_nor_too_long_nor_garbled() {
    let entry = |identity: &[u8]| {
        let mut packed = vec![0; DIGEST_LEN];
        packed.extend_from_slice(&u16::try_from(identity.len()).expect("a short one").to_le_bytes());
        packed.extend_from_slice(identity);
        Entries::new(&packed).map(|entry| entry.map(|_| ())).collect::<Vec<_>>()
    };
    assert_eq!(entry(b"a"), [Ok(())]);
    assert_eq!(entry(&[b'a'; MAX_IDENTITY_LEN]), [Ok(())]);
    assert_eq!(entry(b""), [Err(Malformed::Identity)]);
    assert_eq!(entry(&[b'a'; MAX_IDENTITY_LEN + 1]), [Err(Malformed::Identity)]);
    assert_eq!(entry(b"a\xff"), [Err(Malformed::Identity)]);
    assert_eq!(entry(b"\xff"), [Err(Malformed::Life)]);
    assert_eq!(entry(b"\xff\x01a"), [Ok(())]);
    assert_eq!(entry(b"\xff\x01"), [Err(Malformed::Identity)]);
    assert_eq!(entry(b"\xff\x10a"), [Err(Malformed::Life)]);
    assert_eq!(entry(&[b'a'; MAX_RECORD_LEN + 1]), [Err(Malformed::Identity)]);
    assert_eq!(entry(b"a\0team\0blue"), [Ok(())]);
    assert_eq!(entry(b"a\0team\0bl\nue"), [Err(Malformed::Metadata)]);
}

#[test]
fn removals_are_whole_digests() {
    assert_eq!(removals(&[]), Ok(&[][..]));
    assert_eq!(removals(&[7; 32]), Ok(&[[7; DIGEST_LEN]; 2][..]));
    assert_eq!(removals(&[7; 31]), Err(Malformed::Truncated));
}

#[test]
fn a_cluster_is_named_as_envoy_reads_it() {
    // protoc --encode=envoy.config.core.v3.GrpcService of: envoy_grpc { cluster_name: "keyward" }
    assert_eq!(grpc_service("keyward").as_deref(), Some("\n\x09\n\x07keyward"));
    let longest = grpc_service(&"c".repeat(MAX_CLUSTER_LEN)).expect("the longest name");
    assert_eq!(longest.as_bytes()[..4], [10, 127, 10, 125]);
    assert_eq!(grpc_service(&"c".repeat(MAX_CLUSTER_LEN + 1)), None);
}

#[test]
fn the_packed_form_of_uses_is_fixed() {
    let mut packed = Vec::new();
    pack_use(&mut packed, b"0123456789abcdef", 0x0102, 0x0304_0506);
    assert_eq!(packed, b"0123456789abcdef\x02\x01\x00\x00\x06\x05\x04\x03");
    let read = |bytes: &[u8]| uses(bytes).map(Iterator::collect::<Vec<_>>);
    assert_eq!(read(&packed), Ok(vec![(*b"0123456789abcdef", 0x0102, 0x0304_0506)]));
    assert_eq!(read(&packed[1..]), Err(Malformed::Truncated));
}
