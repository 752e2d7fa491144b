//! What the tests in wasmtime share.

use std::time::Duration;

use keyward_filter_core::config::{
    DEFAULT_MAX_TABLE_BYTES, DEFAULT_USAGE_REPORT_MS, FilterConfig, Policy, Step,
};
use keyward_filter_core::key::digest;
use keyward_filter_core::wire::{
    ClientMessage, Delta, Digest, Drop, ServerMessage, SnapshotBegin, SnapshotChunk, SnapshotEnd, Version,
    client_message, entry_hash, pack_entry, server_message,
};
use keyward_integration::headers::Headers;
use keyward_integration::wasm_host::{Host, Vm};
use prost::Message as _;

/// A route under the policy of [`config`].
pub(crate) const ROUTE: &str = "team/keys|team.site/0/0";
/// The key table of that policy.
pub(crate) const TABLE: &str = "team/keys";
/// The wait for keys in [`config`].
pub(crate) const WAIT: Duration = Duration::from_secs(5);

/// A configuration with one policy.
pub(crate) fn config(version: u64) -> FilterConfig {
    let policy = Policy::of(Step::new("api-key", TABLE));
    FilterConfig {
        version,
        role: "keyward-system~gateway-proxy".into(),
        control_cluster: "keyward-control".into(),
        identity_header: "x-user-id".into(),
        wait_for_keys_ms: u32::try_from(WAIT.as_millis()).unwrap(),
        usage_report_ms: DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: DEFAULT_MAX_TABLE_BYTES,
        access_log: false,
        policies: [(TABLE.to_owned(), policy)].into(),
        standalone: None,
    }
}

pub(crate) fn json(config: &FilterConfig) -> Vec<u8> {
    serde_json::to_vec(config).unwrap()
}

/// The filter with one policy, not told of keys, its key stream not yet opened.
pub(crate) fn start() -> Vm {
    Vm::start(&Host::load().unwrap(), &json(&config(1))).unwrap()
}

/// The same with every capability, so that it does what the route configuration does otherwise.
pub(crate) fn start_by_itself() -> Vm {
    Vm::start(&Host::load_by_itself().unwrap(), &json(&config(1))).unwrap()
}

/// The same with its key stream open and these keys.
pub(crate) fn start_with(keys: &[(&str, &str)]) -> Vm {
    let mut vm = start();
    let stream = open_stream(&mut vm);
    send_snapshot(&mut vm, stream, &entries(keys));
    vm
}

/// Lets the filter open its key stream, and accepts it.
pub(crate) fn open_stream(vm: &mut Vm) -> u32 {
    vm.advance(Duration::from_secs(3)).unwrap();
    let stream = *vm.grpc_streams().keys().next().expect("the filter has opened its key stream");
    vm.grpc_accept(stream).unwrap();
    stream
}

/// Entries of a table from keys and whose they are.
pub(crate) fn entries(keys: &[(&str, &str)]) -> Vec<(Digest, String)> {
    keys.iter().map(|(key, identity)| (digest(key.as_bytes()), (*identity).to_owned())).collect()
}

/// `count` entries that nobody has a key for.
pub(crate) fn many_entries(count: u64) -> Vec<(Digest, String)> {
    (0..count).map(|n| (digest(&n.to_le_bytes()), format!("user-{n:07}"))).collect()
}

pub(crate) fn version<R: AsRef<[u8]>>(revision: u64, entries: &[(Digest, R)]) -> Version {
    let hashes = entries.iter().map(|(digest, record)| entry_hash(digest, record));
    Version { revision, checksum: hashes.fold(0, u64::wrapping_add) }
}

pub(crate) fn pack<R: AsRef<[u8]>>(entries: &[(Digest, R)]) -> Vec<u8> {
    let mut packed = Vec::new();
    for (digest, record) in entries {
        pack_entry(&mut packed, digest, record);
    }
    packed
}

/// Sends a table at revision 1; the filter must acknowledge it.
pub(crate) fn send_snapshot<R: AsRef<[u8]> + Ord + Clone>(vm: &mut Vm, stream: u32, entries: &[(Digest, R)]) {
    let mut sorted = entries.to_vec();
    sorted.sort();
    vm.take_sent(stream);
    let version = version(1, &sorted);
    send(vm, stream, begin(sorted.len()));
    for part in sorted.chunks(4096) {
        send(vm, stream, chunk(pack(part)));
    }
    send(vm, stream, end(version));
    let said = said(vm, stream);
    let [client_message::Kind::Ack(ack)] = said.as_slice() else { panic!("no ack: {said:?}") };
    assert_eq!(ack.held.as_ref().and_then(|held| held.version), Some(version));
}

pub(crate) fn begin(entries: usize) -> server_message::Kind {
    let entries = u64::try_from(entries).unwrap();
    server_message::Kind::Begin(SnapshotBegin { table: TABLE.into(), entries })
}

pub(crate) fn chunk(entries: Vec<u8>) -> server_message::Kind {
    server_message::Kind::Chunk(SnapshotChunk { table: TABLE.into(), entries })
}

pub(crate) fn end(version: Version) -> server_message::Kind {
    server_message::Kind::End(SnapshotEnd { table: TABLE.into(), version: Some(version) })
}

/// The change from one list of entries at revision `from.0` to another.
pub(crate) fn delta(
    from: (u64, &[(Digest, String)]),
    to: (u64, &[(Digest, String)]),
) -> server_message::Kind {
    let added: Vec<_> = to.1.iter().filter(|entry| !from.1.contains(entry)).cloned().collect();
    let kept = |digest: &Digest| to.1.iter().any(|(other, _)| other == digest);
    let removed = from.1.iter().filter(|(digest, _)| !kept(digest)).flat_map(|(digest, _)| *digest);
    server_message::Kind::Delta(Delta {
        table: TABLE.into(),
        from: Some(version(from.0, from.1)),
        to: Some(version(to.0, to.1)),
        upserts: pack(&added),
        removals: removed.collect(),
        also: Vec::new(),
        takes_away: false,
    })
}

pub(crate) fn drop_table() -> server_message::Kind {
    server_message::Kind::Drop(Drop { table: TABLE.into() })
}

pub(crate) fn send(vm: &mut Vm, stream: u32, kind: server_message::Kind) {
    vm.grpc_message(stream, &ServerMessage { kind: Some(kind) }.encode_to_vec()).unwrap();
}

/// What the filter said on a stream since the last time.
pub(crate) fn said(vm: &mut Vm, stream: u32) -> Vec<client_message::Kind> {
    let messages = vm.take_sent(stream);
    messages.iter().map(|bytes| ClientMessage::decode(bytes.as_slice()).unwrap().kind.unwrap()).collect()
}

/// The headers of a request with this key.
pub(crate) fn with_key(key: &str) -> Headers {
    Headers::new().with("api-key", key)
}

/// What a request with this key comes to: the identity, or the status of the answer.
pub(crate) fn ask(vm: &mut Vm, key: &str) -> Result<String, u32> {
    let exchange = vm.round_trip(ROUTE, with_key(key)).unwrap();
    match exchange.outcome.identity() {
        Some(identity) => Ok(String::from_utf8(identity.to_vec()).unwrap()),
        None => Err(exchange.outcome.local().unwrap().status),
    }
}
