//! Access to a running control server: TLS, tokens, and what it refuses to open.

mod kit;
mod refusals;
mod roles;
mod tls;
