//! Random lives of the `.wasm`: requests of any bytes and a key stream of right, mutated and random
//! messages, in any order, against a model. `filter-core` fuzzes the same logic natively and far
//! faster; here it is the file that Envoy loads, adapter and SDK included.
//!
//! Each life follows from one number. `testdata/fuzz/wasm/seeds` keeps those worth repeating; then
//! new ones run for `KEYWARD_FUZZ_SECONDS` (default 2). `KEYWARD_FUZZ_SEED` runs one life only.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use keyward_filter_core::key::digest;
use keyward_filter_core::wire::{ClientMessage, Digest, ServerMessage, client_message, server_message};
use keyward_integration::headers::Headers;
use keyward_integration::paths;
use keyward_integration::wasm_host::{Outcome, Vm};
use prost::Message as _;

use crate::kit::{
    ROUTE, TABLE, begin, chunk, config, delta, drop_table, end, json, pack, start_by_itself, version,
};

/// What happens in one life.
const STEPS: usize = 60;
/// Keys that exist at times.
const KEYS: [&[u8]; 6] = [b"alice-key", b"bob-key", b"\xff\xfe\x00key", b"k", b"key,key", b"alice-key "];

type Entries = Vec<(Digest, String)>;

struct Life {
    vm: Vm,
    random: Random,
    /// The content of every version that was ever named, by checksum.
    named: BTreeMap<u64, Entries>,
    /// What the filter last said that it holds.
    held: Option<(u64, Entries)>,
    revision: u64,
    waiting: Vec<(u32, Vec<u8>)>,
    seen: BTreeMap<&'static str, u64>,
}

struct Random(u64);

/// Whether the bytes are a message that drops the table.
fn drops(message: &[u8]) -> bool {
    let kind = ServerMessage::decode(message).ok().and_then(|message| message.kind);
    matches!(kind, Some(server_message::Kind::Drop(drop)) if drop.table == TABLE)
}

/// One life; what was seen in it, and how often.
fn live(seed: u64) -> anyhow::Result<BTreeMap<&'static str, u64>> {
    let mut life = Life {
        vm: start_by_itself(),
        random: Random(seed),
        named: BTreeMap::new(),
        held: None,
        revision: 0,
        waiting: Vec::new(),
        seen: BTreeMap::new(),
    };
    for step in 0..STEPS {
        life.step().with_context(|| format!("step {step}"))?;
    }
    Ok(life.seen)
}

#[test]
fn random_lives_keep_to_the_model() {
    if let Ok(seed) = std::env::var("KEYWARD_FUZZ_SEED") {
        live(seed.parse().unwrap()).unwrap();
        return;
    }
    let failed = |seed: u64, error: &anyhow::Error| {
        panic!("seed {seed}: {error:#}\nagain: KEYWARD_FUZZ_SEED={seed}; keep it in testdata/fuzz/wasm/seeds")
    };
    let kept = std::fs::read_to_string(paths::testdata("fuzz").join("wasm/seeds")).unwrap();
    let kept: Vec<u64> =
        kept.lines().filter_map(|line| line.split('#').next()?.trim().parse().ok()).collect();
    assert!(kept.len() > 10, "the seeds are gone");
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in kept {
        for (what, count) in live(seed).unwrap_or_else(|error| failed(seed, &error)) {
            *seen.entry(what).or_default() += count;
        }
    }
    // Lives in which nothing happens would keep to any model.
    for what in ["allowed", "denied", "forbidden", "waiting", "decided late", "ack", "nack", "stream ended"] {
        assert!(seen.get(what).is_some_and(|count| *count >= 5), "{what} is hardly ever seen: {seen:?}");
    }
    let seconds = std::env::var("KEYWARD_FUZZ_SECONDS").map_or(2, |seconds| seconds.parse().unwrap());
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let first = u64::from(std::process::id()) << 32;
    let mut lives = 0;
    while Instant::now() < deadline {
        live(first + lives).unwrap_or_else(|error| failed(first + lives, &error));
        lives += 1;
    }
    eprintln!("{lives} random lives of {STEPS} steps, from seed {first}");
}

// === impl Random ===

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit.max(1)).unwrap()).unwrap()
    }

    fn bytes(&mut self, longest: usize) -> Vec<u8> {
        let length = self.below(longest + 1);
        (0..length).map(|_| self.next().to_le_bytes()[0]).collect()
    }

    /// Some bytes changed, cut out, doubled or added.
    fn mutate(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(3) {
            let at = self.below(bytes.len());
            match self.below(5) {
                0 => bytes.truncate(at),
                1 if !bytes.is_empty() => drop(bytes.remove(at)),
                2 => bytes.insert(at, self.next().to_le_bytes()[0]),
                3 => bytes.extend(self.bytes(8)),
                _ if !bytes.is_empty() => bytes[at] ^= 1 << self.below(8),
                _ => {}
            }
        }
    }
}

// === impl Life ===

impl Life {
    fn step(&mut self) -> anyhow::Result<()> {
        match self.random.below(20) {
            0..=9 => self.request(),
            10..=15 => self.message(),
            16 => self.vm.advance(Duration::from_millis(100 + self.random.next() % 1500)),
            17 => match self.vm.grpc_streams().keys().next() {
                Some(stream) => self.vm.grpc_close(*stream, 14),
                None => Ok(()),
            },
            18 => {
                let mut next = config(self.random.next() % 1000);
                next.wait_for_keys_ms = 60_000;
                ensure!(self.vm.configure(&json(&next))?, "a right configuration was refused");
                Ok(())
            }
            _ => {
                let mut bytes = json(&config(1));
                self.random.mutate(&mut bytes);
                // Taken or not, as long as it is still this one; anything else would need a model.
                if serde_json::from_slice::<serde_json::Value>(&bytes).is_err() {
                    ensure!(!self.vm.configure(&bytes)?, "what is no JSON was taken");
                }
                Ok(())
            }
        }?;
        self.check_waiting()
    }

    fn request(&mut self) -> anyhow::Result<()> {
        let mut headers = Headers::new();
        for _ in 0..self.random.below(4) {
            let mut value = match self.random.below(4) {
                0 => self.random.bytes(40),
                _ => KEYS[self.random.below(KEYS.len())].to_vec(),
            };
            if self.random.below(4) == 0 {
                self.random.mutate(&mut value);
            }
            let name = ["api-key", "API-KEY", "x-user-id", "X-User-Id", "x-other"][self.random.below(5)];
            headers.add(name, value);
        }
        let mut route = ROUTE.to_owned();
        if self.random.below(10) == 0 {
            route = String::from_utf8_lossy(&self.random.bytes(30)).into_owned();
        }
        // Of two different ones none counts.
        let mut keys = headers.all("api-key");
        keys.retain(|key| !key.is_empty());
        let key = keys.first().filter(|first| keys.iter().all(|key| key == *first));
        let key = key.map(|key| key.to_vec()).unwrap_or_default();
        let exchange = self.vm.request(&route, headers)?;
        if exchange.outcome == Outcome::Paused && route.starts_with("team/keys|") && self.held.is_none() {
            self.see("waiting");
            self.waiting.push((exchange.id, key));
            return Ok(());
        }
        self.check(&route, &key, &exchange.outcome)?;
        if exchange.outcome.forwarded().is_some() {
            let response = Headers::new().with("X-User-Id", "leak").with("x-user-id", "\u{ff}");
            let response = self.vm.response(exchange.id, &response)?;
            ensure!(response.all("x-user-id").is_empty(), "a response kept the identity");
        }
        self.vm.end(exchange.id)
    }

    fn see(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn check(&mut self, route: &str, key: &[u8], outcome: &Outcome) -> anyhow::Result<()> {
        if !route.starts_with("team/keys|") {
            let status = outcome.local().map(|reply| reply.status);
            ensure!(status == Some(403), "route {route:?}: {outcome:?}");
            self.see("forbidden");
            return Ok(());
        }
        let Some((_, entries)) = &self.held else { bail!("decided without keys: {outcome:?}") };
        let found = entries.iter().find(|(other, _)| !key.is_empty() && *other == digest(key));
        match (found, outcome) {
            (Some((_, identity)), Outcome::Forwarded(headers)) => {
                ensure!(headers.all("x-user-id") == [identity.as_bytes()], "{headers:?}, not {identity}");
                ensure!(headers.all("api-key").is_empty(), "the key was passed on: {headers:?}");
                self.see("allowed");
                Ok(())
            }
            (None, Outcome::Local(reply)) if reply.status == 401 => {
                self.see("denied");
                Ok(())
            }
            _ => bail!("key {:?} came to {outcome:?}, known is {found:?}", key.escape_ascii().to_string()),
        }
    }

    fn check_waiting(&mut self) -> anyhow::Result<()> {
        if self.held.is_none() {
            return Ok(());
        }
        for (id, key) in std::mem::take(&mut self.waiting) {
            let outcome = self.vm.outcome(id)?;
            // Its time may have been up before the keys came.
            if outcome.local().is_none_or(|reply| reply.status != 503) {
                self.check(ROUTE, &key, &outcome)?;
                self.see("decided late");
            }
            self.vm.end(id)?;
        }
        Ok(())
    }

    /// One change or snapshot, whole or spoiled, and what the filter says to it.
    fn message(&mut self) -> anyhow::Result<()> {
        let stream = match self.vm.grpc_streams().keys().next() {
            Some(stream) => *stream,
            None => {
                self.vm.advance(Duration::from_secs(3))?;
                let stream = *self.vm.grpc_streams().keys().next().context("no stream after 3 s")?;
                self.vm.grpc_accept(stream)?;
                stream
            }
        };
        self.revision += 1;
        let entries = self.some_entries();
        let to = version(self.revision, &entries);
        self.named.insert(to.checksum, entries.clone());
        let mut messages = match (&self.held, self.random.below(8)) {
            (_, 0) => vec![drop_table()],
            (Some((revision, before)), 1..=4) => vec![delta((*revision, before), (self.revision, &entries))],
            _ => {
                let part = self.random.below(entries.len() + 1);
                let (first, second) = entries.split_at(part);
                vec![begin(entries.len()), chunk(pack(first)), chunk(pack(second)), end(to)]
            }
        };
        if self.random.below(6) == 0 {
            let at = self.random.below(messages.len());
            messages.remove(at);
        }
        for kind in messages {
            let mut bytes = ServerMessage { kind: Some(kind) }.encode_to_vec();
            match self.random.below(12) {
                0 => self.random.mutate(&mut bytes),
                1 => bytes = self.random.bytes(60),
                _ => {}
            }
            if !self.vm.grpc_streams().contains_key(&stream) {
                // The filter ended the stream over what it could not read.
                self.see("stream ended");
                return Ok(());
            }
            self.vm.grpc_message(stream, &bytes)?;
            if drops(&bytes) {
                self.held = None;
            }
            self.listen(stream)?;
        }
        Ok(())
    }

    fn listen(&mut self, stream: u32) -> anyhow::Result<()> {
        for said in self.vm.take_sent(stream) {
            let kind = ClientMessage::decode(said.as_slice())?.kind;
            let ack = match kind {
                Some(client_message::Kind::Ack(ack)) => ack,
                Some(client_message::Kind::Nack(_)) => {
                    self.see("nack");
                    continue;
                }
                _ => continue,
            };
            self.see("ack");
            let held = ack.held.context("an ack of nothing")?;
            if held.table == TABLE {
                let version = held.version.context("an ack without a version")?;
                let entries = self.named.get(&version.checksum).context("an ack of what was never sent")?;
                self.held = Some((version.revision, entries.clone()));
            }
        }
        Ok(())
    }

    /// Each key has an owner, or none, at random; in the order of the digests.
    fn some_entries(&mut self) -> Entries {
        let mut entries = Entries::new();
        for key in KEYS {
            let owner = self.random.below(4);
            if owner > 0 {
                entries.push((digest(key), format!("owner-{owner}")));
            }
        }
        entries.sort();
        entries
    }
}
