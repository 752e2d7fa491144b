//! The resource store: what people wrote, in the order in which they wrote it.
//!
//! ```text
//!  create, update, delete ─▶ ┌───────────────┐ ─▶ get, list (at a revision)
//!                            │ one ordered    │
//!                            │ log of changes │ ─▶ watch (from a revision on)
//!                            └───────────────┘
//! ```
//!
//! A store keeps bodies as bytes under a [`Key`] and gives every change the next [`Revision`], one
//! sequence for all objects. A list says the revision that it shows, and a watch from there misses
//! nothing and repeats nothing. A change that was answered is durable.
//!
//! What it is not: it does not know what a body means, does not validate and does not set
//! timestamps. Bodies hold API keys, so no error and no log line of this crate shows one.

#[cfg(any(test, feature = "contract"))]
pub mod contract;
mod error;
mod memory;
mod record;
pub mod sqlite;
mod store;
mod watch;

pub use error::StoreError;
pub use memory::MemoryStore;
pub use record::{Body, Event, Key, Record, Revision, Selector};
pub use sqlite::{Counted, OpenError, SecretUses, SqliteStore, UsageFile, WorkerName};
pub use store::{Page, Store};
pub use watch::Watch;

#[cfg(test)]
mod tests;
