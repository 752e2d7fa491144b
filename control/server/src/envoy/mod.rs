//! The Envoy that the control server runs: its bootstrap configuration and its supervision.

mod bootstrap;
mod log_tail;
mod process;
mod supervisor;

pub(crate) use bootstrap::BootstrapOptions;
pub(crate) use supervisor::{Supervisor, SupervisorOptions};
