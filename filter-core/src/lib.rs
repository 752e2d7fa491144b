//! The decision of the Keyward filter, free of any host.

pub mod config;
pub mod wire;
