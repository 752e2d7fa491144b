//! What can be wrong with tokens and with their file.

use std::path::PathBuf;

/// A text is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// It has another form.
    #[error("it is not a token of Keyward, which begin with kwt_")]
    Foreign,
    /// Its checksum is wrong.
    #[error("it was not copied whole: its checksum is wrong")]
    Damaged,
}

/// A change of the list of tokens that cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BookError {
    /// There is one of this name.
    #[error("there is a token {name:?} already")]
    Exists {
        /// The name.
        name: String,
    },
    /// There is none of this name.
    #[error("there is no token {name:?}")]
    Missing {
        /// The name.
        name: String,
    },
    /// It is no name.
    #[error("{name:?} is no name for a token: lower case letters, digits, '-' and '.' inside, at most 63")]
    BadName {
        /// The text.
        name: String,
    },
}

/// The file of the tokens cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// Reading or writing failed.
    #[error("{path} could not be {action}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// It does not hold what it should.
    #[error("{path} is not a list of tokens", path = path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// Its content contradicts itself.
    #[error("{path} is not a list of tokens", path = path.display())]
    Contradictory {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: BookError,
    },
    /// Somebody else could add tokens to it.
    #[error("{path} can be written by others\nhint: chmod 600 {path}", path = path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
    },
    /// The change cannot be made.
    #[error(transparent)]
    Book(#[from] BookError),
}
