//! The Envoy that the control server runs: its certificate, its admin and its supervision.

mod admin;
mod identity;
mod levels;
mod log_tail;
mod process;
mod supervisor;

pub(crate) use admin::AdminSocket;
pub(crate) use identity::{Identity, LIFETIME};
pub(crate) use levels::{LogLevels, Raised};
pub(crate) use supervisor::{Supervisor, SupervisorOptions};
