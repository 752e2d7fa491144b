//! `Upstream`: where requests go.

use std::net::IpAddr;

use crate::meta::Meta;

/// An `Upstream` with static hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its metadata.
    pub meta: Meta,
    /// `spec.static.hosts`, at least one.
    pub hosts: Vec<StaticHost>,
}

/// One static host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StaticHost {
    /// Where it is.
    pub addr: HostAddr,
    /// Its port, not zero.
    pub port: u16,
}

/// A host by address or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostAddr {
    /// An IP address.
    Ip(IpAddr),
    /// A DNS name in lower case, resolved by the proxy.
    Dns(String),
}
