//! The debugging ports of the control server, as HTTP sees them.
//!
//! ```text
//! 9091  debug      /  /logging  /metrics ─▶ Logging, Metrics ─┐
//!                  /debug/pprof, tasks ───▶ Profiles, Tasks ──┤
//!                  /zpages ───────────────▶ recent spans ─────┤
//! 9095  snapshots  /  /snapshots/... ─────▶ Snapshots ────────┼─ implemented by the control server
//! 10010 dev mode   /  /xds  /xds/{key}  /api ─▶ Snapshots ────┤
//! 19000 proxy      everything of Envoy's admin ─▶ ProxyAdmin ─┘
//!          └── Gate: who may look, who may change something or see everything
//! ```
//!
//! A module for each surface. Nothing here owns a port or knows where the data comes from; whatever is
//! shown has gone through [`redact`] or is a count.

pub mod debug;
pub mod dev;
pub mod proxy;
pub mod redact;
pub mod snapshots;
pub mod xds;

mod envelope;
mod gate;
mod index;
mod page;
mod query;

pub use envelope::{Failure, Shown};
pub use gate::{Gate, Need, Refusal, Who};
