//! Who manages which field of an object: server-side apply, and the `managedFields` of all writes.
//!
//! ```text
//! write ─▶ compare(live, new) ─▶ what was added, modified, removed ─▶ Managers
//! apply ─▶ merge(live, applied) ─▶ prune (what the manager dropped) ─▶ compare ─▶ conflicts?
//! ```
//!
//! Pure. Maps are merged key by key and lists are replaced as a whole, but for the lists of the
//! metadata, whose items have an identity of their own ([`element`]).

mod compare;
mod element;
mod managers;
mod merge;
mod set;

pub(crate) use managers::{Applied, Conflict, Manager, Managers, Operation};

#[cfg(test)]
mod tests;
