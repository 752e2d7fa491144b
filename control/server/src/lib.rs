//! The Keyward control server.
//!
//! ```text
//! REST ─▶ store ─▶ control loop ─▶ key view ─▶ key stream (gRPC) ─▶ filters
//!                        │   └───▶ xDS cache ─▶ ADS (gRPC) ───────▶ Envoys
//!                        └─▶ statuses ─▶ REST
//! supervisor ─▶ one Envoy
//! debugging ports ◀─ whatever all of these publish
//! ```
//!
//! What it decides is decided in pure crates below it; here are the loop, the edges and the
//! processes. It is not the data plane: with the control server down, Envoy serves on with what
//! it holds.

mod access;
mod access_log;
mod admin;
mod args;
mod compaction;
mod control;
mod edge;
mod envoy;
mod exposure;
mod filter;
pub mod logging;
mod logs;
mod metrics;
mod objects;
mod ports;
mod profiles;
mod proxies;
mod published;
mod remembered;
mod rest;
mod retries;
mod review;
mod rollout;
mod serve;
mod spans;
mod statuses;
mod tasks;
mod tls_files;
mod usage;
mod workers;

pub use args::{LogFormat, ServeArgs};
pub use serve::serve;
