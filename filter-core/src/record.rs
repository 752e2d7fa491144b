//! What a table holds of a key: who it belongs to, and the metadata that policies ask for.
//!
//! ```text
//! identity [ 0 name 0 value ]*
//! ```
//!
//! Neither a name nor a value holds a zero byte, so the parts need no lengths. A key without metadata,
//! which most are, costs its identity alone.

use std::fmt;

use crate::wire::Malformed;

/// The longest identity: a Kubernetes name.
pub const MAX_IDENTITY_LEN: usize = 253;
/// The longest record, metadata included.
pub const MAX_RECORD_LEN: usize = 8 * 1024;

/// Stands between the parts.
const SEPARATOR: u8 = 0;

/// A record, well formed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Record<'a>(&'a [u8]);

/// Puts a record together. Metadata are best given in the order of their names, so that the same
/// content makes the same bytes.
pub fn pack<'a>(identity: &str, metadata: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut record = identity.as_bytes().to_vec();
    for (name, value) in metadata {
        record.push(SEPARATOR);
        record.extend_from_slice(name.as_bytes());
        record.push(SEPARATOR);
        record.extend_from_slice(value);
    }
    record
}

/// Whether bytes can be the value of a header that a policy sets: no control characters but the tab,
/// and nothing that proxies take off at either end.
#[must_use]
pub fn is_header_value(value: &[u8]) -> bool {
    let blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
    let plain = |byte: &u8| *byte == b'\t' || (*byte >= b' ' && *byte != 0x7f);
    value.iter().all(plain) && !blank(value.first()) && !blank(value.last())
}

// === impl Record ===

impl<'a> Record<'a> {
    /// Reads a record.
    ///
    /// # Errors
    ///
    /// When the identity is empty, too long or not UTF-8, when a name has no value, or when a value
    /// cannot stand in a header.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        // Most end with their identity. A snapshot has a million of them, so they are looked at once.
        let end = bytes.iter().position(|byte| *byte == SEPARATOR);
        let identity = end.and_then(|end| bytes.get(..end)).unwrap_or(bytes);
        if !(1..=MAX_IDENTITY_LEN).contains(&identity.len())
            || bytes.len() > MAX_RECORD_LEN
            || std::str::from_utf8(identity).is_err()
        {
            return Err(Malformed::Identity);
        }
        let record = Self(bytes);
        if end.is_some() {
            record.check_metadata()?;
        }
        Ok(record)
    }

    fn check_metadata(self) -> Result<(), Malformed> {
        let mut parts = self.parts();
        while let Some(name) = parts.next() {
            let value = parts.next().ok_or(Malformed::Metadata)?;
            if name.is_empty() || !is_header_value(value) {
                return Err(Malformed::Metadata);
            }
        }
        Ok(())
    }

    /// A record that was read before.
    pub(crate) fn known(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Who the key belongs to; UTF-8.
    #[must_use]
    pub fn identity(self) -> &'a [u8] {
        self.0.split(|byte| *byte == SEPARATOR).next().unwrap_or_default()
    }

    /// The metadata of this name.
    #[must_use]
    pub fn metadata(self, name: &str) -> Option<&'a [u8]> {
        let mut parts = self.parts();
        while let Some(found) = parts.next() {
            let value = parts.next()?;
            if found == name.as_bytes() {
                return Some(value);
            }
        }
        None
    }

    /// All bytes.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    fn parts(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.split(|byte| *byte == SEPARATOR).skip(1)
    }
}

impl PartialEq<&str> for Record<'_> {
    /// A record without metadata is its identity.
    fn eq(&self, identity: &&str) -> bool {
        self.0 == identity.as_bytes()
    }
}

impl AsRef<[u8]> for Record<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl fmt::Debug for Record<'_> {
    /// Metadata may be confidential.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Record").field(&String::from_utf8_lossy(self.identity())).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_packed_is_read_back(
            identity in "[a-z0-9.-]{1,253}",
            metadata in prop::collection::btree_map("[A-Za-z0-9._-]{1,20}", "[!-~]([ -~ü\t]{0,40}[!-~])?", 0..5),
        ) {
            let entries = metadata.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
            let packed = pack(&identity, entries);
            let record = Record::parse(&packed).expect("a record");
            prop_assert_eq!(record.identity(), identity.as_bytes());
            for (name, value) in &metadata {
                prop_assert_eq!(record.metadata(name), Some(value.as_bytes()));
            }
            prop_assert_eq!(record.metadata("~"), None);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(record) = Record::parse(&bytes) {
                prop_assert!(!record.identity().is_empty());
                prop_assert_eq!(record.as_bytes(), &bytes[..]);
            }
        }
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_refused() {
        for value in [&b"a\nb"[..], b"a\r", b" a", b"a\t", b"\x7f", b"\x01"] {
            let packed = pack("ann", [("team", value)]);
            assert_eq!(Record::parse(&packed), Err(Malformed::Metadata), "{value:?}");
        }
        let packed = pack("ann", [("team", &b""[..]), ("x", b"a b\xfc")]);
        assert_eq!(Record::parse(&packed).map(|record| record.metadata("x")), Ok(Some(&b"a b\xfc"[..])));
    }

    #[test]
    fn a_record_ends_where_its_parts_do() {
        assert_eq!(Record::parse(b"ann\0name"), Err(Malformed::Metadata));
        assert_eq!(Record::parse(b"ann\0\0value"), Err(Malformed::Metadata));
        assert_eq!(Record::parse(b"\0name\0value"), Err(Malformed::Identity));
        assert_eq!(Record::parse(&vec![b'a'; MAX_RECORD_LEN + 1]), Err(Malformed::Identity));
    }

    #[test]
    fn debug_tells_no_metadata() {
        let packed = pack("ann", [("team", &b"secret"[..])]);
        let shown = format!("{:?}", Record::parse(&packed));
        assert_eq!(shown, "Ok(Record(\"ann\"))");
    }
}
