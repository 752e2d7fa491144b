//! The border between a proxy-wasm module and its proxy, as thin as it can be.
//!
//! ```text
//!  proxy ─▶ callbacks! (exports) ─▶ a type that is Callbacks
//!  proxy ◀─ call (host calls)    ◀─ whoever was called
//! ```
//!
//! It speaks ABI 0.2.1, and of that what Keyward needs. It is not the `proxy-wasm` crate, for the sake
//! of what a request costs: that crate keeps an object for each request, so it has to be told of its
//! end, too, and each callback costs an entry into the VM. It also ends the VM when a host call fails
//! in a way that it does not expect; here every call may fail.
//!
//! All `unsafe` code of the filter is in this crate. What it relies on is said at each place.

#![deny(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects
)]

pub mod call;
mod export;

/// What a proxy calls. Contexts have numbers: a root is one plugin configuration in one VM, each other
/// one is a request.
pub trait Callbacks {
    /// The module was loaded. Only [`call::log`] may be used here.
    fn on_load();

    /// There is a new context: a root if `root` is zero, otherwise a request that `root` serves.
    fn on_context_create(context: u32, root: u32);

    /// The VM has started, or a root begins in one that runs.
    fn on_vm_start(root: u32) -> bool;

    /// There is a plugin configuration of so many bytes. Whether it is taken.
    fn on_configure(root: u32, size: usize) -> bool;

    /// It is time, as asked for with [`call::set_tick`].
    fn on_tick(root: u32);

    /// The headers of a request are there. What becomes of the request.
    fn on_request_headers(context: u32) -> Action;

    /// The headers of a response are there. What becomes of the response.
    fn on_response_headers(context: u32) -> Action;

    /// A context is gone.
    fn on_delete(context: u32);

    /// The server has answered on a gRPC stream, with so many headers.
    fn on_grpc_headers(stream: u32, headers: u32);

    /// A message of so many bytes has come over a gRPC stream.
    fn on_grpc_message(stream: u32, size: usize);

    /// A gRPC stream is closed.
    fn on_grpc_close(stream: u32);
}

/// What becomes of a request or a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Action {
    /// It goes on.
    Continue = 0,
    /// It waits, or was answered.
    Pause = 1,
}
