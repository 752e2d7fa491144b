//! The digest that versions are made of.

use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, sync::Arc};

/// 128 bits of SHA-256 over length-prefixed parts, in hexadecimal.
///
/// A cryptographic hash because a collision would silently withhold a change, and because the
/// version must be the same in every process and every build.
pub(crate) fn digest<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Arc<str> {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut text = String::with_capacity(32);
    for byte in hash.finalize().iter().take(16) {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text.into()
}
