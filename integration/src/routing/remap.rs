//! Puts real addresses in place of those of a case, and changes nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context as _, ensure};
use envoy_types::pb::envoy::config::cluster::v3::Cluster;
use envoy_types::pb::envoy::config::core::v3::socket_address::PortSpecifier;
use envoy_types::pb::envoy::config::core::v3::{Address, SocketAddress, address, data_source};
use envoy_types::pb::envoy::config::endpoint::v3::lb_endpoint::HostIdentifier;
use envoy_types::pb::envoy::config::endpoint::v3::{ClusterLoadAssignment, Endpoint};
use envoy_types::pb::envoy::config::listener::v3::Listener;
use envoy_types::pb::envoy::extensions::transport_sockets::tls::v3::{Secret, secret};
use keyward_translate::XdsResources;
use keyward_translate::xds::{CLUSTER, ENDPOINT, LISTENER, SECRET};
use keyward_xds::{Resource, Snapshot};
use prost::Message as _;

/// Where the listeners of a case really are, by the address that the case says.
#[derive(Debug, Default)]
pub(super) struct Ports {
    given: BTreeMap<String, SocketAddr>,
}

fn socket(address: Option<&mut Address>) -> Option<&mut SocketAddress> {
    match address?.address.as_mut()? {
        address::Address::SocketAddress(socket) => Some(socket),
        _ => None,
    }
}

/// `address:port`, as cases write it.
fn name(socket: &SocketAddress) -> Option<String> {
    let Some(PortSpecifier::PortValue(port)) = socket.port_specifier else { return None };
    let address = &socket.address;
    Some(if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") })
}

fn endpoints(assignment: Option<&mut ClusterLoadAssignment>) -> impl Iterator<Item = &mut Endpoint> {
    let localities = assignment.into_iter().flat_map(|assignment| &mut assignment.endpoints);
    localities.flat_map(|locality| &mut locality.lb_endpoints).filter_map(|endpoint| {
        match endpoint.host_identifier.as_mut()? {
            HostIdentifier::Endpoint(endpoint) => Some(endpoint),
            HostIdentifier::EndpointName(_) => None,
        }
    })
}

/// The hosts of all upstreams.
pub(super) fn hosts(resources: &XdsResources) -> anyhow::Result<BTreeSet<String>> {
    let mut hosts = BTreeSet::new();
    let mut take =
        |endpoint: &mut Endpoint| hosts.extend(socket(endpoint.address.as_mut()).and_then(|at| name(at)));
    for cluster in &resources.clusters {
        let mut cluster = Cluster::decode(cluster.bytes.clone())?;
        endpoints(cluster.load_assignment.as_mut()).for_each(&mut take);
    }
    for assignment in &resources.endpoints {
        let mut assignment = ClusterLoadAssignment::decode(assignment.bytes.clone())?;
        endpoints(Some(&mut assignment)).for_each(&mut take);
    }
    Ok(hosts)
}

/// Names stay names, since they are resolved to this machine; only their port is changed.
fn move_hosts(
    assignment: Option<&mut ClusterLoadAssignment>,
    hosts: &BTreeMap<String, SocketAddr>,
) -> anyhow::Result<()> {
    for endpoint in endpoints(assignment) {
        let Some(at) = socket(endpoint.address.as_mut()) else { continue };
        let Some(name) = name(at) else { continue };
        let real = hosts.get(&name).with_context(|| format!("nobody plays {name}"))?;
        if at.address.parse::<std::net::IpAddr>().is_ok() {
            at.address = real.ip().to_string();
        }
        at.port_specifier = Some(PortSpecifier::PortValue(real.port().into()));
    }
    Ok(())
}

/// Files of `/testdata` are those of this checkout.
fn move_files(secret: &mut Secret) {
    let (sources, folder) = match secret.r#type.as_mut() {
        Some(secret::Type::TlsCertificate(certificate)) => (
            vec![certificate.certificate_chain.as_mut(), certificate.private_key.as_mut()],
            certificate.watched_directory.as_mut(),
        ),
        Some(secret::Type::ValidationContext(context)) => {
            (vec![context.trusted_ca.as_mut()], context.watched_directory.as_mut())
        }
        _ => return,
    };
    let files = sources.into_iter().flatten().flat_map(|source| {
        let watched = source.watched_directory.as_mut().map(|folder| &mut folder.path);
        let named = match source.specifier.as_mut() {
            Some(data_source::Specifier::Filename(name)) => Some(name),
            _ => None,
        };
        watched.into_iter().chain(named)
    });
    for path in files.chain(folder.map(|folder| &mut folder.path)) {
        if let Some(rest) = path.strip_prefix("/testdata/") {
            *path = crate::paths::testdata(rest).display().to_string();
        }
    }
}

/// Where the hosts of each cluster are once their names are resolved, by the name of the cluster.
/// Nobody resolves names under `invalid`.
pub(super) fn resolved(snapshot: &Snapshot) -> anyhow::Result<BTreeMap<String, BTreeSet<SocketAddr>>> {
    let mut addresses: BTreeMap<String, BTreeSet<SocketAddr>> = BTreeMap::new();
    let mut take = |cluster: &str, assignment: Option<&mut ClusterLoadAssignment>| {
        let places = endpoints(assignment).filter_map(|endpoint| {
            let at = socket(endpoint.address.as_mut())?;
            let Some(PortSpecifier::PortValue(port)) = at.port_specifier else { return None };
            let port = u16::try_from(port).ok()?;
            let address = match at.address.parse() {
                Ok(address) => address,
                Err(_) if at.address.ends_with(".invalid") => return None,
                Err(_) => Ipv4Addr::LOCALHOST.into(),
            };
            Some(SocketAddr::new(address, port))
        });
        addresses.entry(cluster.to_owned()).or_default().extend(places);
    };
    for resource in snapshot.resources(CLUSTER) {
        let mut cluster = Cluster::decode(resource.body().clone())?;
        take(&cluster.name, cluster.load_assignment.as_mut());
        let service = cluster.eds_cluster_config.map(|eds| eds.service_name).unwrap_or_default();
        let service = if service.is_empty() { cluster.name.as_str() } else { service.as_str() };
        if let Some(resource) = snapshot.resources(ENDPOINT).find(|resource| **resource.name() == *service) {
            take(&cluster.name, Some(&mut ClusterLoadAssignment::decode(resource.body().clone())?));
        }
    }
    Ok(addresses)
}

/// The snapshot of a proxy with real addresses, and where its listeners are, by their names.
pub(super) fn snapshot(
    resources: &XdsResources,
    hosts: &BTreeMap<String, SocketAddr>,
    ports: &mut Ports,
) -> anyhow::Result<(Snapshot, BTreeMap<String, SocketAddr>)> {
    let mut builder = Snapshot::builder();
    let mut listeners = BTreeMap::new();
    for encoded in resources.iter() {
        // Whatever is served can be shown, too.
        let shown = keyward_admin::xds::resource(encoded.type_url, &encoded.bytes).to_string();
        ensure!(
            !shown.contains("\"unreadable\"") && !shown.contains("of the unknown type"),
            "the debugging ports cannot show {} {}: scripts/xds-descriptors.py lacks a file: {shown}",
            encoded.type_url,
            encoded.name
        );
        let bytes = match encoded.type_url {
            CLUSTER => {
                let mut cluster = Cluster::decode(encoded.bytes.clone())?;
                move_hosts(cluster.load_assignment.as_mut(), hosts)?;
                cluster.encode_to_vec().into()
            }
            ENDPOINT => {
                let mut assignment = ClusterLoadAssignment::decode(encoded.bytes.clone())?;
                move_hosts(Some(&mut assignment), hosts)?;
                assignment.encode_to_vec().into()
            }
            LISTENER => {
                let mut listener = Listener::decode(encoded.bytes.clone())?;
                let socket = socket(listener.address.as_mut()).context("a listener without an address")?;
                listeners.insert(encoded.name.clone(), ports.take(socket)?);
                listener.encode_to_vec().into()
            }
            SECRET => {
                let mut secret = Secret::decode(encoded.bytes.clone())?;
                move_files(&mut secret);
                secret.encode_to_vec().into()
            }
            _ => encoded.bytes.clone(),
        };
        let mut resource = Resource::new(encoded.type_url, encoded.name.as_str(), bytes);
        if encoded.type_url == CLUSTER
            && let Some(endpoints) = resources.endpoints_of_cluster.get(&encoded.name)
        {
            resource = resource.rewarming(ENDPOINT, endpoints.as_str());
        }
        builder = builder.insert_resource(resource);
    }
    Ok((builder.build(), listeners))
}

// === impl Ports ===

impl Ports {
    /// Moves an address to a port of the loopback address, always the same one.
    fn take(&mut self, socket: &mut SocketAddress) -> anyhow::Result<SocketAddr> {
        let name = name(socket).context("a listener without a port")?;
        let real = match self.given.get(&name) {
            Some(real) => *real,
            None => *self.given.entry(name).or_insert(crate::stack::free_address()?),
        };
        socket.address = real.ip().to_string();
        socket.port_specifier = Some(PortSpecifier::PortValue(real.port().into()));
        socket.ipv4_compat = false;
        Ok(real)
    }
}
