//! Keyward's own ports, to which no gateway may lead.
//!
//! Whoever may write an Upstream may not therefore read every Secret. A caller on this machine may need
//! no token, and the gateway is one:
//!
//! ```text
//! the host is an own address ──────────────────▶ the Upstream is rejected
//! it may be one ─┬─ that asks nobody who they are ─▶ the Upstream is rejected
//!                └─ of the REST API ─┬─ with health checks ─▶ the Upstream is rejected
//!                                    └─ without ────────────▶ requests are marked: they count as nobody's
//! ```
//!
//! The mark is set by the cluster's own HTTP filters. Envoy runs them for every attempt of every request
//! that its router sends, so for retries, mirrored requests and upgrades as well; CONNECT is never
//! enabled. What goes to hosts without them: health checks of any kind, which are why they are refused;
//! connections that are opened early and TLS handshakes, which ask for nothing; outlier detection, which
//! only looks at answers. What a client sends after it asked for an upgrade goes through as it is: the REST
//! API upgrades nothing, and closes a connection after the first marked request on it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

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
    /// How the control server works. It asks as the REST API does.
    Debug,
    /// What the control server holds. It asks as the REST API does.
    Snapshots,
    /// The same under other paths, when the `Settings` say so. It asks as the REST API does.
    DevMode,
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

/// What is wrong with checking the health of a host, if it may be the REST API: the checks are Envoy's own
/// requests, which bear no mark.
pub(crate) fn health_check_problem(ports: &[OwnPort], host: &StaticHost) -> Option<String> {
    let OwnPort { service, .. } = marked(ports).find(|port| port.leads(host) != Leads::Elsewhere)?;
    let (name, flag) = (service.name(), service.flag());
    let otherwise = match &host.addr {
        HostAddr::Dns(_) => "name the host by its address, or give Keyward another port",
        HostAddr::Ip(_) => "or give Keyward one address, or another port,",
    };
    Some(format!(
        "healthChecks: the host {} may turn out to be Keyward's own {name}, which could not tell a health \
         check from a request of this machine: leave healthChecks out, {otherwise} with {flag}",
        shown(host)
    ))
}

/// What is wrong with a gateway that listens here, if it is one of these ports.
pub(crate) fn binding_problem(ports: &[OwnPort], address: SocketAddr) -> Option<String> {
    let port = ports.iter().find(|port| port.is_taken_by(address))?;
    let (name, flag, own) = (port.service.name(), port.service.flag(), port.address);
    let own = if own == address { String::new() } else { format!(", {own}") };
    Some(format!(
        "bind-address {address} is taken by Keyward's own {name}{own}: choose another port, or give Keyward \
         another one with {flag}"
    ))
}

/// Whether a host may be the REST API, or another port that knows requests of a gateway by their mark.
pub(crate) fn may_be_rest(ports: &[OwnPort], host: &StaticHost) -> bool {
    marked(ports).any(|port| port.leads(host) != Leads::Elsewhere)
}

fn marked(ports: &[OwnPort]) -> impl Iterator<Item = &OwnPort> {
    ports.iter().filter(|port| port.service.knows_the_mark())
}

/// The IPv4 address that an IPv6 address stands for, where it does: mapped, compatible, or for a translator
/// of either kind (RFC 4291 section 2.5.5, RFC 6052 section 2.1, RFC 2765 section 2.1).
fn plain(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = ip else { return ip };
    let embeds = match v6.segments() {
        [0, 0, 0, 0, 0, 0, ..] => v6 != Ipv6Addr::LOCALHOST && v6 != Ipv6Addr::UNSPECIFIED,
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => true,
        _ => false,
    };
    let [.., a, b, c, d] = v6.octets();
    if embeds { IpAddr::V4(Ipv4Addr::new(a, b, c, d)) } else { ip }
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
        let own = plain(self.address.ip());
        match &host.addr {
            HostAddr::Ip(ip) => match plain(*ip) {
                ip if ip == own => Leads::There,
                ip if is_this_machine(ip) && is_this_machine(own) => Leads::There,
                _ if own.is_unspecified() => Leads::PerhapsThere,
                _ => Leads::Elsewhere,
            },
            HostAddr::Dns(name) if is_localhost(name) && is_this_machine(own) => Leads::There,
            HostAddr::Dns(_) => Leads::PerhapsThere,
        }
    }

    /// Whether who listens here takes this port, or some of who connects to it.
    fn is_taken_by(&self, address: SocketAddr) -> bool {
        let (own, ip) = (plain(self.address.ip()), plain(address.ip()));
        self.address.port() == address.port() && (own == ip || is_this_machine(own) && is_this_machine(ip))
    }

    fn problem(&self, host: &StaticHost) -> Option<String> {
        let (name, flag, is_guarded) = (self.service.name(), self.service.flag(), self.service.is_guarded());
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

// === impl OwnService ===

impl OwnService {
    fn name(self) -> &'static str {
        match self {
            Self::Rest => "REST API",
            Self::Xds { .. } => "xDS port",
            Self::Admin => "Envoy admin",
            Self::Debug => "debug port",
            Self::Snapshots => "snapshot port",
            Self::DevMode => "dev-mode port",
        }
    }

    /// What chooses another port for it.
    fn flag(self) -> &'static str {
        match self {
            Self::Rest => "--rest",
            Self::Xds { .. } => "--xds",
            Self::Admin => "--admin",
            Self::Debug => "--stats",
            Self::Snapshots => "--snapshots",
            Self::DevMode => "--dev-admin",
        }
    }

    /// Whether it knows requests of a gateway by [`GATEWAY_MARK`].
    fn knows_the_mark(self) -> bool {
        matches!(self, Self::Rest | Self::Debug | Self::Snapshots | Self::DevMode)
    }

    /// Whether it asks who somebody is, even of those who come from a gateway.
    fn is_guarded(self) -> bool {
        match self {
            Self::Rest | Self::Debug | Self::Snapshots | Self::DevMode => true,
            Self::Xds { certified } => certified,
            Self::Admin => false,
        }
    }
}
