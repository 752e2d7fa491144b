//! The list of tokens.

use std::fmt;

use jiff::Timestamp;

use crate::error::BookError;
use crate::role::Role;
use crate::token::TokenDigest;

#[cfg(test)]
mod tests;

/// The name of a token: how it is called in the log and on the command line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TokenName(String);

/// What is known of a token.
#[derive(Debug, Clone)]
pub struct TokenRecord {
    /// Its name.
    pub name: TokenName,
    /// What it is for.
    pub role: Role,
    /// Where it is for, everywhere when empty.
    pub namespaces: Vec<String>,
    /// Its digest.
    pub digest: TokenDigest,
    /// When it was made.
    pub created: Timestamp,
    /// From when on it is worth nothing; never when there is none.
    pub expires: Option<Timestamp>,
}

/// All tokens, by name. No two have one name.
#[derive(Debug, Clone, Default)]
pub struct TokenBook {
    records: Vec<TokenRecord>,
}

// === impl TokenName ===

impl TokenName {
    /// Reads a name: lower case letters, digits, and `-` and `.` inside, at most 63.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn new(text: &str) -> Result<Self, BookError> {
        let edge = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let inner = |byte: u8| edge(byte) || byte == b'-' || byte == b'.';
        let bytes = text.as_bytes();
        let right = (1..=63).contains(&bytes.len())
            && bytes.iter().all(|byte| inner(*byte))
            && bytes.first().is_some_and(|byte| edge(*byte))
            && bytes.last().is_some_and(|byte| edge(*byte));
        if right { Ok(Self(text.to_owned())) } else { Err(BookError::BadName { name: text.to_owned() }) }
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// === impl TokenRecord ===

impl TokenRecord {
    /// Whether it is worth nothing any more.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|expires| expires <= now)
    }
}

// === impl TokenBook ===

impl TokenBook {
    /// All of them, by name.
    #[must_use]
    pub fn records(&self) -> &[TokenRecord] {
        &self.records
    }

    /// Adds one.
    ///
    /// # Errors
    ///
    /// When there is one of its name.
    pub fn add(&mut self, record: TokenRecord) -> Result<(), BookError> {
        match self.records.binary_search_by(|known| known.name.cmp(&record.name)) {
            Ok(_) => Err(BookError::Exists { name: record.name.to_string() }),
            Err(place) => {
                self.records.insert(place, record);
                Ok(())
            }
        }
    }

    /// Takes one out.
    ///
    /// # Errors
    ///
    /// When there is none of this name.
    pub fn remove(&mut self, name: &str) -> Result<TokenRecord, BookError> {
        let place = self.records.iter().position(|known| known.name.as_str() == name);
        let place = place.ok_or_else(|| BookError::Missing { name: name.to_owned() })?;
        Ok(self.records.remove(place))
    }

    /// The record of a token, expired or not. All records are compared, whichever matches.
    #[must_use]
    pub fn find(&self, digest: &TokenDigest) -> Option<&TokenRecord> {
        let mut found = None;
        for record in &self.records {
            if record.digest.matches(digest) {
                found = Some(record);
            }
        }
        found
    }
}
