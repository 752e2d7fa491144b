//! API keys as a client sees them: making one, when it is valid, and what a Secret says of it.

mod entry;
#[cfg(test)]
pub(crate) mod fixture;
mod life;
mod material;

pub(crate) use entry::{Entry, KEY_CREATED, KeyState, id_of, is_deleted};
pub(crate) use life::{ExpiryArgs, time, timestamp};
pub(crate) use material::{KeyArgs, Material, Text, read, sha256};
