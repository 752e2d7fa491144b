//! What a client can do to make its stream end.

use thiserror::Error;

/// A request that a session cannot go on from. The stream must be closed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The request does not say which type it is about.
    #[error("the request has no type_url")]
    NoTypeUrl,
    /// More types than [`Options::max_types`](crate::Options::max_types).
    #[error("the stream asks for more than {limit} resource types")]
    TooManyTypes {
        /// The limit.
        limit: usize,
    },
    /// More names than [`Options::max_names`](crate::Options::max_names).
    #[error("the stream names more than {limit} resources")]
    TooManyNames {
        /// The limit.
        limit: usize,
    },
}
