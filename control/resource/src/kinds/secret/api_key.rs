//! What a Secret says of an API key.

use std::collections::BTreeMap;

use keyward_filter_core::generated::{self, Shape};
use keyward_filter_core::record::is_header_value;
use keyward_filter_core::time;
use sha2::{Digest as _, Sha256};

use super::SecretValue;
use super::life::KeyLife;
use super::previous::{self, PREVIOUS_DIGEST_FIELD, PREVIOUS_EXPIRES_FIELD, PREVIOUS_KEY_FIELD, PreviousKey};
use crate::meta::Meta;
use crate::reader::Object;

/// The longest API key, in bytes.
pub const MAX_KEY_LEN: usize = 4096;
/// The entry of the data that holds the API key.
pub const KEY_FIELD: &str = "api-key";
/// The entry that holds the SHA-256 of the key, in hexadecimal digits.
pub const DIGEST_FIELD: &str = "api-key-sha256";
/// The entry that says from when on the key is valid.
pub const NOT_BEFORE_FIELD: &str = "not-before";
/// The entry that says until when the key is valid.
pub const EXPIRES_FIELD: &str = "expires-at";
/// The entry that says whether the key is refused for now.
pub const DISABLED_FIELD: &str = "disabled";

/// A Secret that should hold an API key. The key itself is gone: only its SHA-256 is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeySecret {
    /// Its metadata. The name is the identity of the key.
    pub meta: Meta,
    /// The SHA-256 of the key, or why there is none.
    pub key: Result<[u8; 32], KeyProblem>,
    /// The revision with which the key came into it. Not in the object: whoever reads a store says it.
    pub held_since: u64,
    /// When the key is valid.
    pub life: KeyLife,
    /// The key looks like a damaged one of those that are made here, or is known by its digest alone: it may
    /// look like anything.
    pub any_shape: bool,
    /// The key before the present one, while there is a usable present one.
    pub previous: Option<PreviousKey>,
    /// A trailing newline was dropped from the key.
    pub trailing_newline: bool,
    /// The entries of the data that are not about the key: what an `AuthConfig` may put into headers.
    pub metadata: BTreeMap<String, SecretValue>,
}

/// Why a Secret of the right type holds no usable key. It alone is skipped, and reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// There is neither `api-key` nor `api-key-sha256`.
    #[error("data has neither api-key nor api-key-sha256")]
    Missing,
    /// The key is empty.
    #[error("data.api-key is empty")]
    Empty,
    /// The key is longer than [`MAX_KEY_LEN`].
    #[error("data.api-key is longer than 4096 bytes")]
    TooLong,
    /// No header can carry the key, so nobody can send it.
    #[error("data.api-key has a control character, or a blank at one end: nobody could send it in a header")]
    Unsendable,
    /// No header can carry one of the other entries.
    #[error(
        "an entry beside the key is not what a header can carry (UTF-8 without control characters, no blank at either end)"
    )]
    Metadata,
    /// The digest is none.
    #[error("data.api-key-sha256 is not 64 hexadecimal digits")]
    Digest,
    /// The digest is that of another key.
    #[error("data.api-key-sha256 is not the SHA-256 of data.api-key")]
    OtherDigest,
    /// The beginning of its validity cannot be read.
    #[error("data.not-before is not a time as in RFC 3339")]
    NotBefore,
    /// The end of its validity cannot be read.
    #[error("data.expires-at is not a time as in RFC 3339")]
    ExpiresAt,
    /// It would never be valid.
    #[error("data.expires-at is not later than data.not-before")]
    NeverValid,
    /// There is no telling whether it is disabled.
    #[error("data.disabled is neither true nor false")]
    Disabled,
    /// The key before it is none.
    #[error("data.previous-api-key is not a key of 1 to 4096 bytes that a header can carry")]
    PreviousKey,
    /// The digest of the key before it is none.
    #[error("data.previous-api-key-sha256 is not 64 hexadecimal digits")]
    PreviousDigest,
    /// The digest of the key before it is that of another key.
    #[error("data.previous-api-key-sha256 is not the SHA-256 of data.previous-api-key")]
    PreviousOtherDigest,
    /// The end of the key before it cannot be read.
    #[error("data.previous-expires-at is not a time as in RFC 3339")]
    PreviousExpiresAt,
    /// The key before it has no end.
    #[error("data.previous-expires-at is missing, until when the previous key is valid")]
    PreviousEndless,
    /// There is an end of a key that is not there.
    #[error("data has previous-expires-at and no previous key")]
    PreviousMissing,
    /// The key before it is the same.
    #[error("the previous key is the key itself")]
    PreviousSame,
}

/// Whether an entry of the data is about the key itself. No such entry is ever put into a header.
#[must_use]
pub fn is_about_the_key(entry: &str) -> bool {
    const ENTRIES: [&str; 8] = [
        KEY_FIELD,
        DIGEST_FIELD,
        NOT_BEFORE_FIELD,
        EXPIRES_FIELD,
        DISABLED_FIELD,
        PREVIOUS_KEY_FIELD,
        PREVIOUS_DIGEST_FIELD,
        PREVIOUS_EXPIRES_FIELD,
    ];
    ENTRIES.contains(&entry)
}

/// Reads the data of a Secret that should hold an API key. Where it was stored with a mistake, its key
/// is none: whatever cannot be understood may have been meant to end its validity.
pub(super) fn read(fields: &Object<'_>, meta: Meta, mut data: BTreeMap<String, Vec<u8>>) -> ApiKeySecret {
    let any_shape = data.get(KEY_FIELD).is_none_or(|key| generated::shape(line(key)) == Shape::Damaged);
    let literal = data.remove(KEY_FIELD).map(|key| sha256_of(&key));
    let digest = data.remove(DIGEST_FIELD).map(|digest| hex(&digest).ok_or(KeyProblem::Digest));
    let not_before = data.remove(NOT_BEFORE_FIELD).map(|text| moment(&text).ok_or(KeyProblem::NotBefore));
    let expires_at = data.remove(EXPIRES_FIELD).map(|text| moment(&text).ok_or(KeyProblem::ExpiresAt));
    let disabled = data.remove(DISABLED_FIELD).map(|word| switch(&word).ok_or(KeyProblem::Disabled));
    let trailing_newline = literal.is_some_and(|(_, newline)| newline);
    let (previous, of_previous) = previous::take(&mut data);

    let never = matches!((not_before, expires_at), (Some(Ok(from)), Some(Ok(until))) if until <= from);
    let mut key = combined(literal.map(|(key, _)| key), digest);
    let same = key.is_ok_and(|key| previous.is_some_and(|previous| previous.key == key));
    let problems = [
        digest.and_then(Result::err).or(key.err()),
        not_before.and_then(Result::err),
        expires_at.and_then(Result::err),
        never.then_some(KeyProblem::NeverValid),
        disabled.and_then(Result::err),
        same.then_some(KeyProblem::PreviousSame),
    ];
    for problem in problems.into_iter().flatten().chain(of_previous) {
        if let Some((entry, why)) = problem.refusal() {
            fields.refuse_entry("data", entry, why);
        }
        key = key.and(Err(problem));
    }
    let metadata: BTreeMap<_, _> =
        data.into_iter().map(|(entry, value)| (entry, SecretValue(value))).collect();
    for (entry, value) in &metadata {
        if let Some(why) = value.header_problem() {
            fields.refuse_entry("data", entry, why);
            key = key.and(Err(KeyProblem::Metadata));
        }
    }
    let life = KeyLife {
        not_before: not_before.and_then(Result::ok),
        expires_at: expires_at.and_then(Result::ok),
        disabled: disabled.and_then(Result::ok).unwrap_or_default(),
    };
    let previous = previous.filter(|_| key.is_ok());
    ApiKeySecret { meta, key, held_since: 0, life, any_shape, previous, trailing_newline, metadata }
}

/// The digest that the key itself and what is said of its digest come to.
fn combined(
    literal: Option<Result<[u8; 32], KeyProblem>>,
    digest: Option<Result<[u8; 32], KeyProblem>>,
) -> Result<[u8; 32], KeyProblem> {
    match (literal, digest) {
        (None, None) => Err(KeyProblem::Missing),
        (Some(Ok(literal)), Some(Ok(digest))) if literal != digest => Err(KeyProblem::OtherDigest),
        (Some(literal), Some(digest)) => literal.and(digest),
        (Some(one), None) | (None, Some(one)) => one,
    }
}

/// All that is kept of a key, and whether a newline at its end was dropped.
pub(super) fn sha256_of(key: &[u8]) -> (Result<[u8; 32], KeyProblem>, bool) {
    let trimmed = line(key);
    let digest = match trimmed.len() {
        0 => Err(KeyProblem::Empty),
        1..=MAX_KEY_LEN if !is_header_value(trimmed) => Err(KeyProblem::Unsendable),
        1..=MAX_KEY_LEN => Ok(Sha256::digest(trimmed).into()),
        _ => Err(KeyProblem::TooLong),
    };
    (digest, trimmed.len() < key.len())
}

/// Without the line end that `echo` leaves behind.
pub(super) fn line(bytes: &[u8]) -> &[u8] {
    match bytes.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => bytes,
    }
}

pub(super) fn hex(bytes: &[u8]) -> Option<[u8; 32]> {
    let (pairs, rest) = line(bytes).as_chunks::<2>();
    let mut digest = [0; 32];
    if pairs.len() != digest.len() || !rest.is_empty() {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    for (to, [high, low]) in digest.iter_mut().zip(pairs) {
        *to = digit(*high)? << 4 | digit(*low)?;
    }
    Some(digest)
}

pub(super) fn moment(bytes: &[u8]) -> Option<u64> {
    time::milliseconds(std::str::from_utf8(line(bytes)).ok()?)
}

fn switch(bytes: &[u8]) -> Option<bool> {
    match line(bytes) {
        b"true" => Some(true),
        b"false" => Some(false),
        _ => None,
    }
}

// === impl KeyProblem ===

impl KeyProblem {
    /// The entry that is to blame and what it must be, where the mistake is refused when it is written.
    /// Where it is not, the Secret may be on its way to become one with a key.
    fn refusal(self) -> Option<(&'static str, &'static str)> {
        const TIME: &str = "must be a time as in RFC 3339, such as 2030-01-31T12:00:00Z";
        match self {
            // Each entry of the latter is refused by its own name.
            Self::Missing | Self::Metadata => None,
            Self::Empty => Some((KEY_FIELD, "must not be empty")),
            Self::TooLong => Some((KEY_FIELD, "must have at most 4096 bytes")),
            Self::Unsendable => Some((
                KEY_FIELD,
                "must be what a client can send in a header: no control characters, and no blank at either end",
            )),
            Self::Digest => Some((DIGEST_FIELD, "must be a SHA-256, 64 hexadecimal digits")),
            Self::OtherDigest => {
                Some((DIGEST_FIELD, "is not the SHA-256 of api-key, which stands there too"))
            }
            Self::NotBefore => Some((NOT_BEFORE_FIELD, TIME)),
            Self::ExpiresAt => Some((EXPIRES_FIELD, TIME)),
            Self::NeverValid => Some((EXPIRES_FIELD, "must be later than not-before")),
            Self::Disabled => Some((DISABLED_FIELD, "must be \"true\" or \"false\"")),
            Self::PreviousKey => {
                Some((PREVIOUS_KEY_FIELD, "must be a key of 1 to 4096 bytes that a header can carry"))
            }
            Self::PreviousDigest => Some((PREVIOUS_DIGEST_FIELD, "must be a SHA-256, 64 hexadecimal digits")),
            Self::PreviousOtherDigest => Some((
                PREVIOUS_DIGEST_FIELD,
                "is not the SHA-256 of previous-api-key, which stands there too",
            )),
            Self::PreviousExpiresAt => Some((PREVIOUS_EXPIRES_FIELD, TIME)),
            Self::PreviousEndless => Some((
                PREVIOUS_EXPIRES_FIELD,
                "must say until when the previous key is valid, which stands there",
            )),
            Self::PreviousMissing => Some((
                PREVIOUS_EXPIRES_FIELD,
                "is about a previous key, and there is neither previous-api-key nor previous-api-key-sha256",
            )),
            Self::PreviousSame => {
                Some((PREVIOUS_EXPIRES_FIELD, "is about a previous key that is the key itself"))
            }
        }
    }

    /// Whether a Secret with it cannot be written, so that one that is there was written by another version
    /// or past the server.
    #[must_use]
    pub fn is_refused(self) -> bool {
        self != Self::Missing
    }
}
