//! The Envoy that the control server runs: its certificate and its supervision.

mod identity;
mod log_tail;
mod process;
mod supervisor;

pub(crate) use identity::{Identity, LIFETIME};
pub(crate) use supervisor::{Supervisor, SupervisorOptions};
