//! The keys of a run: as long as a UUID, and known by their number.

/// The most keys that there may be.
pub(crate) const MOST: usize = 10_000_000;
/// What stands behind the number in a key that is known.
const KNOWN: &str = "-7d2a-4c58-9e41-0b3a90b5c3f8";
/// The same in one that is not.
const UNKNOWN: &str = "-ffff-4fff-bfff-ffffffffffff";
/// The digits before it.
pub(crate) const DIGITS: usize = 8;

/// The namespace of everything that a run makes.
pub(crate) const NAMESPACE: &str = "bench";

/// The key with this number.
pub(crate) fn known(number: usize) -> String {
    format!("{number:08x}{KNOWN}")
}

/// A key of the same length that nobody has.
pub(crate) fn unknown(number: usize) -> String {
    format!("{number:08x}{UNKNOWN}")
}

/// The name of the Secret of a key, and so the identity.
pub(crate) fn identity(number: usize) -> String {
    format!("client-{number}")
}
