//! What a table holds of a key: who it belongs to, when it is valid, and the metadata that policies
//! ask for.
//!
//! ```text
//! [ life ] identity [ 0 name 0 value ]*
//! ```
//!
//! Neither a name nor a value holds a zero byte, so the parts need no lengths. A life begins with a
//! byte that no text begins with ([`crate::life`]). A key that is always valid and has no metadata,
//! as most are, costs its identity alone.

use std::fmt;

use crate::life::Life;
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
pub fn pack<'a>(
    life: Life,
    identity: &str,
    metadata: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Vec<u8> {
    let mut record = Vec::new();
    life.pack(&mut record);
    record.extend_from_slice(identity.as_bytes());
    append(&mut record, metadata);
    record
}

/// Puts a record together of one without metadata and the metadata.
pub fn extend<'a>(bare: &[u8], metadata: impl IntoIterator<Item = (&'a str, &'a [u8])>) -> Vec<u8> {
    let mut record = bare.to_vec();
    append(&mut record, metadata);
    record
}

fn append<'a>(record: &mut Vec<u8>, metadata: impl IntoIterator<Item = (&'a str, &'a [u8])>) {
    for (name, value) in metadata {
        record.push(SEPARATOR);
        record.extend_from_slice(name.as_bytes());
        record.push(SEPARATOR);
        record.extend_from_slice(value);
    }
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
    /// When its life cannot be read, when the identity is empty, too long or not UTF-8, when a name has
    /// no value, or when a value cannot stand in a header.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let (_, rest) = Life::split(bytes).ok_or(Malformed::Life)?;
        // Most end with their identity. A snapshot has a million of them, so they are looked at once.
        let end = rest.iter().position(|byte| *byte == SEPARATOR);
        let identity = end.and_then(|end| rest.get(..end)).unwrap_or(rest);
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

    /// When the key is valid.
    #[must_use]
    pub fn life(self) -> Life {
        Life::split(self.0).map_or(Life::OVER, |(life, _)| life)
    }

    /// Whether the key need not look like one. A snapshot asks this of a million.
    pub(crate) fn is_of_any_shape(self) -> bool {
        Life::has_any_shape(self.0)
    }

    /// Who the key belongs to; UTF-8.
    #[must_use]
    pub fn identity(self) -> &'a [u8] {
        self.text().split(|byte| *byte == SEPARATOR).next().unwrap_or_default()
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

    /// Whether it gives less than another record of the same key: to somebody else, or at fewer moments. What
    /// else it tells of the key is no right of it.
    #[must_use]
    pub fn narrows(self, other: Record<'_>) -> bool {
        self.identity() != other.identity() || self.life().narrows(other.life())
    }

    /// Whether it gives nothing that another record of the same key does not give. A record may narrow another
    /// one and not be within it: one that begins later and ends later is neither wider nor within.
    #[must_use]
    pub fn is_within(self, other: Record<'_>) -> bool {
        self.identity() == other.identity() && self.life().is_within(other.life())
    }

    /// All bytes.
    #[must_use]
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }

    fn parts(self) -> impl Iterator<Item = &'a [u8]> {
        self.text().split(|byte| *byte == SEPARATOR).skip(1)
    }

    /// What follows its life.
    fn text(self) -> &'a [u8] {
        Life::split(self.0).map_or(&[], |(_, text)| text)
    }
}

impl PartialEq<&str> for Record<'_> {
    /// A record without metadata, of a key that is always valid, is its identity.
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
            life in crate::life::tests::any_life(),
        ) {
            let entries = metadata.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
            let packed = pack(life, &identity, entries);
            let record = Record::parse(&packed).expect("a record");
            prop_assert_eq!(record.identity(), identity.as_bytes());
            prop_assert_eq!(record.life(), life);
            for (name, value) in &metadata {
                prop_assert_eq!(record.metadata(name), Some(value.as_bytes()));
            }
            prop_assert_eq!(record.metadata("~"), None);
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            if let Ok(record) = Record::parse(&bytes) {
                prop_assert!(!record.identity().is_empty());
                prop_assert!(Life::split(&bytes).is_some());
                prop_assert_eq!(record.as_bytes(), &bytes[..]);
            }
        }
    }

    #[test]
    fn what_cannot_stand_in_a_header_is_refused() {
        for value in [&b"a\nb"[..], b"a\r", b" a", b"a\t", b"\x7f", b"\x01"] {
            let packed = pack(Life::ALWAYS, "ann", [("team", value)]);
            assert_eq!(Record::parse(&packed), Err(Malformed::Metadata), "{value:?}");
        }
        let packed = pack(Life::ALWAYS, "ann", [("team", &b""[..]), ("x", b"a b\xfc")]);
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
    fn a_key_that_is_always_valid_costs_no_byte_more() {
        assert_eq!(pack(Life::ALWAYS, "ann", []), b"ann");
        assert_eq!(pack(Life { expires_at: Some(1), ..Life::ALWAYS }, "ann", []).len(), 3 + 8);
    }

    #[test]
    fn a_life_that_cannot_be_read_is_no_record() {
        for bytes in
            [&b"\xff"[..], b"\xff\x00ann", b"\xff\x10ann", b"\xff\xffann", b"\xff\x02ann", b"\xff\x01"]
        {
            assert!(Record::parse(bytes).is_err(), "{bytes:?}");
            assert!(Record::known(bytes).life().check(|| Some(0)).is_err(), "{bytes:?}");
        }
    }

    #[test]
    fn debug_tells_no_metadata() {
        let packed = pack(Life::ALWAYS, "ann", [("team", &b"secret"[..])]);
        let shown = format!("{:?}", Record::parse(&packed));
        assert_eq!(shown, "Ok(Record(\"ann\"))");
    }
}
