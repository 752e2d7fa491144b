//! The few keys that decide about a request, out of tables that may hold a million.

use std::collections::{BTreeMap, BTreeSet};

use keyward_filter_core::decide::Tables;
use keyward_filter_core::table::{Builder, Table};
use keyward_filter_core::wire::{DIGEST_LEN, Digest, entry_hash, pack_entry};

/// Tables with those keys in them that were asked about, and no others.
#[derive(Default)]
pub struct Keys(BTreeMap<String, Table>);

/// What was answered about keys cannot be worked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server says something of a key that the filter could not read")]
pub struct KeyError;

/// The digests that are to be looked up, by the tables in which.
pub type Lookups = BTreeMap<String, BTreeSet<Digest>>;

/// A digest in hexadecimal digits.
#[must_use]
pub fn hex(digest: &Digest) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A digest of hexadecimal digits.
#[must_use]
pub fn unhex(digits: &str) -> Option<Digest> {
    let (pairs, rest) = digits.as_bytes().as_chunks::<2>();
    if pairs.len() != DIGEST_LEN || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut digest = Digest::default();
    for (to, [high, low]) in digest.iter_mut().zip(pairs) {
        *to = digit(*high)? << 4 | digit(*low)?;
    }
    Some(digest)
}

// === impl Keys ===

impl Keys {
    /// No table at all: as in a worker to which no keys have come yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a table with these records.
    ///
    /// # Errors
    ///
    /// When the filter would not take one of them.
    pub fn insert(&mut self, table: &str, records: &BTreeMap<Digest, Vec<u8>>) -> Result<(), KeyError> {
        let mut packed = Vec::new();
        let mut checksum = 0_u64;
        for (digest, record) in records {
            pack_entry(&mut packed, digest, record);
            checksum = checksum.wrapping_add(entry_hash(digest, record));
        }
        let mut builder = Builder::new(records.len() as u64);
        builder.append(&packed).map_err(|_| KeyError)?;
        let table_of_records = builder.finish(checksum).map_err(|_| KeyError)?;
        self.0.insert(table.to_owned(), table_of_records);
        Ok(())
    }
}

impl Tables for Keys {
    fn table(&self, name: &str) -> Option<&Table> {
        self.0.get(name)
    }
}

#[cfg(test)]
mod tests {
    use keyward_filter_core::key;
    use keyward_filter_core::life::Life;
    use keyward_filter_core::record::pack;

    use super::*;

    #[test]
    fn what_was_put_in_is_found() {
        let digest = key::digest(b"a key");
        let record = pack(Life { disabled: true, ..Life::ALWAYS }, "ann", []);
        let mut keys = Keys::new();
        keys.insert("default/keys", &BTreeMap::from([(digest, record)])).expect("a record");
        let found = keys.table("default/keys").and_then(|table| table.get(&digest));
        assert!(found.is_some_and(|record| record.identity() == b"ann" && record.life().disabled));
        assert!(keys.table("default/others").is_none());
        assert_eq!(keys.insert("x", &BTreeMap::from([(digest, Vec::new())])), Err(KeyError));
    }

    #[test]
    fn digests_are_written_and_read() {
        let digest = key::digest(b"a key");
        assert_eq!(unhex(&hex(&digest)), Some(digest));
        for wrong in ["", "ab", &hex(&digest)[1..], &hex(&digest).replace(char::is_numeric, "g")] {
            assert_eq!(unhex(wrong), None, "{wrong}");
        }
    }
}
