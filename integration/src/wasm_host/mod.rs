//! A proxy-wasm host (ABI 0.2.1) on wasmtime, for the very `.wasm` that Envoy loads.
//!
//! It is a stateful fake, not a script of hostcalls: it keeps headers, gRPC streams, metrics and
//! time as Envoy does, and tests look at what came out. Where Envoy has a peculiarity that the
//! filter meets (only the first value of a repeated header is read, an empty value is a null
//! pointer, a local reply runs the response callback, capabilities that are not listed fail), the
//! host has it too.
//!
//! ```text
//!   test ── Vm::request / grpc_message / advance ──▶ guest callbacks ──▶ hostcalls ──┐
//!     ▲                                                                              ▼
//!     └────────── Exchange, metrics, sent messages, logs ◀──────────────────── HostState
//! ```

mod capabilities;
mod exchange;
mod grpc;
mod guest;
mod hostcalls;
mod hostcalls_http;
mod metrics;
mod module;
mod state;
mod streams;
mod vm;
mod wasi;

pub use exchange::{Exchange, Outcome};
pub use grpc::{GrpcMode, GrpcStream};
pub use module::Host;
pub use state::LocalReply;
pub use vm::Vm;

/// The result codes of hostcalls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// Done.
    Ok = 0,
    /// There is no such thing.
    NotFound = 1,
    /// An argument has no meaning.
    BadArgument = 2,
    /// The upstream of a gRPC call cannot be read, or is not a known cluster.
    ParseFailure = 4,
    /// The host failed, or the hostcall is not on the capability list.
    InternalFailure = 10,
    /// The host does not have this hostcall.
    Unimplemented = 12,
}
