//! Keyward's own ports, to which no gateway may lead.
//!
//! Whoever may write an Upstream may not therefore read every Secret. A caller on this machine may need
//! no token, and the gateway is one:
//!
//! ```text
//! the host is an own address ──────────────────▶ the Upstream is rejected
//! it may be one ─┬─ that asks nobody who they are ─▶ the Upstream is rejected
//!                └─ of the REST API ────────────────▶ requests are marked: they count as nobody's
//! ```

use std::net::{IpAddr, SocketAddr};

use keyward_resource::kinds::upstream::{HostAddr, StaticHost};

#[cfg(test)]
mod tests;

/// The header that every request has which a gateway sends to a host that may be the REST API. It is
/// set behind everything that a route can say, so no route can take it away.
pub const GATEWAY_MARK: &str = "x-keyward-gateway";

/// A port of the control server or of an Envoy of its.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OwnPort {
    /// Where it listens.
    pub address: SocketAddr,
    /// What it is.
    pub service: OwnService,
}

/// What is behind a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnService {
    /// The REST API. It knows requests of a gateway by [`GATEWAY_MARK`].
    Rest,
    /// xDS and the key stream.
    Xds {
        /// Whether proxies have to show certificates.
        certified: bool,
    },
    /// Envoy's own admin.
    Admin,
}

/// Whether a host is a port of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leads {
    There,
    /// A name may be resolved to any address, and a port on all addresses has some that are not known.
    PerhapsThere,
    Elsewhere,
}

/// What is wrong with a host, if it leads to one of these ports.
pub(crate) fn problem(ports: &[OwnPort], host: &StaticHost) -> Option<String> {
    ports.iter().find_map(|port| port.problem(host))
}

/// Whether a host may be the REST API.
pub(crate) fn may_be_rest(ports: &[OwnPort], host: &StaticHost) -> bool {
    let mut rest = ports.iter().filter(|port| port.service == OwnService::Rest);
    rest.any(|port| port.leads(host) != Leads::Elsewhere)
}

fn is_this_machine(ip: IpAddr) -> bool {
    // Whoever connects to the unspecified address is connected to the loopback address.
    ip.is_loopback() || ip.is_unspecified()
}

/// A name that is resolved to the loopback address everywhere (RFC 6761 section 6.3).
fn is_localhost(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name == "localhost" || name.ends_with(".localhost")
}

fn shown(host: &StaticHost) -> String {
    match &host.addr {
        HostAddr::Ip(ip) => SocketAddr::new(*ip, host.port).to_string(),
        HostAddr::Dns(name) => format!("{name}:{}", host.port),
    }
}

// === impl OwnPort ===

impl OwnPort {
    fn leads(&self, host: &StaticHost) -> Leads {
        if host.port != self.address.port() {
            return Leads::Elsewhere;
        }
        let own = self.address.ip().to_canonical();
        match &host.addr {
            HostAddr::Ip(ip) => match ip.to_canonical() {
                ip if ip == own => Leads::There,
                ip if is_this_machine(ip) && is_this_machine(own) => Leads::There,
                _ if own.is_unspecified() => Leads::PerhapsThere,
                _ => Leads::Elsewhere,
            },
            HostAddr::Dns(name) if is_localhost(name) && is_this_machine(own) => Leads::There,
            HostAddr::Dns(_) => Leads::PerhapsThere,
        }
    }

    fn problem(&self, host: &StaticHost) -> Option<String> {
        let (name, flag, is_guarded) = match self.service {
            OwnService::Rest => ("REST API", "--rest", true),
            OwnService::Xds { certified } => ("xDS port", "--xds", certified),
            OwnService::Admin => ("Envoy admin", "--admin", false),
        };
        let host_name = shown(host);
        match (self.leads(host), &host.addr) {
            (Leads::There, _) => {
                Some(format!("the host {host_name} is Keyward's own {name}; a gateway must not serve it"))
            }
            (Leads::PerhapsThere, _) if is_guarded => None,
            (Leads::PerhapsThere, HostAddr::Dns(_)) => Some(format!(
                "the host {host_name} may turn out to be Keyward's own {name}, which asks nobody who they are; \
                 a gateway must not serve it: name the host by its address, or give Keyward another port with \
                 {flag}"
            )),
            (Leads::PerhapsThere, HostAddr::Ip(_)) => Some(format!(
                "the host {host_name} may turn out to be Keyward's own {name}, which listens on all addresses \
                 and asks nobody who they are; a gateway must not serve it: give Keyward one address, or \
                 another port, with {flag}"
            )),
            (Leads::Elsewhere, _) => None,
        }
    }
}
