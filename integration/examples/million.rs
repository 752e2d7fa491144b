//! What a million keys cost a worker: memory, also at the worst moment, and how long one message holds it.
//!
//! ```text
//! just filter && cargo run -p keyward-integration --example million [KEYS]
//! ```
//!
//! The module runs under wasmtime as it is tested, with its fuel counted, so its times are upper ones.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use keyward_filter_core::config::{
    DEFAULT_MAX_TABLE_BYTES, DEFAULT_USAGE_REPORT_MS, FilterConfig, Policy, Step,
};
use keyward_filter_core::key::digest;
use keyward_filter_core::wire::{
    Alias, ClientMessage, Delta, Digest, ServerMessage, SnapshotBegin, SnapshotChunk, SnapshotEnd, Version,
    client_message, entry_hash, pack_entry, server_message::Kind,
};
use keyward_integration::wasm_host::{Host, Vm};
use prost::Message as _;

/// Keys in a chunk: those of 16 KiB.
const CHUNK: usize = 450;
/// Keys that come in a change, and keys that go: those of 32 KiB.
const CHANGE: usize = 700;
const CHANGES: usize = 240;
const TABLE: &str = "team/keys";
const OTHER: &str = "team/others";

type Entry = (Digest, String);

/// A worker, and what it has cost so far.
struct Worker {
    vm: Vm,
    stream: u32,
    keys: usize,
    empty: usize,
    /// How long each message has held it since the last report.
    held: Vec<Duration>,
}

fn entry(number: usize) -> Entry {
    (digest(&number.to_le_bytes()), format!("user-{number:07}"))
}

fn pack(entries: &[Entry]) -> Vec<u8> {
    let mut packed = Vec::new();
    entries.iter().for_each(|(digest, record)| pack_entry(&mut packed, digest, record));
    packed
}

fn sum(entries: &[Entry]) -> u64 {
    entries.iter().fold(0, |sum, (digest, record)| sum.wrapping_add(entry_hash(digest, record)))
}

// === impl Worker ===

impl Worker {
    fn start(keys: usize) -> anyhow::Result<Self> {
        let policies = [TABLE, OTHER].map(|name| (name.to_owned(), Policy::of(Step::new("api-key", name))));
        let config = FilterConfig {
            version: 1,
            role: "keyward-system~gateway-proxy".into(),
            control_cluster: "keyward-control".into(),
            identity_header: "x-user-id".into(),
            wait_for_keys_ms: 5_000,
            usage_report_ms: DEFAULT_USAGE_REPORT_MS,
            max_table_bytes: DEFAULT_MAX_TABLE_BYTES,
            policies: policies.into(),
            standalone: None,
            access_log: false,
        };
        let mut vm = Vm::start(&Host::load()?, &serde_json::to_vec(&config)?)?;
        vm.advance(Duration::from_secs(3))?;
        let stream = *vm.grpc_streams().keys().next().context("the filter has opened no key stream")?;
        vm.grpc_accept(stream)?;
        let empty = vm.memory_size();
        Ok(Self { vm, stream, keys, empty, held: Vec::new() })
    }

    fn send(&mut self, kind: Kind) -> anyhow::Result<()> {
        let message = ServerMessage { kind: Some(kind) }.encode_to_vec();
        let begun = Instant::now();
        self.vm.grpc_message(self.stream, &message)?;
        self.held.push(begun.elapsed());
        for said in self.vm.take_sent(self.stream) {
            if let Some(client_message::Kind::Nack(nack)) = ClientMessage::decode(&said[..])?.kind {
                anyhow::bail!("the worker refuses {}: {}", nack.table, nack.reason);
            }
        }
        Ok(())
    }

    fn snapshot(&mut self, entries: &[Entry], version: Version) -> anyhow::Result<()> {
        let table = || TABLE.to_owned();
        self.send(Kind::Begin(SnapshotBegin { table: table(), entries: entries.len() as u64 }))?;
        for part in entries.chunks(CHUNK) {
            self.send(Kind::Chunk(SnapshotChunk { table: table(), entries: pack(part) }))?;
        }
        self.send(Kind::End(SnapshotEnd { table: table(), version: Some(version) }))
    }

    fn report(&mut self, what: &str, out: &mut impl std::io::Write) -> std::io::Result<()> {
        let grown = self.vm.memory_size().saturating_sub(self.empty);
        let mut held = std::mem::take(&mut self.held);
        held.sort_unstable();
        let ms = |at: usize| held.get(at).map_or(0.0, |held| held.as_secs_f64() * 1_000.0);
        writeln!(
            out,
            "{what:<46} {:>5.1} bytes a key, {:>5.1} MiB; a message {:>6.2} ms, at most {:>6.2} ms",
            grown as f64 / self.keys as f64,
            grown as f64 / 1024.0 / 1024.0,
            ms(held.len() / 2),
            ms(held.len().saturating_sub(1)),
        )
    }
}

fn main() -> anyhow::Result<()> {
    let keys = std::env::args().nth(1).map_or(Ok(1_000_000), |keys| keys.parse())?;
    let mut out = std::io::stdout().lock();
    let mut entries: Vec<Entry> = (0..keys).map(entry).collect();
    entries.sort_unstable();
    let mut version = Version { revision: 1, checksum: sum(&entries) };
    let mut worker = Worker::start(keys)?;
    worker.snapshot(&entries, version)?;
    worker.report("memory after the first snapshot", &mut out)?;

    let alias = Alias { table: OTHER.to_owned(), of: TABLE.to_owned(), version: Some(version) };
    worker.send(Kind::Alias(alias))?;
    worker.report("with another table that is the same", &mut out)?;

    for round in 0..CHANGES {
        let mut added: Vec<Entry> = (0..CHANGE).map(|at| entry(keys + round * CHANGE + at)).collect();
        added.sort_unstable();
        let gone = entries.iter().skip(round).step_by(keys / CHANGE).take(CHANGE);
        let removed: Vec<Entry> = gone.cloned().collect();
        let from = version;
        let checksum = from.checksum.wrapping_add(sum(&added)).wrapping_sub(sum(&removed));
        version = Version { revision: from.revision + 1, checksum };
        worker.send(Kind::Delta(Delta {
            table: TABLE.to_owned(),
            from: Some(from),
            to: Some(version),
            upserts: pack(&added),
            removals: removed.iter().flat_map(|(digest, _)| *digest).collect(),
            also: vec![OTHER.to_owned()],
            takes_away: false,
        }))?;
    }
    worker.report("after as many keys have come and gone as 17%", &mut out)?;

    worker.snapshot(&entries, Version { revision: version.revision + 1, checksum: sum(&entries) })?;
    worker.report("at the worst moment of another snapshot", &mut out)?;
    Ok(())
}
