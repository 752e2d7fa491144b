//! Pure translation of resources into what Envoy is told.
//!
//! ```text
//! Gateway ─┐                                       ┌─▶ Reports (what the status of each object says)
//! VirtualService ─┐                                │
//! Upstream ───────┼─▶ translate() ─▶ Output ───────┼─▶ Proxy, one per node role
//! AuthConfig ─────┘        ▲           │           └─▶ LastGood
//!                          └─ LastGood ┘
//! Proxy + FilterCode ─▶ xds() ─▶ XdsResources: listeners, routes, clusters, endpoints, extensions
//! ```
//!
//! It is not a store, not an xDS server and holds no state: no clock, no IO, no randomness. The same
//! input gives the same bytes. A broken object is reported and left out; its neighbours are served.

mod input;
mod own;
pub mod proxy;
mod translate;
pub mod xds;

pub use input::{Input, LastGood, Output, Routing, Settings, Version};
pub use own::{GATEWAY_MARK, OwnPort, OwnService};
pub use translate::{Translator, translate};
pub use xds::{Blame, Encoded, Encoder, FilterCode, XdsResources, filter_config, misconfigured_node, xds};
