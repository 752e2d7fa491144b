//! Listeners, and the filter chains that a connection is given to by the server name it asks for.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use keyward_resource::ObjectRef;
use keyward_resource::kinds::gateway::{AccessLog, HttpOptions, RouteConfigurationOptions};
use keyward_resource::kinds::ssl::SslParameters;

use super::VirtualHost;

/// An address that the proxy listens on. Without TLS it is opened also when nothing is served there, and
/// answers 404 then: that the proxy is up and configured can be seen from outside. With TLS it is opened
/// when there is a certificate to show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listener {
    /// `listener-<addr>-<port>`.
    pub name: String,
    /// Where.
    pub address: SocketAddr,
    /// The Gateway that it comes from; none for a default Gateway.
    pub gateway: Option<ObjectRef>,
    /// How HTTP is spoken.
    pub http: HttpOptions,
    /// At most so many bytes are kept for a connection that is slow; none for what Envoy does.
    pub buffer_limit: Option<u32>,
    /// The logs of its requests.
    pub access_logs: Vec<AccessLog>,
    /// How all routes are evaluated.
    pub routes: RouteConfigurationOptions,
    /// At least one, sorted by name. Either the only one has no TLS, or all have it.
    pub chains: Vec<Chain>,
}

/// What becomes of the connections that a listener accepts. A chain has its own routes: what is served
/// under the terms of one certificate cannot be reached under those of another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chain {
    /// The name of its route configuration.
    pub name: String,
    /// TLS; none for a chain that takes all connections without.
    pub tls: Option<ChainTls>,
    /// What is served, sorted by name.
    pub virtual_hosts: Vec<Arc<VirtualHost>>,
    /// Host names that are answered with 421 here, sorted: whoever asks for them is to come back on
    /// another connection.
    pub misdirected: Vec<String>,
}

/// Which connections a chain takes, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainTls {
    /// Exact or `*.suffix`, sorted. No two chains of a listener have the same.
    pub server_names: Vec<String>,
    /// Takes also what no other chain takes, with or without a server name. One of a listener at most.
    pub fallback: bool,
    /// How TLS is spoken.
    pub terms: TlsTerms,
}

/// How TLS is spoken with clients. Virtual services with equal terms share a chain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TlsTerms {
    /// The secret with the certificate.
    pub certificate: String,
    /// The secret with the root certificates that the certificates of clients are verified against; none
    /// asks for no certificate.
    pub root_ca: Option<String>,
    /// A client's certificate must have one of these names; none means any.
    pub verify_subject_alt_name: Vec<String>,
    /// Versions, ciphers and curves.
    pub parameters: SslParameters,
    /// What is offered by ALPN, the best first.
    pub alpn: Vec<String>,
    /// Whether a client may take up an earlier session.
    pub session_resumption: bool,
    /// How long a handshake may take; none for no limit of its own.
    pub connect_timeout: Option<Duration>,
}

// === impl Chain ===

impl Chain {
    /// The only chain of a listener without TLS.
    #[must_use]
    pub fn plain(name: String, virtual_hosts: Vec<Arc<VirtualHost>>) -> Self {
        Self { name, tls: None, virtual_hosts, misdirected: Vec::new() }
    }
}

// === impl Listener ===

impl Listener {
    /// A listener with defaults in all the rest, for no Gateway in particular.
    #[must_use]
    pub fn new(name: String, address: SocketAddr, chains: Vec<Chain>) -> Self {
        Self {
            name,
            address,
            gateway: None,
            http: HttpOptions::default(),
            buffer_limit: None,
            access_logs: Vec::new(),
            routes: RouteConfigurationOptions::default(),
            chains,
        }
    }

    /// What is served on all chains.
    pub fn virtual_hosts(&self) -> impl Iterator<Item = &Arc<VirtualHost>> {
        self.chains.iter().flat_map(|chain| &chain.virtual_hosts)
    }
}
