//! The keys: from the digests that are written to the tables of the policies.
//!
//! They are read one by one, so that only what a table needs is held of each.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, SeqAccess, Visitor};

use super::json::Json;
use super::policies::{Config, OF, Written, metadata_name};
use super::read::{Node, Notes, Path};
use crate::life::Life;
use crate::record::{MAX_IDENTITY_LEN, MAX_RECORD_LEN, Record, is_header_value, pack};
use crate::table::{Builder, Table};
use crate::time;
use crate::wire::{DIGEST_LEN, Digest, entry_hash, pack_entry};

/// The most keys of a configuration. Every worker of a proxy reads all of it whenever anything in it
/// changes, and requests wait meanwhile: for more there is the key stream.
pub const MAX_KEYS: usize = 100_000;
/// Where they stand.
pub(super) const PATH: Path<'static> = Path::Field(&Path::Root, "keys");
/// Hexadecimal digits of a SHA-256.
const SHA256_DIGITS: usize = 64;

/// The keys as they are written.
#[derive(Default)]
pub(super) struct Keys {
    entries: BTreeMap<Digest, Entry>,
    /// The names of policies to which keys are confined.
    names: Vec<String>,
    count: usize,
}

/// Reads `keys`.
pub(super) struct Reading<'n> {
    pub(super) keys: Keys,
    pub(super) notes: &'n Notes,
}

struct Entry {
    record: Box<[u8]>,
    at: usize,
    /// The policies that it is for, by their place among the names; all, if there are none.
    policies: Box<[usize]>,
}

#[inline(never)]
fn entry(at: usize, node: &Node<'_>, names: &mut Vec<String>) -> Option<(Digest, Entry)> {
    const KNOWN: &[&str] =
        &["sha256", "identity", "notBefore", "expiresAt", "disabled", "metadata", "policies"];
    let fields = node.fields(KNOWN)?;
    let digest = fields.required("sha256").and_then(|node| digest(&node));
    let identity = fields.required("identity").and_then(|node| identity(&node));
    let moment = |name| fields.get(name).map(|node| moment(&node));
    let (not_before, expires_at) = (moment("notBefore"), moment("expiresAt"));
    if let (Some(Some(from)), Some(Some(until)), Some(node)) =
        (not_before, expires_at, fields.get("expiresAt"))
        && until <= from
    {
        node.wrong("must be later than notBefore");
    }
    let disabled = fields.get("disabled").map_or(Some(false), |node| node.flag());
    let metadata = fields.get("metadata").map(|node| metadata(&node)).unwrap_or_default();
    let policies = match fields.get("policies") {
        Some(node) => confined_to(&node, names),
        None => Box::default(),
    };
    // A time that cannot be read has been noted, and then nothing comes of all this.
    let life = Life {
        not_before: not_before.flatten(),
        expires_at: expires_at.flatten(),
        disabled: disabled?,
        // Nobody knows what it looks like.
        any_shape: true,
    };
    let told = metadata.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
    let record = pack(life, &identity?, told);
    if record.len() > MAX_RECORD_LEN {
        node.wrong("has more than 8 KiB of metadata");
        return None;
    }
    Some((digest?, Entry { record: record.into(), at, policies }))
}

#[inline(never)]
fn digest(node: &Node<'_>) -> Option<Digest> {
    let digest = node.text().map(half);
    if digest == Some(None) {
        node.wrong("must be 64 hexadecimal digits");
    }
    digest.flatten()
}

/// The first half of a SHA-256 in hexadecimal digits.
fn half(text: &str) -> Option<Digest> {
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if text.len() != SHA256_DIGITS || !rest.is_empty() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut digest = [0; DIGEST_LEN];
    for (to, [high, low]) in digest.iter_mut().zip(pairs) {
        *to = digit(high)? << 4 | digit(low)?;
    }
    Some(digest)
}

#[inline(never)]
fn identity(node: &Node<'_>) -> Option<String> {
    let identity = node.text()?;
    if (1..=MAX_IDENTITY_LEN).contains(&identity.len()) && is_header_value(identity.as_bytes()) {
        return Some(identity.to_owned());
    }
    node.wrong("must be 1 to 253 bytes that a header can carry");
    None
}

#[inline(never)]
fn moment(node: &Node<'_>) -> Option<u64> {
    let time = node.text().map(time::milliseconds);
    if time == Some(None) {
        node.wrong("must be a time as in RFC 3339, such as 2030-01-31T12:00:00Z");
    }
    time.flatten()
}

#[inline(never)]
fn metadata(node: &Node<'_>) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::new();
    for (name, node) in node.entries() {
        let (Some(name), Some(value)) = (metadata_name(&node, name), node.text()) else { continue };
        if !is_header_value(value.as_bytes()) {
            node.wrong("must be text that a header can carry");
        }
        metadata.insert(name, value.to_owned());
    }
    metadata
}

#[inline(never)]
fn confined_to(node: &Node<'_>, names: &mut Vec<String>) -> Box<[usize]> {
    let mut policies = Vec::new();
    for node in node.items() {
        let Some(name) = node.text() else { continue };
        let at = names.iter().position(|other| other == name).unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len().saturating_sub(1)
        });
        policies.push(at);
    }
    if matches!(node.value, Json::List(list) if list.is_empty()) {
        node.wrong("must name a policy; without it the key is for all");
    }
    policies.into()
}

/// Whether it is the name of a policy, or `<policy>#<config>`.
fn names_one(name: &str, policies: &BTreeMap<String, Written>) -> bool {
    let of = |policy: &str, config: &str| {
        let configs = policies.get(policy).into_iter().flat_map(|policy| &policy.configs);
        configs.into_iter().any(|it| it.name.as_deref() == Some(config))
    };
    policies.contains_key(name) || name.split_once(OF).is_some_and(|(policy, config)| of(policy, config))
}

fn table(entries: &BTreeMap<Digest, Entry>, chosen: &dyn Fn(&Entry) -> bool) -> Option<Table> {
    let count = entries.values().filter(|entry| chosen(entry)).count();
    let mut builder = Builder::new(u64::try_from(count).unwrap_or(u64::MAX));
    let mut checksum = 0_u64;
    let mut packed = Vec::new();
    for (digest, Entry { record, .. }) in entries.iter().filter(|(_, entry)| chosen(entry)) {
        packed.clear();
        pack_entry(&mut packed, digest, record);
        builder.append(&packed).ok()?;
        checksum = checksum.wrapping_add(entry_hash(digest, record));
    }
    builder.finish(checksum).ok()
}

// === impl Reading ===

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Keys;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Keys, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Keys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Keys, A::Error> {
        let mut keys = self.keys;
        while let Some(value) = items.next_element::<Json<'de>>()? {
            let at = keys.count;
            keys.count = at.saturating_add(1);
            if at >= MAX_KEYS {
                continue;
            }
            let node = Node { value: &value, path: Path::At(&PATH, at), notes: self.notes };
            if let Some((digest, entry)) = entry(at, &node, &mut keys.names)
                && let Some(first) = keys.entries.insert(digest, entry)
            {
                let path = Path::Field(&node.path, "sha256");
                let first = first.at;
                self.notes.note(path, format_args!("is that of /keys/{first} as well: a key has one owner"));
            }
        }
        Ok(keys)
    }
}

// === impl Keys ===

impl Keys {
    /// Looks at what concerns more than one of them.
    #[inline(never)]
    pub(super) fn check(&self, policies: &BTreeMap<String, Written>, notes: &Notes) {
        if self.count > MAX_KEYS {
            notes.note(PATH, format_args!("has more than {MAX_KEYS} keys: a key stream takes more"));
        }
        for entry in self.entries.values() {
            let path = Path::At(&PATH, entry.at);
            let name = |at: &usize| self.names.get(*at).map(String::as_str);
            for (place, name) in entry.policies.iter().map(name).enumerate() {
                if name.is_none_or(|name| !names_one(name, policies)) {
                    let path = Path::Field(&path, "policies");
                    notes.note(Path::At(&path, place), "names no policy of policies, and no config of one");
                }
            }
            let Ok(record) = Record::parse(&entry.record) else {
                // Whatever is wrong with it has been noted; if it has not, it must be now.
                if notes.is_empty() {
                    notes.note(path, "makes no record");
                }
                continue;
            };
            let configs =
                policies.iter().flat_map(|(policy, it)| it.configs.iter().map(move |it| (policy, it)));
            for (_, config) in configs.filter(|(policy, config)| self.is_for(entry, policy, config)) {
                for required in config.required.iter().filter(|name| record.metadata(name).is_none()) {
                    let path = Path::Field(&path, "metadata");
                    notes.note(Path::Field(&path, required), "is missing, and a policy requires it");
                }
            }
        }
    }

    /// Whether any key is for some policies only.
    pub(super) fn are_confined(&self) -> bool {
        self.entries.values().any(|entry| !entry.policies.is_empty())
    }

    /// The keys that are for a config of a policy, or for all of them.
    pub(super) fn table(&self, config: Option<(&str, &Config)>) -> Option<Table> {
        let chosen = |entry: &Entry| config.is_none_or(|(policy, config)| self.is_for(entry, policy, config));
        table(&self.entries, &chosen)
    }

    fn is_for(&self, entry: &Entry, policy: &str, config: &Config) -> bool {
        let is_it = |named: &str| match named.strip_prefix(policy) {
            Some("") => true,
            Some(rest) => rest.strip_prefix(OF).is_some_and(|rest| config.name.as_deref() == Some(rest)),
            None => false,
        };
        let named = |at: &usize| self.names.get(*at).is_some_and(|name| is_it(name));
        entry.policies.is_empty() || entry.policies.iter().any(named)
    }
}
