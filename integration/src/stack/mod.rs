//! A whole Keyward of a test's own: the real control server, the real Envoy, an upstream, on ports
//! and in a folder of their own. Several run side by side. When it is dropped, nothing is left.
//!
//! ```text
//!   test ─ Http1 ──▶ Envoy ──▶ Upstream (in the test, records what arrives)
//!     │                ▲
//!     └─ rest ──▶ keyward serve (supervises the Envoy)
//! ```
//!
//! Everything blocks and has a time limit; every wait is for a predicate and ends in an error that
//! says what was waited for.

mod envoy;
mod http1;
mod launch;
mod plane;
mod ports;
mod process;
mod rest;
mod tap;
mod traffic;
mod upstream;
pub mod wait;

pub use envoy::Proxy;
pub use http1::{Connection, Response};
pub use launch::{Options, Stack};
pub use ports::free_address;
pub use process::Process;
pub use rest::Rest;
pub use tap::Tap;
pub use traffic::{Sample, Traffic};
pub use upstream::{Arrived, TEST_HOLD_HEADER, TEST_ID_HEADER, Upstream};
