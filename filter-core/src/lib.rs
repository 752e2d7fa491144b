//! The decision of the Keyward filter, free of any host.
//!
//! It is the whole of what the filter thinks: which policy a route demands, which keys are known,
//! how keys arrive, who waits. It is not a filter: it calls no proxy, reads no clock and opens no
//! socket. What it needs from a proxy it asks through two small traits, which `filter-wasm`
//! implements on proxy-wasm and the tests implement on a fake.
//!
//! ```text
//!  plugin configuration ──▶ config ─┐ (standalone: with the keys in it)
//!                                   ├─▶ decide ─▶ Verdict ─▶ request ─▶ RequestHost (headers, reply)
//!  key stream ─▶ wire ─▶ replica ───┘                │
//!                        (tables)                    └─ Wait ─▶ parking ─▶ worker ─▶ request again
//!  time ──▶ worker ─▶ link (when to open the stream, what to say) ─▶ WorkerHost (stream, metrics)
//! ```
//!
//! Nothing here can panic: a panic in a filter is a trap, and a trap is an outage of every request
//! that the worker holds. Where something cannot be decided, the answer is a denial.

#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::arithmetic_side_effects
    )
)]

pub mod capability;
pub mod config;
pub mod decide;
pub mod decisions;
pub mod event;
#[cfg(test)]
mod fake;
pub mod generated;
pub mod header_list;
pub mod header_name;
pub mod host;
pub mod key;
pub mod life;
pub mod link;
pub mod metric;
pub mod parking;
pub mod place;
pub mod record;
pub mod replica;
pub mod request;
pub mod rule;
pub mod standalone;
pub mod table;
pub mod time;
pub mod usage;
pub mod wire;
pub mod worker;
