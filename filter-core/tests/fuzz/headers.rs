//! Request headers: whatever a client sends, only one key in the right header decides, however often it stands
//! there.
//!
//! An input is: a route, when the host starts to refuse, and then headers.

use std::collections::BTreeMap;

use keyward_filter_core::config::{FilterConfig, Policy, Step};
use keyward_filter_core::decisions::Row;
use keyward_filter_core::host::{HostError, Note, Reply, RequestHost};
use keyward_filter_core::key;
use keyward_filter_core::metric::Metric;
use keyward_filter_core::replica::Replica;
use keyward_filter_core::request::{Outcome, on_request_headers, on_response_headers};
use keyward_filter_core::wire::{
    Digest, ServerMessage, SnapshotBegin, SnapshotChunk, SnapshotEnd, Version, entry_hash, pack_entry,
    server_message::Kind,
};
use prost::Message as _;

use crate::engine::{Random, Unstructured};

const NAMES: [&str; 5] = ["api-key", "x-key", "x-user-id", "cookie", ""];
const KEYS: [(&[u8], &str); 4] =
    [(b"secret", "ann"), (b"\xff\xfe", "bob"), (b" spaced ", "cat"), (b"secret,secret", "dan")];
const ROUTES: [&str; 7] =
    ["n/plain|r", "n/forward|r", "n/other|r", "n/loading|r", "n/unknown|r", "no separator", "|"];

/// A proxy that keeps one request.
#[derive(Default)]
struct Host {
    route: Option<Vec<u8>>,
    headers: Vec<(String, Vec<u8>)>,
    response: Vec<(String, Vec<u8>)>,
    replies: Vec<u16>,
    /// Changes of headers that are still obeyed.
    obeys: usize,
}

/// What must come out, worked out in another way.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    Forward { user: &'static str, key: Option<Vec<u8>> },
    Reply(u16),
    Wait,
}

pub(crate) fn run(input: &[u8]) {
    let (config, replica) = (config(), replica());
    let mut host = read(input);
    let before = host.headers.clone();
    let wanted = wanted(&config, &host);
    let outcome = on_request_headers(&config, &replica, &mut host);
    match wanted {
        Wanted::Forward { user, key } => {
            assert!(matches!(outcome, Outcome::Forward(_)), "{outcome:?}");
            assert_eq!(host.replies, [0; 0]);
            assert_eq!(host.values("x-user-id"), [user.as_bytes()]);
            let name = key_header(&config, &host);
            assert_eq!(host.values(&name), key.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let others = |headers: &[(String, Vec<u8>)]| {
                let others = headers.iter().filter(|(other, _)| *other != name && other != "x-user-id");
                others.cloned().collect::<Vec<_>>()
            };
            assert_eq!(others(&host.headers), others(&before), "other headers are not touched");
        }
        Wanted::Reply(status) => {
            assert_eq!(outcome, Outcome::Answered);
            assert_eq!(host.replies, [status]);
        }
        Wanted::Wait => {
            assert_eq!(outcome, Outcome::Wait);
            assert_eq!((&host.replies[..], &host.headers), (&[][..], &before));
        }
    }
    host.obeys = 1;
    host.response = before;
    assert_eq!(on_response_headers(&config, &mut host), Ok(()));
    assert!(host.response.iter().all(|(name, _)| name != "x-user-id"));
}

pub(crate) fn generate(random: &mut Random) -> Vec<u8> {
    let mut input = vec![random.byte(), random.byte()];
    for _ in 0..random.below(6) {
        input.push(random.byte());
        if random.below(2) == 0 {
            // One of the keys.
            input.push(random.byte() | 0x80);
        } else {
            let value = random.bytes(12);
            input.push(u8::try_from(value.len()).unwrap_or(0));
            input.extend_from_slice(&value);
        }
    }
    input
}

fn read(input: &[u8]) -> Host {
    let mut bytes = Unstructured::new(input);
    let route = usize::from(bytes.byte());
    let route = match ROUTES.get(route % (ROUTES.len() + 2)) {
        Some(route) => Some(route.as_bytes().to_vec()),
        None if route % 2 == 0 => None,
        None => Some(bytes.take(8).to_vec()),
    };
    // Mostly a proxy that obeys.
    let obeys = usize::from(bytes.byte());
    let mut host = Host { route, obeys: if obeys < 16 { obeys % 3 } else { 9 }, ..Host::default() };
    while !bytes.is_empty() {
        let name = NAMES[usize::from(bytes.byte()) % NAMES.len()];
        let length = bytes.byte();
        let value = match length.checked_sub(0x80) {
            Some(which) => KEYS[usize::from(which) % KEYS.len()].0.to_vec(),
            None => bytes.take(usize::from(length)).to_vec(),
        };
        host.headers.push((name.to_owned(), value));
    }
    host
}

fn config() -> FilterConfig {
    let policy = |key_header: &str, table: &str, forward_key| {
        Policy::of(Step {
            key_header: key_header.to_owned(),
            places: Vec::new(),
            table: table.to_owned(),
            forward_key,
            headers: Vec::new(),
            anonymous: false,
            allowed: None,
        })
    };
    FilterConfig {
        version: 1,
        role: "n~p".to_owned(),
        control_cluster: "control".to_owned(),
        identity_header: "x-user-id".to_owned(),
        wait_for_keys_ms: 5_000,
        usage_report_ms: keyward_filter_core::config::DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: keyward_filter_core::config::DEFAULT_MAX_TABLE_BYTES,
        access_log: false,
        policies: BTreeMap::from([
            ("n/plain".to_owned(), policy("api-key", "t", false)),
            ("n/forward".to_owned(), policy("api-key", "t", true)),
            ("n/other".to_owned(), policy("x-key", "t", false)),
            ("n/loading".to_owned(), policy("api-key", "not there", false)),
        ]),
        standalone: None,
    }
}

fn replica() -> Replica {
    let entries: BTreeMap<Digest, &str> = KEYS.iter().map(|(key, user)| (key::digest(key), *user)).collect();
    let checksum = entries.iter().map(|(digest, user)| entry_hash(digest, user)).fold(0, u64::wrapping_add);
    let mut packed = Vec::new();
    for (digest, user) in &entries {
        pack_entry(&mut packed, digest, user);
    }
    let table = || "t".to_owned();
    let mut replica = Replica::new();
    for kind in [
        Kind::Begin(SnapshotBegin { table: table(), entries: 4 }),
        Kind::Chunk(SnapshotChunk { table: table(), entries: packed }),
        Kind::End(SnapshotEnd { table: table(), version: Some(Version { revision: 1, checksum }) }),
    ] {
        replica.on_message(&ServerMessage { kind: Some(kind) }.encode_to_vec()).expect("a message");
    }
    assert_eq!(replica.keys(), KEYS.len());
    replica
}

fn policy<'a>(config: &'a FilterConfig, host: &Host) -> Option<&'a Policy> {
    let route = String::from_utf8(host.route.clone()?.split(|byte| *byte == b'|').next()?.to_vec()).ok()?;
    config.policies.get(&route).filter(|_| host.route.as_ref().is_some_and(|route| route.contains(&b'|')))
}

fn key_header(config: &FilterConfig, host: &Host) -> String {
    policy(config, host).map(|policy| policy.steps[0].key_header.clone()).unwrap_or_default()
}

fn wanted(config: &FilterConfig, host: &Host) -> Wanted {
    let Some(policy) = policy(config, host) else { return Wanted::Reply(403) };
    let step = &policy.steps[0];
    if step.table != "t" {
        return Wanted::Wait;
    }
    let mut keys = host.values(&step.key_header);
    keys.retain(|key| !key.is_empty());
    keys.dedup();
    let [key] = keys[..] else { return Wanted::Reply(401) };
    let Some((_, user)) = KEYS.iter().find(|(known, _)| *known == key) else { return Wanted::Reply(401) };
    // The key header is one change, the identity the other.
    if host.obeys < 2 {
        return Wanted::Reply(503);
    }
    Wanted::Forward { user, key: step.forward_key.then(|| key.to_vec()) }
}

// === impl Host ===

impl Host {
    fn values(&self, name: &str) -> Vec<&[u8]> {
        self.headers.iter().filter(|(other, _)| other == name).map(|(_, value)| value.as_slice()).collect()
    }

    fn obey(&mut self) -> Result<(), HostError> {
        self.obeys = self.obeys.checked_sub(1).ok_or(HostError)?;
        Ok(())
    }
}

impl RequestHost for Host {
    fn route_name(&mut self) -> Option<Vec<u8>> {
        self.route.clone()
    }

    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        self.values(name).first().map(|value| value.to_vec())
    }

    fn request_values(&mut self, name: &str) -> Vec<Vec<u8>> {
        self.values(name).into_iter().map(<[u8]>::to_vec).collect()
    }

    fn set_request_header(&mut self, name: &str, value: &[u8]) -> Result<(), HostError> {
        self.remove_request_header(name)?;
        self.headers.push((name.to_owned(), value.to_vec()));
        Ok(())
    }

    fn remove_request_header(&mut self, name: &str) -> Result<(), HostError> {
        self.obey()?;
        self.headers.retain(|(other, _)| other != name);
        Ok(())
    }

    fn remove_response_header(&mut self, name: &str) -> Result<(), HostError> {
        self.obey()?;
        self.response.retain(|(other, _)| other != name);
        Ok(())
    }

    fn wall_clock(&mut self) -> Option<u64> {
        panic!("no key here has a time")
    }

    fn pass_anonymously(&mut self) -> Result<(), HostError> {
        panic!("no policy here is anonymous")
    }

    fn reply(&mut self, reply: &Reply, _: &'static str) -> Result<(), HostError> {
        self.replies.push(reply.status);
        Ok(())
    }

    fn note(&mut self, _: Note, _: &[u8]) {}

    fn row(&mut self, _: &str) -> Row {
        Row::NONE
    }

    fn count(&mut self, _: Row, _: Metric) {}

    fn add(&mut self, _: Metric, _: i64) {}
}
