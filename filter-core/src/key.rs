//! From an API key to the digest that stands for it.

use sha2::{Digest as _, Sha256};

use crate::wire::{DIGEST_LEN, Digest};

/// The digest of a key: the first 16 bytes of its SHA-256.
///
/// The value is taken as it is, byte for byte; nothing is trimmed or decoded.
#[must_use]
pub fn digest(key: &[u8]) -> Digest {
    let full = Sha256::digest(key);
    let mut digest = [0; DIGEST_LEN];
    for (to, from) in digest.iter_mut().zip(full) {
        *to = from;
    }
    digest
}

/// The id of a key, for people: the first eight digits of its SHA-256.
#[must_use]
pub fn id(digest: &Digest) -> [u8; 8] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or_default();
    let [a, b, c, d, ..] = digest.map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    let mut id = [0; 8];
    for (to, from) in id.iter_mut().zip([a, b, c, d].as_flattened()) {
        *to = *from;
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_first_half_of_the_published_vector() {
        // FIPS 180-2, appendix B.1: SHA-256("abc").
        let expected =
            [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea, 0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23];
        assert_eq!(digest(b"abc"), expected);
        assert_eq!(id(&expected), *b"ba7816bf");
    }

    #[test]
    fn takes_any_bytes_and_trims_nothing() {
        assert_ne!(digest(b"abc"), digest(b"abc\n"));
        assert_ne!(digest(b""), digest(b"\0"));
        assert_ne!(digest(b"\xff"), digest("\u{ff}".as_bytes()));
    }
}
