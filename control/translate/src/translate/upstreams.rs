//! Which version of which Upstream is used, and the clusters that they make.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::kinds::ssl::Alpn;
use keyward_resource::kinds::upstream::{CircuitBreakers, HostAddr, Protocol, StaticHost, Upstream};
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::kind::UPSTREAM;
use super::tls::{self, Item, Secrets, Versions};
use crate::input::{Input, Settings};
use crate::own::{self, OwnPort};
use crate::proxy::{Cluster, ClusterTls, names};

/// The Upstreams, accepted and not.
pub(super) struct Upstreams {
    standing: BTreeMap<ObjectRef, Standing>,
    used: BTreeMap<ObjectRef, Used>,
    circuit_breakers: CircuitBreakers,
    own_ports: Vec<OwnPort>,
}

/// How an Upstream stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// Its current version is used.
    Accepted,
    /// Its current version is rejected, and the last good one is used.
    LastGood,
    /// No version of it can be used.
    Rejected,
}

/// A version that is used, with the TLS that it is used with.
struct Used {
    version: Arc<Upstream>,
    tls: Option<tls::Upstream>,
}

/// Takes every current version without a mistake, and the last good version of every other Upstream.
pub(super) fn choose(
    input: &Input,
    settings: &Settings,
    secrets: &Secrets<'_>,
    last_good: &BTreeMap<ObjectRef, Arc<Upstream>>,
    reports: &mut Reports,
) -> Upstreams {
    let mut chosen = Upstreams {
        standing: BTreeMap::new(),
        used: BTreeMap::new(),
        circuit_breakers: settings.circuit_breakers.clone(),
        own_ports: settings.own_ports.clone(),
    };
    for (reference, version) in &input.upstreams {
        let key = key(reference);
        reports.accept(key.clone());
        let checked = check(reference, version, settings, secrets, Versions::Current);
        let used = match checked {
            _ if input.withheld.contains(&key) => None,
            Ok(tls) => Some(Used { version: Arc::clone(version), tls }),
            Err(problem) => {
                reports.reject(key.clone(), problem);
                None
            }
        };
        if let Some(used) = used {
            warnings(&used).into_iter().for_each(|warning| reports.warn(key.clone(), warning));
            chosen.standing.insert(reference.clone(), Standing::Accepted);
            chosen.used.insert(reference.clone(), used);
        } else {
            chosen.standing.insert(reference.clone(), Standing::Rejected);
        }
    }
    let unreadable = input.withheld.iter().filter(|object| object.kind == UPSTREAM);
    for object in unreadable {
        chosen.standing.entry(object.object_ref()).or_insert(Standing::Rejected);
    }
    let rejected = chosen.standing.iter_mut().filter(|(_, standing)| **standing == Standing::Rejected);
    for (reference, standing) in rejected {
        // What is wrong with a version may be its Secret alone.
        let itself = input.upstreams.get(reference).filter(|_| !input.withheld.contains(&key(reference)));
        let Some(version) = last_good.get(reference).or(itself) else { continue };
        if let Ok(tls) = check(reference, version, settings, secrets, Versions::LastGood) {
            let generation = version.meta.generation;
            let reason = format!("the last good version, generation {generation}, is used instead");
            reports.reject(key(reference), reason);
            *standing = Standing::LastGood;
            chosen.used.insert(reference.clone(), Used { version: Arc::clone(version), tls });
        }
    }
    chosen
}

fn key(reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(UPSTREAM, &reference.namespace, &reference.name)
}

/// What TLS to it uses, or what is wrong with it.
fn check(
    reference: &ObjectRef,
    version: &Upstream,
    settings: &Settings,
    secrets: &Secrets<'_>,
    versions: Versions,
) -> Result<Option<tls::Upstream>, String> {
    // A cluster of the bootstrap cannot be replaced: Envoy would keep its own, silently, and send
    // the requests of users to the control server.
    if names::cluster(reference) == settings.control_cluster {
        return Err(format!(
            "its cluster would be named {}, as the control server's own: choose another name",
            settings.control_cluster
        ));
    }
    let own_ports = &settings.own_ports;
    if let Some(problem) = version.hosts.iter().find_map(|host| own::problem(own_ports, host)) {
        return Err(problem);
    }
    let is_checked = !version.health_checks.is_empty();
    let mut checked = version.hosts.iter().filter(|_| is_checked);
    if let Some(problem) = checked.find_map(|host| own::health_check_problem(own_ports, host)) {
        return Err(problem);
    }
    let tls = version.tls.as_ref().map(|ssl| secrets.upstream(ssl, versions)).transpose();
    tls.map_err(|problem| format!("sslConfig: {problem}"))
}

fn warnings(used: &Used) -> Vec<String> {
    let mut warnings = used.version.warnings.clone();
    let is_address = |host: &StaticHost| matches!(host.addr, HostAddr::Ip(_));
    if used.version.load_balancer.use_hostname_for_hashing && used.version.hosts.iter().all(is_address) {
        warnings.push(
            "loadBalancerConfig.useHostnameForHashing has no effect: its hosts are addresses and have no names"
                .to_owned(),
        );
    }
    let Some((ssl, tls)) = used.version.tls.as_ref().zip(used.tls.as_ref()) else { return warnings };
    if tls.root_ca.is_none() && !ssl.one_way_tls {
        warnings.push(
            "the certificates of its hosts are not verified: give sslConfig a root CA (ca.crt of a Secret, or \
             rootCa), or say oneWayTls"
                .to_owned(),
        );
    }
    if let (Alpn::These(protocols), Protocol::Http1) = (&ssl.alpn, used.version.protocol)
        && protocols.iter().any(|protocol| protocol == "h2")
    {
        warnings.push(
            "sslConfig.alpnProtocols offers h2, but HTTP/1.1 is spoken: a host that chooses it is not \
             understood; set useHttp2, or leave h2 out"
                .to_owned(),
        );
    }
    warnings
}

// === impl Upstreams ===

impl Upstreams {
    /// What is wrong with a reference to this Upstream.
    pub(super) fn problem(&self, reference: &ObjectRef) -> Option<&'static str> {
        match self.standing.get(reference) {
            Some(Standing::Accepted | Standing::LastGood) => None,
            Some(Standing::Rejected) => Some("is rejected"),
            None => Some("is not found"),
        }
    }

    /// Whether what is used of it is not what it says.
    pub(super) fn is_outdated(&self, reference: &ObjectRef) -> bool {
        self.standing.get(reference) == Some(&Standing::LastGood)
    }

    /// How each that is there stands.
    pub(super) fn standing(&self) -> &BTreeMap<ObjectRef, Standing> {
        &self.standing
    }

    /// To be remembered: what is used.
    pub(super) fn last_good(&self) -> BTreeMap<ObjectRef, Arc<Upstream>> {
        self.used.iter().map(|(reference, used)| (reference.clone(), Arc::clone(&used.version))).collect()
    }

    /// The Secrets that they use.
    pub(super) fn secrets(&self) -> impl Iterator<Item = &Arc<TlsSecret>> {
        self.used.values().filter_map(|used| used.tls.as_ref()?.secret.as_ref())
    }

    /// What TLS uses, each with the Upstream that it is for.
    pub(super) fn items(&self) -> impl Iterator<Item = (&ObjectRef, &Item)> {
        self.used.iter().flat_map(|(reference, used)| {
            let items = used.tls.iter().flat_map(tls::Upstream::items);
            items.map(move |item| (reference, item))
        })
    }

    /// The clusters of all that are used, by name.
    pub(super) fn clusters(&self) -> BTreeMap<String, Cluster> {
        let cluster = |(reference, used): (&ObjectRef, &Used)| {
            let name = names::cluster(reference);
            let tls = used.tls.as_ref().map(|tls| ClusterTls {
                certificate: tls.certificate.as_ref().map(Item::name),
                root_ca: tls.root_ca.as_ref().map(Item::name),
            });
            let (upstream, spec) = (reference.clone(), Arc::clone(&used.version));
            let unset = spec.circuit_breakers == CircuitBreakers::default();
            let breakers = if unset { &self.circuit_breakers } else { &spec.circuit_breakers };
            let is_marked = spec.hosts.iter().any(|host| own::may_be_rest(&self.own_ports, host));
            (
                name.clone(),
                Cluster { name, upstream, circuit_breakers: breakers.clone(), spec, tls, is_marked },
            )
        };
        self.used.iter().map(cluster).collect()
    }
}
