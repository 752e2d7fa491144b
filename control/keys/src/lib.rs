//! The key tables of the control server, and what its end of a key stream says.
//!
//! ```text
//!  Secret, AuthConfig ─changes▶ KeyIndex ─▶ one Table for all AuthConfigs that select the same
//!                                 │             (digest ─▶ identity, version, log of the last changes)
//!                                 └─view─▶ KeyView, immutable
//!                                             │ next
//!  worker ─ClientMessage─▶ Session ◀──────────┘
//!                             │ └─▶ ServerMessage: chunks of a snapshot, deltas, drops
//!                             └─SessionEvent─▶ Workers: who holds what, who lags
//! ```
//!
//! Everything here is pure: no clock, no task, no socket. The server feeds changes in, publishes
//! views, and moves messages between sessions and streams.
//!
//! What it is not: it does not decide which routes are secured, and it never sees a key. What it
//! knows of a key is the first half of its SHA-256.

#[cfg(test)]
mod fixtures;
mod index;
mod placed;
mod secrets;
mod selection;
mod session;
mod table;
mod view;
mod workers;

pub use index::{AllowLists, Change, Holder, KeyIndex, LogLimits, Users};
pub use session::{Limits, ProtocolError, Session, SessionEvent, TableUses};
pub use table::Table;
pub use view::{KeyView, Wanted};
pub use workers::{
    Confirmed, Connection, GRACE, Goal, Held, Holds, Missing, Refusal, Standing, Worker, Workers,
};
