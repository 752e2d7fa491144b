//! The Keyward demonstration: the echo upstream and the one-command stack.
//!
//! [`echo`] is an HTTP server that answers with the request as JSON. [`stack`] starts the
//! control server, which supervises Envoy, and the echo upstream as processes of their own, fills
//! the store with the quickstart objects, waits until the gateway answers right, and stops all of
//! it in order.
//!
//! ```text
//! keyward demo up ──▶ keyward serve ──▶ envoy ──┐
//!        │                 ▲                    │ requests
//!        │   REST: quickstart objects           ▼
//!        └───────────────────────▶ keyward demo-upstream
//! ```
//!
//! It is no part of the product: it knows the control server by its command line and its REST API
//! alone, as any user does.

pub mod echo;
pub mod stack;

pub use echo::{UpstreamArgs, run as upstream};
pub use stack::{DemoArgs, run as demo};
