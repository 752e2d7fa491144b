//! `Gateway`: an address that a proxy listens on, and the virtual services served there.

use std::net::IpAddr;

use crate::meta::{Meta, ObjectRef};

/// A `Gateway`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gateway {
    /// Its metadata.
    pub meta: Meta,
    /// The address to listen on.
    pub bind_address: IpAddr,
    /// The port to listen on, not zero.
    pub bind_port: u16,
    /// The proxies that open this gateway; at least one (default `gateway-proxy`).
    pub proxy_names: Vec<String>,
    /// The virtual services served here; none means all.
    pub virtual_services: Vec<ObjectRef>,
}
