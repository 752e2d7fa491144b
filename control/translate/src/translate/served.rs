//! Which version of which VirtualService is served where: who owns a domain, and a server name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::age;
use super::claims::Claims;
use super::gateways::Binding;
use super::kind::VIRTUAL_SERVICE;
use super::refused::Refused;
use super::tls::{self, Downstream, Item, Secrets, Versions};
use crate::input::{Input, Settings};
use crate::proxy::{Chain, ChainTls, TlsTerms, VirtualHost, names};

/// What is served.
pub(super) struct Served {
    /// For each binding, what it serves on each of its chains.
    pub(super) by_binding: Vec<Vec<ChainHosts>>,
    /// The Secrets that it is served with.
    pub(super) secrets: BTreeMap<ObjectRef, Arc<TlsSecret>>,
    /// The virtual services of which the last good version is served.
    pub(super) replaced: BTreeSet<ObjectRef>,
    /// To be remembered.
    pub(super) last_good: BTreeMap<ObjectRef, Arc<VirtualService>>,
}

/// What one chain serves, sorted by reference.
#[derive(Default)]
pub(super) struct ChainHosts {
    /// TLS; none without.
    pub(super) tls: Option<ChainTls>,
    /// What TLS needs.
    pub(super) items: Vec<Item>,
    /// The versions that are served.
    pub(super) good: Vec<Arc<VirtualService>>,
    /// What is left of rejected versions.
    pub(super) closed: Vec<Closed>,
    /// The domains that are answered with 421.
    pub(super) misdirected: Vec<String>,
}

/// The domains that a rejected version names and nobody else owns. Nothing is let through there:
/// without an own virtual host they would fall to somebody's wildcard, which may be open.
pub(super) struct Closed {
    /// The VirtualService.
    pub(super) virtual_service: ObjectRef,
    /// At least one.
    pub(super) domains: Vec<String>,
}

/// A version that is served, with the TLS that it is served with.
struct Chosen {
    version: Arc<VirtualService>,
    tls: Option<Downstream>,
}

/// A version that is not served.
struct Rejected<'a> {
    version: &'a VirtualService,
    key: ObjectKey,
    tls: Option<Downstream>,
    /// Whether there is TLS as it asks for.
    complete: bool,
}

/// Gives every domain of every chain to the oldest VirtualService that asks for it.
///
/// A VirtualService that does not get all that it asks for is rejected as a whole. Its last good
/// version goes on where it takes nothing from anybody's current version; so all current versions
/// come first. The domains that nobody has got then are closed.
pub(super) fn choose(
    input: &Input,
    settings: &Settings,
    bindings: &[Binding],
    secrets: &Secrets<'_>,
    refused: &Refused,
    last_good: &BTreeMap<ObjectRef, Arc<VirtualService>>,
    reports: &mut Reports,
) -> Served {
    let mut oldest_first: Vec<&Arc<VirtualService>> = input.virtual_services.values().collect();
    oldest_first.sort_by_key(|virtual_service| age(&virtual_service.meta));
    let resolve = |version: &VirtualService, versions| {
        let ssl = version.ssl_config.as_ref();
        ssl.map(|ssl| secrets.downstream(ssl, settings.one_way_tls, versions)).transpose()
    };

    let mut claims: Vec<Claims> = bindings.iter().map(|_| Claims::default()).collect();
    let mut chosen: BTreeMap<ObjectRef, Chosen> = BTreeMap::new();
    let mut remembered = BTreeMap::new();
    let mut rejected: Vec<Rejected<'_>> = Vec::new();
    for version in oldest_first {
        let reference = version.meta.object_ref();
        let key = ObjectKey::new(VIRTUAL_SERVICE, &reference.namespace, &reference.name);
        reports.accept(key.clone());
        if !bindings.iter().any(|binding| binding.serves(version)) {
            reports.warn(key.clone(), "no Gateway serves it");
        }
        let tls = resolve(version, Versions::Current);
        let problems = match &tls {
            _ if input.withheld.contains(&key) => None,
            _ if refused.current(&key).is_some() => refused.current(&key).map(<[String]>::to_vec),
            Err(problem) => Some(vec![format!("sslConfig: {problem}")]),
            Ok(tls) => Some(claim(version, tls.as_ref(), bindings, &mut claims)),
        };
        if problems.as_ref().is_some_and(Vec::is_empty) {
            remembered.insert(reference.clone(), Arc::clone(version));
            chosen.insert(reference, Chosen { version: Arc::clone(version), tls: tls.ok().flatten() });
        } else {
            problems.into_iter().flatten().for_each(|reason| reports.reject(key.clone(), reason));
            // Others may have brought its chain back.
            let tls = tls.or_else(|_| resolve(version, Versions::LastGood));
            let complete = tls.is_ok();
            rejected.push(Rejected { version, key, tls: tls.ok().flatten(), complete });
        }
    }
    let unreadable = input.withheld.iter().filter(|object| {
        object.kind == VIRTUAL_SERVICE && !input.virtual_services.contains_key(&object.object_ref())
    });
    let mut replaced = BTreeSet::new();
    for key in rejected.iter().map(|rejected| &rejected.key).chain(unreadable) {
        let reference = key.object_ref();
        let before = last_good.get(&reference);
        remembered.extend(before.map(|good| (reference.clone(), Arc::clone(good))));
        // What is wrong with a version may be its Secret alone.
        let itself = input.virtual_services.get(&reference).filter(|_| !input.withheld.contains(key));
        let Some(good) = before.or(itself) else { continue };
        let is_refused = refused.current(key).is_some() && itself.is_some_and(|one| Arc::ptr_eq(one, good));
        if is_refused || refused.is_last_good(key) {
            continue;
        }
        let Ok(tls) = resolve(good, Versions::LastGood) else { continue };
        if claim(good, tls.as_ref(), bindings, &mut claims).is_empty() {
            remembered.insert(reference.clone(), Arc::clone(good));
            let generation = good.meta.generation;
            let reason = format!("the last good version, generation {generation}, is served instead");
            reports.reject(key.clone(), reason);
            replaced.insert(reference.clone());
            chosen.insert(reference, Chosen { version: Arc::clone(good), tls });
        }
    }
    let mut by_binding = chains(bindings, &chosen, &claims);
    close(bindings, &rejected, &mut claims, &mut by_binding, reports);
    let left_out = chosen.values().filter(|chosen| !replaced.contains(&chosen.version.meta.object_ref()));
    for Chosen { version, tls } in left_out {
        close_one(bindings, version, tls.as_ref(), &mut claims, &mut by_binding);
    }
    let chains = by_binding.iter_mut().flatten();
    chains.for_each(|chain| chain.closed.sort_by(|a, b| a.virtual_service.cmp(&b.virtual_service)));
    for (claims, chains) in claims.iter().zip(&mut by_binding) {
        for chain in chains {
            chain.misdirected =
                chain.tls.as_ref().map(|tls| claims.misdirected(&tls.terms)).unwrap_or_default();
        }
    }
    let secrets = tls::used(chosen.values().filter_map(|chosen| chosen.tls.as_ref()?.secret.as_ref()));
    Served { by_binding, secrets, last_good: remembered, replaced }
}

/// Takes everything on all bindings, or nothing and tells why. What is opened for the last good version of
/// a Gateway does not count: nobody is to suffer from what somebody else got wrong.
fn claim(
    version: &VirtualService,
    tls: Option<&Downstream>,
    bindings: &[Binding],
    claims: &mut [Claims],
) -> Vec<String> {
    let terms = tls.map(|tls| &tls.terms);
    let mut served: Vec<(&Binding, &mut Claims)> =
        bindings.iter().zip(claims).filter(|(binding, _)| binding.serves(version)).collect();
    let of_current = served.iter().filter(|(binding, _)| !binding.outdated);
    let conflicts: Vec<String> =
        of_current.flat_map(|(binding, claims)| claims.conflicts(version, terms, binding)).collect();
    if conflicts.is_empty() {
        for (binding, claims) in &mut served {
            if !binding.outdated || claims.conflicts(version, terms, binding).is_empty() {
                claims.take(version, terms);
            }
        }
    }
    conflicts
}

/// What is served on each chain of each binding.
fn chains(
    bindings: &[Binding],
    chosen: &BTreeMap<ObjectRef, Chosen>,
    claims: &[Claims],
) -> Vec<Vec<ChainHosts>> {
    let chains_of =
        |(binding, claims): (&Binding, &Claims)| {
            let mut chains: BTreeMap<Option<&TlsTerms>, ChainHosts> = BTreeMap::new();
            let with_tls = claims.tls_chains();
            chains.extend(with_tls.iter().map(|tls| {
                (Some(&tls.terms), ChainHosts { tls: Some(tls.clone()), ..ChainHosts::default() })
            }));
            if !binding.ssl {
                chains.insert(None, ChainHosts::default());
            }
            for Chosen { version, tls } in chosen.values().filter(|chosen| binding.serves(&chosen.version)) {
                let terms = tls.as_ref().map(|tls| &tls.terms);
                let Some(chain) = chains.get_mut(&terms).filter(|_| claims.hold(version, terms)) else {
                    continue;
                };
                chain.good.push(Arc::clone(version));
                if let Some(tls) = tls {
                    chain.items.clone_from(&tls.items);
                }
            }
            chains.into_values().collect()
        };
    bindings.iter().zip(claims).map(chains_of).collect()
}

/// Closes what is left of rejected versions.
fn close(
    bindings: &[Binding],
    rejected: &[Rejected<'_>],
    claims: &mut [Claims],
    by_binding: &mut [Vec<ChainHosts>],
    reports: &mut Reports,
) {
    for Rejected { version, key, tls, complete } in rejected {
        let served = bindings.iter().zip(&mut *claims).filter(|(binding, _)| binding.serves(version));
        served.for_each(|(_, claims)| claims.ask(version));
        // Without its certificate there is no chain on which it could be reached.
        if *complete {
            let all = close_one(bindings, version, tls.as_ref(), claims, by_binding);
            if !all.is_empty() {
                let all = all.into_iter().collect::<Vec<_>>().join(", ");
                reports.reject(key.clone(), format!("its remaining domains are answered with 403: {all}"));
            }
        }
    }
}

/// Closes what of its domains nobody has.
fn close_one(
    bindings: &[Binding],
    version: &VirtualService,
    tls: Option<&Downstream>,
    claims: &mut [Claims],
    by_binding: &mut [Vec<ChainHosts>],
) -> BTreeSet<String> {
    let terms = tls.map(|tls| &tls.terms);
    let mut all = BTreeSet::new();
    let places = bindings.iter().zip(claims).zip(by_binding);
    for ((_, claims), chains) in places.filter(|((binding, _), _)| binding.serves(version)) {
        let domains = claims.rest(version, terms);
        let chain = chains.iter_mut().find(|chain| chain.tls.as_ref().map(|tls| &tls.terms) == terms);
        if let (Some(chain), false) = (chain, domains.is_empty()) {
            all.extend(domains.iter().map(|domain| format!("{domain:?}")));
            chain.closed.push(Closed { virtual_service: version.meta.object_ref(), domains });
        }
    }
    all
}

// === impl ChainHosts ===

impl ChainHosts {
    /// The chain of this listener that serves these virtual hosts.
    pub(super) fn chain(&self, listener: &str, mut virtual_hosts: Vec<Arc<VirtualHost>>) -> Chain {
        virtual_hosts.sort_by(|a, b| a.name.cmp(&b.name));
        let name = match &self.tls {
            Some(ChainTls { server_names, fallback: false, .. }) => {
                let first = server_names.first().map_or("", String::as_str);
                names::route_config_of(listener, first)
            }
            _ => names::route_config(listener),
        };
        Chain { name, tls: self.tls.clone(), virtual_hosts, misdirected: self.misdirected.clone() }
    }
}
