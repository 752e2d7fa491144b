//! A proxy for tests: it keeps headers, streams and time, and shows what became of each request.

use std::collections::BTreeMap;

use prost::Message as _;

use crate::decisions::{Decisions, Row};
use crate::event::Event;
use crate::host::{HostError, Note, Reply, RequestHost, WorkerHost};
use crate::key;
use crate::metric::Metric;
use crate::wire::{
    Alias, ClientMessage, Delta, Digest, Drop, ServerMessage, SnapshotBegin, SnapshotChunk, SnapshotEnd,
    Version, client_message, entry_hash, pack_entry, server_message,
};

/// A request, from the proxy's side.
#[derive(Debug, Default, Clone)]
pub(crate) struct FakeRequest {
    pub(crate) route: Option<Vec<u8>>,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) response: Vec<(String, Vec<u8>)>,
    pub(crate) replies: Vec<Reply>,
    pub(crate) resumed: bool,
    /// What the access log is told.
    pub(crate) denial: Option<&'static str>,
    pub(crate) notes: BTreeMap<Note, String>,
    /// The guard is told that it may pass without an identity.
    pub(crate) anonymous: bool,
    /// A header was changed, so the route was selected again and its name cannot be trusted.
    touched: bool,
}

/// The proxy.
#[derive(Debug, Default)]
pub(crate) struct FakeHost {
    pub(crate) requests: BTreeMap<u32, FakeRequest>,
    pub(crate) roots: BTreeMap<u32, u32>,
    pub(crate) current: u32,
    pub(crate) now: u64,
    /// The proxy does not tell the time.
    pub(crate) timeless: bool,
    /// Open streams, each with the root that it belongs to and what was sent.
    pub(crate) streams: BTreeMap<u32, (u32, Vec<client_message::Kind>)>,
    pub(crate) opened: u32,
    /// How many streams were cancelled while there was no other.
    pub(crate) cancelled_last: u32,
    pub(crate) unreachable: bool,
    pub(crate) metrics: BTreeMap<&'static str, i64>,
    pub(crate) decisions: Decisions,
    pub(crate) log: Vec<String>,
    /// Calls that change a header fail from this one on, counted down.
    pub(crate) refuse_after: Option<u32>,
}

/// A key table as the server knows it.
#[derive(Debug, Clone, Default)]
pub(crate) struct FakeTable {
    pub(crate) entries: BTreeMap<Digest, Vec<u8>>,
    pub(crate) revision: u64,
}

// === impl FakeRequest ===

impl FakeRequest {
    pub(crate) fn new(route: &str, headers: &[(&str, &str)]) -> Self {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()));
        Self { route: Some(route.as_bytes().to_vec()), headers: headers.collect(), ..Self::default() }
    }

    /// All values of a header, in order.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        let named = self.headers.iter().filter(|(other, _)| other == name);
        named.map(|(_, value)| String::from_utf8_lossy(value).into_owned()).collect()
    }

    /// `forward as ann`, `401`, or `waits`: what the client gets to see.
    pub(crate) fn fate(&self) -> String {
        match (&self.replies[..], self.resumed) {
            ([reply], false) => reply.status.to_string(),
            ([], true) => format!("forward as {}", self.values("x-user-id").join("+")),
            ([], false) => "waits".to_owned(),
            other => panic!("both answered and forwarded, or answered twice: {other:?}"),
        }
    }
}

// === impl FakeHost ===

impl FakeHost {
    pub(crate) fn with(request: FakeRequest) -> Self {
        Self { requests: BTreeMap::from([(1, request)]), current: 1, ..Self::default() }
    }

    pub(crate) fn request(&self) -> &FakeRequest {
        &self.requests[&self.current]
    }

    /// What was decided since this was asked last, as `<AuthConfig>|<reason>`.
    pub(crate) fn decided(&mut self) -> Vec<(String, i64)> {
        let (mut names, mut counts) = (Vec::new(), Vec::new());
        self.decisions.show(
            |name| {
                names.push(name.trim_start_matches("keyward.decisions.").to_owned());
                u32::try_from(names.len() - 1).ok()
            },
            |_, count| counts.push(count),
            |_, _| {},
        );
        names.into_iter().zip(counts).collect()
    }

    pub(crate) fn metric(&self, metric: Metric) -> i64 {
        self.metrics.get(metric.name()).copied().unwrap_or(0)
    }

    /// What was sent on the only open stream.
    pub(crate) fn sent(&self) -> &[client_message::Kind] {
        assert_eq!(self.streams.len(), 1, "one stream is open");
        self.streams.values().next().map(|(_, sent)| &sent[..]).expect("one stream is open")
    }

    fn current_request(&mut self) -> &mut FakeRequest {
        self.requests.get_mut(&self.current).expect("the context of a request")
    }

    fn header_call(&mut self) -> Result<(), HostError> {
        match &mut self.refuse_after {
            Some(0) => Err(HostError),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl RequestHost for FakeHost {
    fn route_name(&mut self) -> Option<Vec<u8>> {
        let request = self.current_request();
        assert!(!request.touched, "the route is read before any header is changed");
        request.route.clone()
    }

    fn request_header(&mut self, name: &str) -> Option<Vec<u8>> {
        let headers = &self.current_request().headers;
        headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.clone())
    }

    fn request_values(&mut self, name: &str) -> Vec<Vec<u8>> {
        let named = self.current_request().headers.iter().filter(|(other, _)| other == name);
        named.map(|(_, value)| value.clone()).collect()
    }

    fn set_request_header(&mut self, name: &str, value: &[u8]) -> Result<(), HostError> {
        self.remove_request_header(name)?;
        self.current_request().headers.push((name.to_owned(), value.to_vec()));
        Ok(())
    }

    fn remove_request_header(&mut self, name: &str) -> Result<(), HostError> {
        self.header_call()?;
        let request = self.current_request();
        request.touched = true;
        request.headers.retain(|(other, _)| other != name);
        Ok(())
    }

    fn remove_response_header(&mut self, name: &str) -> Result<(), HostError> {
        self.header_call()?;
        self.current_request().response.retain(|(other, _)| other != name);
        Ok(())
    }

    fn wall_clock(&mut self) -> Option<u64> {
        (!self.timeless).then_some(self.now)
    }

    fn pass_anonymously(&mut self) -> Result<(), HostError> {
        self.header_call()?;
        self.current_request().anonymous = true;
        Ok(())
    }

    fn reply(&mut self, reply: &Reply, why: &'static str) -> Result<(), HostError> {
        self.current_request().denial = Some(why);
        self.current_request().replies.push(*reply);
        Ok(())
    }

    fn note(&mut self, note: Note, value: &[u8]) {
        let request = self.current_request();
        request.notes.insert(note, String::from_utf8_lossy(value).into_owned());
    }

    fn row(&mut self, auth_config: &str) -> Row {
        self.decisions.row(auth_config)
    }

    fn count(&mut self, row: Row, reason: Metric) {
        self.decisions.count(row, reason);
        self.add(reason, 1);
    }

    fn add(&mut self, metric: Metric, change: i64) {
        *self.metrics.entry(metric.name()).or_default() += change;
    }
}

impl WorkerHost for FakeHost {
    fn node_id(&mut self) -> String {
        "node-1".to_owned()
    }

    fn set_tick(&mut self, milliseconds: u32) {
        self.roots.insert(self.current, milliseconds);
    }

    fn enter(&mut self, context: u32) -> Result<(), HostError> {
        if !self.requests.contains_key(&context) && !self.roots.contains_key(&context) {
            return Err(HostError);
        }
        self.current = context;
        Ok(())
    }

    fn resume_request(&mut self) -> Result<(), HostError> {
        let request = self.current_request();
        assert!(!request.resumed, "a request is resumed once");
        request.resumed = true;
        Ok(())
    }

    fn open_stream(&mut self, cluster: &str) -> Result<u32, HostError> {
        assert_eq!(cluster, "control");
        assert!(self.roots.contains_key(&self.current), "a stream is opened in the name of a root");
        if self.unreachable {
            return Err(HostError);
        }
        self.opened += 1;
        self.streams.insert(self.opened, (self.current, Vec::new()));
        Ok(self.opened)
    }

    fn send(&mut self, stream: u32, message: &[u8]) -> Result<(), HostError> {
        let (_, sent) = self.streams.get_mut(&stream).ok_or(HostError)?;
        let message = ClientMessage::decode(message).expect("a message that can be read");
        sent.push(message.kind.expect("a message that says something"));
        Ok(())
    }

    fn cancel(&mut self, stream: u32) {
        if let Some((root, _)) = self.streams.remove(&stream) {
            assert_eq!(root, self.current, "a stream is cancelled in the context that it belongs to");
            self.cancelled_last += u32::from(self.streams.is_empty());
        }
    }

    fn set(&mut self, metric: Metric, value: u64) {
        self.metrics.insert(metric.name(), i64::try_from(value).expect("a small number"));
    }

    fn log(&mut self, event: &Event<'_>) {
        self.log.push(event.to_string());
    }
}

// === impl FakeTable ===

impl FakeTable {
    pub(crate) fn new(revision: u64, keys: &[(&str, &str)]) -> Self {
        let entries = keys.iter().map(|(key, who)| (key::digest(key.as_bytes()), who.as_bytes().to_vec()));
        Self { entries: entries.collect(), revision }
    }

    pub(crate) fn insert(&mut self, key: &str, record: &[u8]) {
        self.entries.insert(key::digest(key.as_bytes()), record.to_vec());
    }

    pub(crate) fn version(&self) -> Version {
        let hashes = self.entries.iter().map(|(digest, who)| entry_hash(digest, who));
        Version { revision: self.revision, checksum: hashes.fold(0, u64::wrapping_add) }
    }

    /// The messages of a snapshot.
    pub(crate) fn snapshot(&self, table: &str, chunk: usize) -> Vec<Vec<u8>> {
        let table = table.to_owned();
        let entries: Vec<_> = self.entries.iter().collect();
        let begin = SnapshotBegin { table: table.clone(), entries: entries.len() as u64 };
        let mut messages = vec![encode(server_message::Kind::Begin(begin))];
        for chunk in entries.chunks(chunk) {
            let chunk = SnapshotChunk { table: table.clone(), entries: pack(chunk.iter().copied()) };
            messages.push(encode(server_message::Kind::Chunk(chunk)));
        }
        let end = SnapshotEnd { table, version: Some(self.version()) };
        messages.push(encode(server_message::Kind::End(end)));
        messages
    }

    /// The message that leads from here to there.
    pub(crate) fn delta(&self, table: &str, to: &Self) -> Vec<u8> {
        self.delta_of(table, &[], to)
    }

    /// The same for several tables.
    pub(crate) fn delta_of(&self, table: &str, also: &[&str], to: &Self) -> Vec<u8> {
        let upserts = to.entries.iter().filter(|(digest, who)| self.entries.get(*digest) != Some(who));
        let removals = self.entries.keys().filter(|digest| !to.entries.contains_key(*digest)).copied();
        encode(server_message::Kind::Delta(Delta {
            table: table.to_owned(),
            from: Some(self.version()),
            to: Some(to.version()),
            upserts: pack(upserts),
            removals: removals.collect::<Vec<Digest>>().as_flattened().to_vec(),
            also: also.iter().map(|name| String::from(*name)).collect(),
            takes_away: false,
        }))
    }

    /// The message that makes a table the same as another one, which is this.
    pub(crate) fn alias(&self, table: &str, of: &str) -> Vec<u8> {
        let alias = Alias { table: table.to_owned(), of: of.to_owned(), version: Some(self.version()) };
        encode(server_message::Kind::Alias(alias))
    }
}

pub(crate) fn drop_table(table: &str) -> Vec<u8> {
    encode(server_message::Kind::Drop(Drop { table: table.to_owned() }))
}

pub(crate) fn encode(kind: server_message::Kind) -> Vec<u8> {
    ServerMessage { kind: Some(kind) }.encode_to_vec()
}

fn pack<'a>(entries: impl Iterator<Item = (&'a Digest, &'a Vec<u8>)>) -> Vec<u8> {
    let mut packed = Vec::new();
    for (digest, who) in entries {
        pack_entry(&mut packed, digest, who);
    }
    packed
}
