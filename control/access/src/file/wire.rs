//! The file's text.

use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::book::{TokenBook, TokenName, TokenRecord};
use crate::error::{BookError, FileError};
use crate::role::Role;
use crate::token::TokenDigest;

/// A field that this version does not know may well restrict a token: such a file is refused.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    tokens: Vec<Entry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    role: Role,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    namespaces: Vec<String>,
    #[serde(with = "hex")]
    sha256: TokenDigest,
    created: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<Timestamp>,
}

mod hex {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use crate::token::TokenDigest;

    pub(super) fn serialize<S: Serializer>(digest: &TokenDigest, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&digest.to_hex())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<TokenDigest, D::Error> {
        // Not said what it is instead: it might be a token.
        TokenDigest::from_hex(&String::deserialize(from)?)
            .ok_or_else(|| D::Error::custom("sha256 must be 64 hexadecimal digits"))
    }
}

pub(super) fn parse(path: &Path, text: &[u8]) -> Result<TokenBook, FileError> {
    let malformed = |source| FileError::Malformed { path: path.to_path_buf(), source };
    let contradictory = |source| FileError::Contradictory { path: path.to_path_buf(), source };
    let list: List = serde_json::from_slice(text).map_err(malformed)?;
    let mut book = TokenBook::default();
    for entry in list.tokens {
        let record = TokenRecord::try_from(entry).map_err(contradictory)?;
        book.add(record).map_err(contradictory)?;
    }
    Ok(book)
}

pub(super) fn print(book: &TokenBook) -> serde_json::Result<Vec<u8>> {
    let tokens = book.records().iter().map(Entry::from).collect();
    let mut text = serde_json::to_vec_pretty(&List { tokens })?;
    text.push(b'\n');
    Ok(text)
}

// === impl Entry ===

impl From<&TokenRecord> for Entry {
    fn from(record: &TokenRecord) -> Self {
        Self {
            name: record.name.to_string(),
            role: record.role,
            namespaces: record.namespaces.clone(),
            sha256: record.digest,
            created: record.created,
            expires: record.expires,
        }
    }
}

impl TryFrom<Entry> for TokenRecord {
    type Error = BookError;

    fn try_from(entry: Entry) -> Result<Self, Self::Error> {
        Ok(Self {
            name: TokenName::new(&entry.name)?,
            role: entry.role,
            namespaces: entry.namespaces,
            digest: entry.sha256,
            created: entry.created,
            expires: entry.expires,
        })
    }
}
