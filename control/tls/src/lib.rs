//! TLS ports.
//!
//! ```text
//! files ──read, compare──▶ Material ─▶ TlsConfig (the one in force)
//!                                          │
//! TcpListener ─▶ TlsListener ─ handshake ──┴─▶ Connection { who, until when } ─▶ axum, tonic
//! ```
//!
//! Certificates are taken up when their files change, without a restart; files that cannot be used
//! leave the last good ones in force. Where clients need certificates, a [`Connection`] knows whose
//! it is, and it ends when that certificate does, or when what is trusted has changed.
//!
//! What it is not: it makes no certificates, and does not say what somebody may do.

mod config;
mod connection;
mod error;
mod listener;
mod material;

pub use config::TlsConfig;
pub use connection::{Connection, Peer};
pub use error::TlsError;
pub use listener::TlsListener;
pub use material::{Clients, TlsFiles};
