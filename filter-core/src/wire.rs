//! The messages of the key stream, `proto/keyward/keys/v1/keys.proto`, and their packed entries.

use prost::{Message, Oneof};

use crate::config::MAX_CLUSTER_LEN;
use crate::record::{MAX_RECORD_LEN, Record};

/// Bytes of a digest: the first half of the SHA-256 of a key.
pub const DIGEST_LEN: usize = 16;
/// Bytes of the uses of one key: see [`pack_use`].
pub const USE_LEN: usize = DIGEST_LEN + 4 + 4;
/// The gRPC service and method of the key stream.
pub const SERVICE: &str = "keyward.keys.v1.KeyDistribution";
/// See [`SERVICE`].
pub const METHOD: &str = "Stream";

/// The first 16 bytes of the SHA-256 of an API key. Not a secret: it names a key without telling it.
pub type Digest = [u8; DIGEST_LEN];

/// From a worker to the control server.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ClientMessage {
    /// What it says.
    #[prost(oneof = "client_message::Kind", tags = "1, 2, 3, 4, 5")]
    pub kind: Option<client_message::Kind>,
}

/// The kinds of [`ClientMessage`].
pub mod client_message {
    /// What a worker says.
    #[derive(Clone, PartialEq, Eq, super::Oneof)]
    pub enum Kind {
        /// The first message of a stream.
        #[prost(message, tag = "1")]
        Subscribe(super::Subscribe),
        /// A version is held.
        #[prost(message, tag = "2")]
        Ack(super::Ack),
        /// A change was refused.
        #[prost(message, tag = "3")]
        Nack(super::Nack),
        /// A plugin configuration is in force.
        #[prost(message, tag = "4")]
        ConfigApplied(super::ConfigApplied),
        /// Keys were used.
        #[prost(message, tag = "5")]
        Usage(super::Usage),
    }
}

/// The first message of a stream.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Subscribe {
    /// The Envoy node id.
    #[prost(string, tag = "1")]
    pub node_id: String,
    /// The node role, `<namespace>~<proxy>`.
    #[prost(string, tag = "2")]
    pub role: String,
    /// Names the VM instance; random.
    #[prost(string, tag = "3")]
    pub worker: String,
    /// Version of the filter.
    #[prost(string, tag = "4")]
    pub filter_build: String,
    /// Version of the plugin configuration in force.
    #[prost(uint64, tag = "5")]
    pub config_version: u64,
    /// What the worker holds.
    #[prost(message, repeated, tag = "6")]
    pub held: Vec<TableVersion>,
    /// It knows what an [`Alias`] is, and a [`Delta`] of several tables.
    #[prost(bool, tag = "7")]
    pub shares: bool,
    /// It knows what a [`Delta`] is that only takes away.
    #[prost(bool, tag = "8")]
    pub takes_away: bool,
}

/// A state of a table; the checksum is over its content.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Message)]
pub struct Version {
    /// Store revision at which the table last changed.
    #[prost(uint64, tag = "1")]
    pub revision: u64,
    /// Wrapping sum of [`entry_hash`] over the entries.
    #[prost(fixed64, tag = "2")]
    pub checksum: u64,
}

/// A table and its state.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct TableVersion {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
    /// Its state; in a [`Nack`] none of a table that is not held.
    #[prost(message, optional, tag = "2")]
    pub version: Option<Version>,
    /// The checksum of what is there where that is less than the version: what changes took away for which
    /// there was no room.
    #[prost(fixed64, optional, tag = "3")]
    pub content: Option<u64>,
}

/// The worker holds exactly this; less than the version after a change that only took away.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Ack {
    /// Table and version.
    #[prost(message, optional, tag = "1")]
    pub held: Option<TableVersion>,
    /// Tables at the same version by the same [`Delta`].
    #[prost(string, repeated, tag = "2")]
    pub also: Vec<String>,
}

/// The worker refused a change and keeps what it has, but for what a change takes away for which there is no
/// room.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Nack {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
    /// Why, for people.
    #[prost(string, tag = "2")]
    pub reason: String,
    /// With more memory it would have been taken. What it takes away is gone all the same.
    #[prost(bool, tag = "3")]
    pub no_room: bool,
    /// The other tables of a [`Delta`] that is refused.
    #[prost(string, repeated, tag = "4")]
    pub also: Vec<String>,
    /// What is held of each of these tables. A worker that does not say that holds what it held.
    #[prost(message, repeated, tag = "5")]
    pub held: Vec<TableVersion>,
}

/// A plugin configuration is in force.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ConfigApplied {
    /// Its version.
    #[prost(uint64, tag = "1")]
    pub version: u64,
}

/// How often keys were used since the last report.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Usage {
    /// The number of the report, from 1: of those of one worker each one is counted once.
    #[prost(uint64, tag = "1")]
    pub seq: u64,
    /// The uses.
    #[prost(message, repeated, tag = "2")]
    pub tables: Vec<TableUsage>,
}

/// Uses of keys of one table.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct TableUsage {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
    /// The revision at which it was held.
    #[prost(uint64, tag = "2")]
    pub revision: u64,
    /// Packed: see [`pack_use`].
    #[prost(bytes = "vec", tag = "3")]
    pub uses: Vec<u8>,
}

/// From the control server to a worker.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct ServerMessage {
    /// What it says.
    #[prost(oneof = "server_message::Kind", tags = "1, 2, 3, 4, 5, 6, 7")]
    pub kind: Option<server_message::Kind>,
}

/// The kinds of [`ServerMessage`].
pub mod server_message {
    /// What the control server says.
    #[derive(Clone, PartialEq, Eq, super::Oneof)]
    pub enum Kind {
        /// A snapshot starts.
        #[prost(message, tag = "1")]
        Begin(super::SnapshotBegin),
        /// A part of a snapshot.
        #[prost(message, tag = "2")]
        Chunk(super::SnapshotChunk),
        /// A snapshot is complete.
        #[prost(message, tag = "3")]
        End(super::SnapshotEnd),
        /// A change.
        #[prost(message, tag = "4")]
        Delta(super::Delta),
        /// A table is no longer needed.
        #[prost(message, tag = "5")]
        Drop(super::Drop),
        /// Reports are stored.
        #[prost(message, tag = "6")]
        UsageAck(super::UsageAck),
        /// A table is what another one is.
        #[prost(message, tag = "7")]
        Alias(super::Alias),
    }
}

/// A snapshot starts.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SnapshotBegin {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
    /// How many entries follow.
    #[prost(uint64, tag = "2")]
    pub entries: u64,
}

/// A part of a snapshot.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SnapshotChunk {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
    /// Packed entries, strictly ascending by digest.
    #[prost(bytes = "vec", tag = "2")]
    pub entries: Vec<u8>,
}

/// A snapshot is complete.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct SnapshotEnd {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
    /// The version that the entries make up.
    #[prost(message, optional, tag = "2")]
    pub version: Option<Version>,
}

/// A change of a table that is held at exactly `from`.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Delta {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
    /// The version that it applies to.
    #[prost(message, optional, tag = "2")]
    pub from: Option<Version>,
    /// The version that it leads to.
    #[prost(message, optional, tag = "3")]
    pub to: Option<Version>,
    /// Packed entries, strictly ascending: added or replaced.
    #[prost(bytes = "vec", tag = "4")]
    pub upserts: Vec<u8>,
    /// Digests, back to back, strictly ascending, none of them among the upserts.
    #[prost(bytes = "vec", tag = "5")]
    pub removals: Vec<u8>,
    /// Tables that change alike, all of them or none. They are held at `from` too.
    #[prost(string, repeated, tag = "6")]
    pub also: Vec<String>,
    /// It is not the whole way: what it removes and what it narrows is all that is to be done, and the tables
    /// stay at `from`, with less in them. For workers without room for the rest.
    #[prost(bool, tag = "7")]
    pub takes_away: bool,
}

/// A table is from now on what another one is.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Alias {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
    /// The other one.
    #[prost(string, tag = "2")]
    pub of: String,
    /// What the other one is held at.
    #[prost(message, optional, tag = "3")]
    pub version: Option<Version>,
}

/// A table is no longer needed.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Drop {
    /// The table.
    #[prost(string, tag = "1")]
    pub table: String,
}

/// The server takes reports on this stream, and has stored all up to this one.
#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct UsageAck {
    /// Its number; 0 if there is none.
    #[prost(uint64, tag = "1")]
    pub seq: u64,
}

/// Packed entries that are not well formed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end inside an entry.
    #[error("packed entries end inside an entry")]
    Truncated,
    /// There is no telling when a key is valid.
    #[error("what says when a key is valid cannot be read")]
    Life,
    /// An identity is empty, too long or not UTF-8.
    #[error("an identity is empty, longer than 253 bytes or not UTF-8")]
    Identity,
    /// Metadata without a value, or with one that cannot stand in a header.
    #[error("metadata are incomplete or cannot stand in a header")]
    Metadata,
}

/// Reads packed entries one by one, without copying.
#[derive(Debug, Clone)]
pub struct Entries<'a> {
    rest: &'a [u8],
}

/// The hash of one entry, as summed up in [`Version::checksum`].
///
/// Guards against lost and damaged updates, not against an adversary: both ends are ours.
#[must_use]
pub fn entry_hash(digest: &Digest, record: impl AsRef<[u8]>) -> u64 {
    // FNV-1a over the record, then the digest's halves folded in with the finaliser of
    // SplitMix64, so that a sum over entries does not cancel out.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in record.as_ref() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let (low, high) = digest.split_at(DIGEST_LEN / 2);
    for half in [low, high] {
        let word = half.iter().rev().fold(0_u64, |word, byte| (word << 8) | u64::from(*byte));
        hash = mix(hash ^ word);
    }
    hash
}

/// The finaliser of SplitMix64: every bit of the input changes half of the bits of the output.
pub(crate) fn mix(mut word: u64) -> u64 {
    word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Appends one packed entry: a digest and its [`Record`]. Records longer than [`MAX_RECORD_LEN`] are
/// refused by validation long before this and cut here.
pub fn pack_entry(into: &mut Vec<u8>, digest: &Digest, record: impl AsRef<[u8]>) {
    let record = record.as_ref();
    let record = record.get(..MAX_RECORD_LEN).unwrap_or(record);
    into.extend_from_slice(digest);
    let length = u16::try_from(record.len()).unwrap_or(0);
    into.extend_from_slice(&length.to_le_bytes());
    into.extend_from_slice(record);
}

/// Appends the uses of one key: its digest, how often it was used, and when last in seconds since 1970,
/// both as 32 bits, little endian.
pub fn pack_use(into: &mut Vec<u8>, digest: &Digest, uses: u32, last: u32) {
    into.extend_from_slice(digest);
    into.extend_from_slice(&uses.to_le_bytes());
    into.extend_from_slice(&last.to_le_bytes());
}

/// Reads packed uses: digest, how often, when last.
///
/// # Errors
///
/// [`Malformed::Truncated`] when the length is no multiple of [`USE_LEN`].
pub fn uses(bytes: &[u8]) -> Result<impl Iterator<Item = (Digest, u32, u32)>, Malformed> {
    let (all, rest) = bytes.as_chunks::<USE_LEN>();
    if !rest.is_empty() {
        return Err(Malformed::Truncated);
    }
    Ok(all.iter().filter_map(|bytes| {
        let (digest, bytes) = bytes.split_first_chunk()?;
        let (uses, last) = bytes.split_first_chunk()?;
        Some((*digest, u32::from_le_bytes(*uses), u32::from_le_bytes(*last.first_chunk()?)))
    }))
}

/// How Envoy is told to which cluster a stream goes: a serialised
/// `envoy.config.core.v3.GrpcService { envoy_grpc: EnvoyGrpc { cluster_name } }`. Envoy also takes
/// a bare name, but only one that happens not to be a valid message.
///
/// It is text, because the SDK wants text, so both lengths must be ASCII: nothing for a name longer
/// than [`MAX_CLUSTER_LEN`].
#[must_use]
pub fn grpc_service(cluster: &str) -> Option<String> {
    /// Field 1, with a length before it: the tag that both messages need.
    const FIELD_1: char = '\u{0a}';
    if cluster.len() > MAX_CLUSTER_LEN {
        return None;
    }
    let inner = char::from(u8::try_from(cluster.len()).ok()?);
    let outer = char::from(u8::try_from(cluster.len().checked_add(2)?).ok()?);
    Some(format!("{FIELD_1}{outer}{FIELD_1}{inner}{cluster}"))
}

/// The digests in packed removals.
///
/// # Errors
///
/// [`Malformed::Truncated`] when the length is no multiple of [`DIGEST_LEN`].
pub fn removals(bytes: &[u8]) -> Result<&[Digest], Malformed> {
    match bytes.as_chunks::<DIGEST_LEN>() {
        (digests, []) => Ok(digests),
        _ => Err(Malformed::Truncated),
    }
}

// === impl Entries ===

impl<'a> Entries<'a> {
    /// Reads from the bytes of a chunk or of a delta.
    #[must_use]
    pub fn new(packed: &'a [u8]) -> Self {
        Self { rest: packed }
    }

    fn take(&mut self) -> Result<(Digest, Record<'a>), Malformed> {
        let (digest, rest) = self.rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        let (length, rest) = rest.split_first_chunk().ok_or(Malformed::Truncated)?;
        let length = usize::from(u16::from_le_bytes(*length));
        let (record, rest) = rest.split_at_checked(length).ok_or(Malformed::Truncated)?;
        let record = Record::parse(record)?;
        self.rest = rest;
        Ok((*digest, record))
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<(Digest, Record<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let entry = self.take();
        if entry.is_err() {
            self.rest = &[];
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests;
