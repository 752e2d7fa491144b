//! The routing goldens on the real Envoy: each case of `testdata/translate` is translated, told to an
//! Envoy, and asked what its `requests.yaml` says.
//!
//! ```text
//!  in.yaml ─▶ Objects ─▶ translate ─▶ xds ─▶ Remapped ─ADS──▶ Envoy ◀── Client ◀── requests.yaml
//!                 └────▶ KeyIndex ─▶ view ──key stream─────▶  │                        │
//!                                     Names (DNS) ◀───────────┤                        │
//!                                     Hosts (in this process) ◀┘ ──Arrival──▶ check ◀───┘
//! ```
//!
//! One Envoy gets one case after the other, as a proxy gets one configuration after the other. What
//! it is told is what translation made, but for the addresses: those of listeners become free ports
//! of the loopback address, and those of upstream hosts become echo servers in this process. Names
//! stay names: Envoy is given a name server that knows them all.
//!
//! The format of `requests.yaml` is described in `testdata/translate/README.md`.

mod case;
mod certificates;
mod check;
mod client;
mod control;
mod envoy;
mod explained;
mod hosts;
mod keys;
mod model;
mod names;
mod objects;
mod pattern;
mod remap;
mod run;
mod serve;
mod told;

pub use case::{Case, folders};
pub use explained::{Disagreement, Untold, explained, untold};
pub use run::Bench;
pub use told::{explanations, told};
