//! A bearer token: `kwt_<43 random characters>_<6 characters of checksum>`.

use std::fmt;

use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::error::TokenError;

#[cfg(test)]
mod tests;

/// How many random bytes make a token.
pub const RANDOM_BYTES: usize = 32;

/// What every token begins with, so that scanners of leaked secrets find it.
const PREFIX: &str = "kwt_";
/// 62^43 is more than 2^256.
const RANDOM_CHARS: usize = 43;
/// 62^6 is more than 2^32.
const CHECKSUM_CHARS: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A token itself. It cannot be printed; who means to show it says [`Token::reveal`].
#[derive(Clone)]
pub struct Token(String);

/// The SHA-256 of a token: what is kept of it. Its random part cannot be guessed, so one round of
/// hashing is enough.
#[derive(Clone, Copy)]
pub struct TokenDigest([u8; 32]);

/// A big-endian number in base 62, with leading zeros.
fn base62(number: &[u8], digits: usize) -> String {
    let mut number = number.to_vec();
    let mut text = vec![b'0'; digits];
    for digit in text.iter_mut().rev() {
        let mut rest = 0_usize;
        for byte in &mut number {
            let value = rest * 256 + usize::from(*byte);
            *byte = u8::try_from(value / 62).unwrap_or(u8::MAX);
            rest = value % 62;
        }
        *digit = ALPHABET[rest];
    }
    text.into_iter().map(char::from).collect()
}

/// Tells a token that was cut off or mistyped from one that is unknown.
fn checksum(body: &str) -> String {
    let digest = Sha256::digest(body);
    base62(&digest[..4], CHECKSUM_CHARS)
}

// === impl Token ===

impl Token {
    /// The token of these random bytes.
    #[must_use]
    pub fn new(random: &[u8; RANDOM_BYTES]) -> Self {
        let body = format!("{PREFIX}{}", base62(random, RANDOM_CHARS));
        let checksum = checksum(&body);
        Self(format!("{body}_{checksum}"))
    }

    /// Reads what a client sent.
    ///
    /// # Errors
    ///
    /// When it is no token, or a part of one. The error does not hold the text.
    pub fn parse(text: &str) -> Result<Self, TokenError> {
        let random = text.strip_prefix(PREFIX).ok_or(TokenError::Foreign)?;
        let (random, sum) = random.split_once('_').ok_or(TokenError::Damaged)?;
        let base62 = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let whole = random.len() == RANDOM_CHARS
            && base62(random)
            && base62(sum)
            && checksum(&format!("{PREFIX}{random}")) == sum;
        if whole { Ok(Self(text.to_owned())) } else { Err(TokenError::Damaged) }
    }

    /// The text, for the one who is to have it.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is kept.
    #[must_use]
    pub fn digest(&self) -> TokenDigest {
        TokenDigest(Sha256::digest(&self.0).into())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token([redacted])")
    }
}

// === impl TokenDigest ===

impl TokenDigest {
    /// Reads 64 hexadecimal digits.
    #[must_use]
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if text.len() != 64 || !text.is_ascii() {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// As hexadecimal digits, for the file.
    #[must_use]
    pub fn to_hex(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Compares without telling by the time it takes where the two differ.
    #[must_use]
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest([redacted])")
    }
}
