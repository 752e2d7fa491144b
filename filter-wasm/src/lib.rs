//! The Keyward filter as a proxy-wasm module: an adapter between a proxy's callbacks and
//! `keyward-filter-core`, which does all the thinking.
//!
//! ```text
//!  proxy ─▶ Root    (configuration, tick, key stream) ─┐
//!                                                      ├─▶ vm: Worker ─▶ proxy::Proxy ─▶ host calls
//!  proxy ─▶ Request (request and response headers) ────┘
//! ```
//!
//! One module instance, a VM, lives in each worker thread of the proxy. When something goes wrong
//! in here that should not be able to, a request is answered with 503 or left paused, and never let
//! through. Behind the filter stands a guard of the proxy's own that denies what comes without an
//! identity.

#![expect(missing_docs, reason = "the only public item is the entry point that the SDK's macro makes")]
#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::arithmetic_side_effects
)]

#[cfg(feature = "fault-injection")]
mod fault;
mod proxy;
mod request;
mod root;
mod vm;

use proxy_wasm::types::LogLevel;

/// Version of the filter, as it tells the control server.
const BUILD: &str = env!("CARGO_PKG_VERSION");

proxy_wasm::main! {{
    // What is below Info is not sent to the proxy at all: each line would be a call.
    proxy_wasm::set_log_level(LogLevel::Info);
    proxy_wasm::set_root_context(|id| Box::new(root::Root::new(id)));
}}
