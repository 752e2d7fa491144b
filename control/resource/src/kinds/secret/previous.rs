//! The key before the present one, which is valid until it ends: a rotation without a gap.

use std::collections::BTreeMap;

use keyward_filter_core::generated::{self, Shape};

use super::api_key::{KeyProblem, hex, line, moment, sha256_of};

/// The entry that holds the key before the present one.
pub const PREVIOUS_KEY_FIELD: &str = "previous-api-key";
/// The entry that holds the SHA-256 of the key before the present one, in hexadecimal digits.
pub const PREVIOUS_DIGEST_FIELD: &str = "previous-api-key-sha256";
/// The entry that says until when the key before the present one is valid.
pub const PREVIOUS_EXPIRES_FIELD: &str = "previous-expires-at";

/// The key before the present one. It has the identity, the labels and the metadata of the present one, and
/// is disabled with it; it ends at its own time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreviousKey {
    /// Its SHA-256.
    pub key: [u8; 32],
    /// The revision with which it came into the Secret, as of the present one.
    pub held_since: u64,
    /// Until when it is valid, in milliseconds since 1970.
    pub expires_at: u64,
    /// As of the present one.
    pub any_shape: bool,
}

/// Takes out of the data what is said of the key before the present one. All mistakes come with it.
pub(super) fn take(data: &mut BTreeMap<String, Vec<u8>>) -> (Option<PreviousKey>, Vec<KeyProblem>) {
    let literal = data.remove(PREVIOUS_KEY_FIELD);
    let digest = data.remove(PREVIOUS_DIGEST_FIELD);
    let expires_at = data.remove(PREVIOUS_EXPIRES_FIELD);
    let any_shape = literal.as_ref().is_none_or(|key| generated::shape(line(key)) == Shape::Damaged);
    let is_there = literal.is_some() || digest.is_some();

    let mut problems = Vec::new();
    let mut noted = |read: Result<_, KeyProblem>| read.map_err(|problem| problems.push(problem)).ok();
    let literal = literal.and_then(|key| noted(sha256_of(&key).0.map_err(|_| KeyProblem::PreviousKey)));
    let digest = digest.and_then(|digest| noted(hex(&digest).ok_or(KeyProblem::PreviousDigest)));
    if literal.zip(digest).is_some_and(|(literal, digest)| literal != digest) {
        problems.push(KeyProblem::PreviousOtherDigest);
    }
    let end = expires_at.as_ref().map(|text| moment(text).ok_or(KeyProblem::PreviousExpiresAt));
    match end {
        Some(Err(problem)) => problems.push(problem),
        Some(Ok(_)) if !is_there => problems.push(KeyProblem::PreviousMissing),
        None if is_there => problems.push(KeyProblem::PreviousEndless),
        _ => {}
    }
    let key = literal.or(digest).zip(end.and_then(Result::ok));
    (key.map(|(key, expires_at)| PreviousKey { key, held_since: 0, expires_at, any_shape }), problems)
}
