//! The Keyward filter as a proxy-wasm module: an adapter between a proxy's callbacks and
//! `keyward-filter-core`, which does all the thinking.
//!
//! ```text
//!  proxy ─▶ Filter (root: configuration, tick, key stream) ─┐
//!                                                           ├─▶ vm: Worker ─▶ proxy::Proxy ─▶ host calls
//!  proxy ─▶ Filter (request: request, response headers) ────┘
//! ```
//!
//! One module instance, a VM, lives in each worker thread of the proxy. When something goes wrong
//! in here that should not be able to, a request is answered with 503 or left paused, and never let
//! through. Behind the filter stands a guard of the proxy's own that denies what comes without an
//! identity.

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

use keyward_filter_abi::{Action, Callbacks};

/// Version of the filter, as it tells the control server.
const BUILD: &str = env!("CARGO_PKG_VERSION");

/// What the proxy calls.
struct Filter;

keyward_filter_abi::callbacks!(Filter);

// === impl Filter ===

impl Callbacks for Filter {
    fn on_load() {}

    fn on_context_create(context: u32, root: u32) {
        if root != 0 {
            request::on_create(context, root);
        }
    }

    fn on_vm_start(_root: u32) -> bool {
        true
    }

    fn on_configure(root: u32, size: usize) -> bool {
        root::on_configure(root, size)
    }

    fn on_tick(root: u32) {
        root::on_tick(root);
    }

    fn on_request_headers(context: u32) -> Action {
        request::on_headers(context)
    }

    fn on_response_headers(context: u32) -> Action {
        request::on_response_headers(context)
    }

    fn on_delete(context: u32) {
        vm::with(|vm| vm.end(context));
    }

    fn on_grpc_headers(stream: u32, headers: u32) {
        root::on_stream_answered(stream, headers);
    }

    fn on_grpc_message(stream: u32, size: usize) {
        root::on_message(stream, size);
    }

    fn on_grpc_close(stream: u32) {
        vm::with(|vm| vm.worker.on_close(stream, &mut vm.proxy));
    }
}
