//! What becomes of a request, and why, worked out from what a proxy is told, without sending it.
//!
//! ```text
//!  GET /keyward/v1/served ─▶ Served ─┐
//!  Request, Entry ───────────────────┼─▶ plan ─▶ Plan ──lookups──▶ whoever has the records of keys
//!                                    │             │                         │
//!                                    │             └──────▶ explain ◀── Keys ┘
//!                                    │                         │
//!        entry (listener, chain) ─▶ host, path ─▶ routing ─▶ filters ─▶ Explanation, step by step
//!                                                               │
//!                                                   keyward-filter-core: the filter's own decision
//! ```
//!
//! How Envoy selects a route is modelled here, as far as Keyward's configurations use it. Whether a key is
//! good is not: that is the code which the filter runs. What the model does not know is never passed over:
//! the explanation ends with [`Verdict::Untold`] and says what it is.
//!
//! Pure: no clock, no IO, and no key ever leaves it but as a digest.

mod cors;
mod entry;
mod explain;
mod explanation;
mod filters;
mod headers;
mod host;
mod judge;
mod keys;
mod path;
mod request;
mod routing;
mod served;
mod tell;
mod text;
mod upstream;

pub use entry::{Entry, EntryError};
pub use explain::{Plan, plan};
pub use explanation::{Explanation, Fault, KeySeen, Route, Step, Upstream, Verdict, VirtualHost};
pub use keys::{KeyError, Keys, Lookups, hex, unhex};
pub use request::{Request, RequestError};
pub use served::{Served, ServedError};
