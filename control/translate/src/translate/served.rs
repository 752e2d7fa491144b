//! Which version of which VirtualService is served where: who owns a domain, and a server name.

mod rounds;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use self::rounds::{Before, Candidate, claim, claim_where_free};
use super::age;
use super::claims::{Claims, Conflict};
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
    /// Those who keep something from who is older, because they had it before.
    pub(super) holders: BTreeSet<ObjectKey>,
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

/// Gives every domain of every chain to the VirtualService that had it before, else to the oldest one that
/// asks for it.
///
/// A VirtualService that does not get all that it asks for is rejected as a whole. Its last good
/// version goes on, and keeps what it has from those who did not have it. The domains that nobody has got
/// then are closed.
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
    let unreadable = input.withheld.iter().filter(|object| {
        object.kind == VIRTUAL_SERVICE && !input.virtual_services.contains_key(&object.object_ref())
    });
    let is_refused = |key: &ObjectKey, good: &Arc<VirtualService>| {
        let itself = input.virtual_services.get(&key.object_ref());
        refused.is_last_good(key)
            || refused.current(key).is_some() && itself.is_some_and(|one| Arc::ptr_eq(one, good))
    };

    let asking: Vec<_> = oldest_first.iter().map(|version| resolve(version, Versions::Current)).collect();
    let mut fallen: BTreeSet<ObjectRef> = unreadable.clone().map(ObjectKey::object_ref).collect();
    let mut candidates = Vec::new();
    for (version, tls) in oldest_first.iter().zip(&asking) {
        let reference = version.meta.object_ref();
        let key = key(&reference);
        match tls {
            Ok(tls) if !input.withheld.contains(&key) && refused.current(&key).is_none() => {
                let terms = tls.as_ref().map(|tls| &tls.terms);
                candidates.push(Candidate { reference, version, terms });
            }
            _ => drop(fallen.insert(reference)),
        }
    }
    // Of who has no last good version nothing is known, as of everybody after a restart. Who has one had
    // nothing but that.
    candidates.sort_by_key(|candidate| last_good.contains_key(&candidate.reference));
    let before = |reference: &ObjectRef| {
        let good = last_good.get(reference).filter(|good| !is_refused(&key(reference), good))?;
        let tls = resolve(good, Versions::LastGood).ok()?;
        Some(Before { version: good, terms: tls.map(|tls| tls.terms) })
    };
    let rounds::Round { mut claims, conflicts } = rounds::settle(&candidates, bindings, fallen, before);

    let mut chosen: BTreeMap<ObjectRef, Chosen> = BTreeMap::new();
    let mut remembered = BTreeMap::new();
    let mut holders = BTreeSet::new();
    let mut rejected: Vec<Rejected<'_>> = Vec::new();
    for (version, tls) in oldest_first.into_iter().zip(asking) {
        let reference = version.meta.object_ref();
        let key = key(&reference);
        reports.accept(key.clone());
        if !bindings.iter().any(|binding| binding.serves(version)) {
            reports.warn(key.clone(), "no Gateway serves it");
        }
        let problems = match &tls {
            _ if input.withheld.contains(&key) => None,
            _ if refused.current(&key).is_some() => refused.current(&key).map(<[String]>::to_vec),
            Err(problem) => Some(vec![format!("sslConfig: {problem}")]),
            Ok(_) => {
                let conflicts = conflicts.get(&reference).into_iter().flatten();
                Some(
                    conflicts.map(|conflict| tell(conflict, version, input, &mut holders, reports)).collect(),
                )
            }
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
    let mut replaced = BTreeSet::new();
    for key in rejected.iter().map(|rejected| &rejected.key).chain(unreadable) {
        let reference = key.object_ref();
        let before = last_good.get(&reference);
        remembered.extend(before.map(|good| (reference.clone(), Arc::clone(good))));
        // What is wrong with a version may be its Secret alone.
        let itself = input.virtual_services.get(&reference).filter(|_| !input.withheld.contains(key));
        let Some(good) = before.or(itself) else { continue };
        if is_refused(key, good) {
            continue;
        }
        let Ok(tls) = resolve(good, Versions::LastGood) else { continue };
        let terms = tls.as_ref().map(|tls| &tls.terms);
        // A version that never was in force is served everywhere or not at all.
        let (taken, left_out) = match before {
            Some(_) => claim_where_free(good, terms, bindings, &mut claims),
            None if claim(good, terms, bindings, &mut claims).is_empty() => (1, 0),
            None => (0, 1),
        };
        if taken > 0 || left_out == 0 {
            remembered.insert(reference.clone(), Arc::clone(good));
            let generation = good.meta.generation;
            let place = if left_out > 0 { " where nobody else has what it asks for" } else { "" };
            let reason = format!("the last good version, generation {generation}, is served instead{place}");
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
    Served { by_binding, secrets, last_good: remembered, replaced, holders }
}

/// Tells the owner of what somebody asks for in vain, and what to say to who does. Notes the owner if its
/// age is not why.
fn tell(
    conflict: &Conflict,
    asking: &VirtualService,
    input: &Input,
    holders: &mut BTreeSet<ObjectKey>,
    reports: &mut Reports,
) -> String {
    let owner = input.virtual_services.get(conflict.owner());
    let is_older = owner.is_some_and(|owner| age(&owner.meta) < age(&asking.meta));
    if owner.is_some() {
        reports.warn(key(conflict.owner()), conflict.of_owner(&asking.meta.object_ref()));
    }
    if owner.is_some() && !is_older {
        holders.insert(key(conflict.owner()));
    }
    conflict.of_asking(is_older)
}

fn key(reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(VIRTUAL_SERVICE, &reference.namespace, &reference.name)
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
