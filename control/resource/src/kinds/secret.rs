//! `Secret` of type `extauth.keyward.io/apikey`: one API key, whose name is the identity.

use crate::meta::Meta;

/// The longest API key, in bytes.
pub const MAX_KEY_LEN: usize = 4096;

/// A Secret that should hold an API key. The key itself is gone: only its SHA-256 is left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKeySecret {
    /// Its metadata. The name is the identity of the key.
    pub meta: Meta,
    /// The SHA-256 of the key, or why there is none.
    pub key: Result<[u8; 32], KeyProblem>,
    /// A trailing newline was dropped from the key.
    pub trailing_newline: bool,
}

/// Why a Secret of the right type holds no usable key. It alone is skipped, and reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// There is no `api-key`.
    #[error("data has no api-key")]
    Missing,
    /// The key is empty.
    #[error("data.api-key is empty")]
    Empty,
    /// The key is longer than [`MAX_KEY_LEN`].
    #[error("data.api-key is longer than 4096 bytes")]
    TooLong,
}
