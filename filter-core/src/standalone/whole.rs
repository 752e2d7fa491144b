//! The whole of a configuration.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserializer as _, Error as _, MapAccess, Visitor};
use serde_json::error::Category;
use sha2::{Digest as _, Sha256};

use super::json::{Json, Name};
use super::keys::{self, Keys, Reading};
use super::policies::{self, Written as WrittenPolicy};
use super::problems::Problems;
use super::read::{Fields, Node, Notes, Path};
use super::{Standalone, Target, Written, routes};
use crate::config::{
    DEFAULT_IDENTITY_HEADER, DEFAULT_MAX_TABLE_BYTES, DEFAULT_USAGE_REPORT_MS, DEFAULT_WAIT_FOR_KEYS_MS,
    FilterConfig, MAX_CLUSTER_LEN, table_name,
};

/// What `apiVersion` says.
pub const API_VERSION: &str = "filter.keyward.io/v1";
/// The role of a filter that has no key stream. No node has it.
const NO_ROLE: &str = "standalone";
/// The longest wait for keys, in milliseconds.
const MAX_WAIT_MS: u32 = 60_000;

/// The fields of a configuration.
struct Whole<'n> {
    notes: &'n Notes,
    /// Whether what is read now are the keys.
    at_keys: &'n Cell<bool>,
}

/// Reads a configuration.
///
/// # Errors
///
/// When anything in it is wrong: all of that, or the first ten and how many more.
pub fn from_json(bytes: &[u8]) -> Result<FilterConfig, Problems> {
    let notes = Notes::default();
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let at_keys = Cell::new(false);
    let whole = Whole { notes: &notes, at_keys: &at_keys };
    let whole = (&mut json).deserialize_map(whole).and_then(|whole| json.end().map(|()| whole));
    let config = match whole {
        Ok((entries, keys)) => {
            let fields = Fields::new(&entries, &Path::Root, &notes);
            config(&fields, keys, bytes, &notes)
        }
        Err(error) => {
            match error.classify() {
                Category::Data if at_keys.get() => notes.note(keys::PATH, "must be a list, once"),
                Category::Data => notes.note(Path::Root, "must be an object"),
                _ => {
                    let (line, column) = (error.line(), error.column());
                    notes.note(Path::Root, format_args!("is not JSON at line {line} column {column}"));
                }
            }
            None
        }
    };
    let problems = notes.into_problems();
    match config {
        Some(config) if problems.told.is_empty() => Ok(config),
        _ => Err(problems),
    }
}

#[inline(never)]
fn config(fields: &Fields<'_>, keys: Option<Keys>, bytes: &[u8], notes: &Notes) -> Option<FilterConfig> {
    const KNOWN: &[&str] =
        &["apiVersion", "identityHeader", "policies", "defaultPolicy", "routes", "keys", "keyStream"];
    fields.check_known(&[KNOWN, &["$schema"]].concat(), KNOWN);
    if let Some(version) = fields.required("apiVersion")
        && version.text().is_some_and(|version| version != API_VERSION)
    {
        version.wrong(format_args!("must be {API_VERSION}"));
    }
    let identity_header = fields.get("identityHeader").map(|node| policies::identity_header(&node));
    let identity_header = identity_header.flatten().unwrap_or_else(|| DEFAULT_IDENTITY_HEADER.to_owned());
    let written = match fields.required("policies") {
        Some(node) => {
            let written = policies::policies(&node, &identity_header);
            if !written.is_empty() {
                policies::check_together(&node, &written);
            }
            written
        }
        None => BTreeMap::new(),
    };
    let default = fields.get("defaultPolicy").and_then(|node| policies::known(&node, &written));
    let routes = fields.get("routes").map(|node| routes::routes(&node, &written)).unwrap_or_default();
    if fields.get("defaultPolicy").is_none() && fields.get("routes").is_none() {
        notes.note(Path::Root, "must have defaultPolicy or routes: no policy would ever be asked for");
    }
    let stream = fields.get("keyStream").and_then(|node| stream(&node));
    if keys.is_none() && fields.get("keyStream").is_none() {
        notes.note(Path::Root, "must have keys or keyStream: no key would ever be valid");
    }
    let tables = match keys {
        None => Written::Nowhere,
        Some(keys) => {
            keys.check(&written, notes);
            if notes.is_empty() { tables(&keys, &written)? } else { Written::Nowhere }
        }
    };
    let told = written.values().flat_map(WrittenPolicy::told);
    let own_headers = [identity_header.as_str()].into_iter().chain(told).flat_map(spellings).collect();
    let (role, control_cluster, wait_for_keys_ms) = match stream {
        Some((role, cluster, wait)) => (role, cluster, wait),
        None => (NO_ROLE.to_owned(), String::new(), DEFAULT_WAIT_FOR_KEYS_MS),
    };
    let mut policies = BTreeMap::new();
    for (name, written) in written {
        policies.insert(name, written.policy);
    }
    let routes = routes::with_lists(routes, &mut policies);
    let standalone = Standalone {
        default: default.map(Target::Policy),
        routes,
        tables,
        own_headers,
        has_stream: !control_cluster.is_empty(),
    };
    Some(FilterConfig {
        version: version(bytes),
        role,
        control_cluster,
        identity_header,
        wait_for_keys_ms,
        usage_report_ms: DEFAULT_USAGE_REPORT_MS,
        max_table_bytes: DEFAULT_MAX_TABLE_BYTES,
        access_log: false,
        policies,
        standalone: Some(Box::new(standalone)),
    })
}

/// Reads `keyStream`: the role, the cluster and how long a request waits.
#[inline(never)]
fn stream(node: &Node<'_>) -> Option<(String, String, u32)> {
    let fields = node.fields(&["cluster", "role", "waitForKeysMs"])?;
    let text = |name, most: usize| {
        let node = fields.required(name)?;
        let text = node.text()?;
        if !(1..=most).contains(&text.len()) {
            node.wrong(format_args!("must be 1 to {most} bytes"));
        }
        Some(text.to_owned())
    };
    let (cluster, role) = (text("cluster", MAX_CLUSTER_LEN), text("role", 512));
    let wait = fields.get("waitForKeysMs").map(|node| node.number(MAX_WAIT_MS));
    Some((role?, cluster?, wait.unwrap_or(Some(DEFAULT_WAIT_FOR_KEYS_MS))?))
}

fn tables(keys: &Keys, policies: &BTreeMap<String, WrittenPolicy>) -> Option<Written> {
    if !keys.are_confined() {
        return keys.table(None).map(Written::Once);
    }
    let mut tables = BTreeMap::new();
    for (name, written) in policies {
        for (at, config) in written.configs.iter().enumerate() {
            tables.insert(table_name(name, at), keys.table(Some((name, config)))?);
        }
    }
    Some(Written::ByConfig(tables))
}

/// Names the content, like the version of a configuration of a control server, in as many bits.
fn version(bytes: &[u8]) -> u64 {
    let hash = Sha256::digest(bytes);
    hash.iter().take(8).fold(0_u64, |word, byte| word << 8 | u64::from(*byte)) >> 11
}

/// A header with each separator as a hyphen and as an underscore: upstreams such as those behind CGI take
/// them for the same.
#[inline(never)]
fn spellings(header: &str) -> Vec<String> {
    let mut spellings = vec![String::new()];
    for c in header.chars() {
        let choices: &[char] = if matches!(c, '-' | '_') { &['-', '_'] } else { &[c] };
        let longer = |start: &String| {
            let start = start.clone();
            choices.iter().map(move |choice| {
                let mut spelling = start.clone();
                spelling.push(*choice);
                spelling
            })
        };
        spellings = spellings.iter().flat_map(longer).collect();
    }
    spellings
}

// === impl Whole ===

type Entries<'de> = Vec<(Cow<'de, str>, Json<'de>)>;

impl<'de> Visitor<'de> for Whole<'_> {
    type Value = (Entries<'de>, Option<Keys>);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        let mut keys = None;
        while let Some(Name(name)) = fields.next_key()? {
            self.at_keys.set(name == "keys");
            if name != "keys" {
                entries.push((name, fields.next_value()?));
            } else if keys.is_none() {
                keys = Some(fields.next_value_seed(Reading { keys: Keys::default(), notes: self.notes })?);
            } else {
                return Err(A::Error::duplicate_field("keys"));
            }
        }
        Ok((entries, keys))
    }
}
