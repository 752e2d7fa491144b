//! Which version of which VirtualService is served where: who owns a domain.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::age;
use super::gateways::Binding;
use super::kind::VIRTUAL_SERVICE;
use crate::input::{Input, LastGood};
use crate::proxy::names;

/// What is served.
pub(super) struct Served {
    /// For each binding, what it serves.
    pub(super) by_binding: Vec<Hosts>,
    /// To be remembered.
    pub(super) last_good: LastGood,
}

/// What one binding serves, sorted by reference.
#[derive(Default)]
pub(super) struct Hosts {
    /// The versions that are served.
    pub(super) good: Vec<Arc<VirtualService>>,
    /// What is left of rejected versions.
    pub(super) closed: Vec<Closed>,
}

/// The domains that a rejected version names and nobody else owns. Nothing is let through there:
/// without an own virtual host they would fall to somebody's wildcard, which may be open.
pub(super) struct Closed {
    /// The VirtualService.
    pub(super) virtual_service: ObjectRef,
    /// At least one.
    pub(super) domains: Vec<String>,
}

/// The domains of one binding and who owns them.
#[derive(Default)]
struct Domains {
    owners: BTreeMap<String, ObjectRef>,
}

/// Gives every domain of every binding to the oldest VirtualService that asks for it.
///
/// A VirtualService that does not get all that it asks for is rejected as a whole. Its last good
/// version goes on where it takes nothing from anybody's current version; so all current versions
/// come first. The domains that nobody has got then are closed.
pub(super) fn choose(
    input: &Input,
    bindings: &[Binding],
    last_good: &LastGood,
    reports: &mut Reports,
) -> Served {
    let mut oldest_first: Vec<&Arc<VirtualService>> = input.virtual_services.values().collect();
    oldest_first.sort_by_key(|virtual_service| age(&virtual_service.meta));

    let mut domains: Vec<Domains> = bindings.iter().map(|_| Domains::default()).collect();
    let mut chosen: BTreeMap<ObjectRef, Arc<VirtualService>> = BTreeMap::new();
    let mut remembered = LastGood::default();
    let mut rejected: Vec<(&VirtualService, ObjectKey)> = Vec::new();
    for virtual_service in oldest_first {
        let reference = virtual_service.meta.object_ref();
        let key = ObjectKey::new(VIRTUAL_SERVICE, &reference.namespace, &reference.name);
        reports.accept(key.clone());
        if !bindings.iter().any(|binding| binding.serves(&reference)) {
            reports.warn(key.clone(), "no Gateway serves it");
        }
        match claim(virtual_service, bindings, &mut domains) {
            Ok(()) => {
                remembered.virtual_services.insert(reference.clone(), Arc::clone(virtual_service));
                chosen.insert(reference, Arc::clone(virtual_service));
            }
            Err(conflicts) => {
                conflicts.into_iter().for_each(|reason| reports.reject(key.clone(), reason));
                rejected.push((virtual_service, key));
            }
        }
    }
    for (virtual_service, key) in &rejected {
        let reference = virtual_service.meta.object_ref();
        let Some(good) = last_good.virtual_services.get(&reference) else { continue };
        remembered.virtual_services.insert(reference.clone(), Arc::clone(good));
        if claim(good, bindings, &mut domains).is_ok() {
            let generation = good.meta.generation;
            let reason = format!("the last good version, generation {generation}, is served instead");
            reports.reject(key.clone(), reason);
            chosen.insert(reference, Arc::clone(good));
        }
    }

    let on = |binding: &Binding| Hosts {
        good: chosen.iter().filter(|(vs, _)| binding.serves(vs)).map(|(_, vs)| Arc::clone(vs)).collect(),
        closed: Vec::new(),
    };
    let mut by_binding: Vec<Hosts> = bindings.iter().map(on).collect();
    for (virtual_service, key) in rejected {
        let mut all = BTreeSet::new();
        for ((binding, hosts), domains) in bindings.iter().zip(&mut by_binding).zip(&mut domains) {
            let closed = domains.rest(virtual_service, binding);
            if !closed.is_empty() {
                all.extend(closed.iter().map(|domain| format!("{domain:?}")));
                let virtual_service = virtual_service.meta.object_ref();
                hosts.closed.push(Closed { virtual_service, domains: closed });
            }
        }
        if !all.is_empty() {
            let all = all.into_iter().collect::<Vec<_>>().join(", ");
            reports.reject(key, format!("its remaining domains are answered with 403: {all}"));
        }
    }
    by_binding
        .iter_mut()
        .for_each(|hosts| hosts.closed.sort_by(|a, b| a.virtual_service.cmp(&b.virtual_service)));
    Served { by_binding, last_good: remembered }
}

/// Takes all domains on all bindings, or none and tells why.
fn claim(
    virtual_service: &VirtualService,
    bindings: &[Binding],
    domains: &mut [Domains],
) -> Result<(), Vec<String>> {
    let reference = virtual_service.meta.object_ref();
    let served = || bindings.iter().enumerate().filter(|(_, binding)| binding.serves(&reference));
    let mut conflicts = Vec::new();
    for (index, binding) in served() {
        let listener = names::listener(binding.address);
        for domain in &virtual_service.domains {
            if let Some(owner) = domains[index].owners.get(domain) {
                conflicts.push(format!(
                    "domain {domain:?} on {listener} of proxy {} belongs to VirtualService {owner}, which is \
                     older",
                    binding.proxy
                ));
            }
        }
    }
    if !conflicts.is_empty() {
        return Err(conflicts);
    }
    for (index, _) in served() {
        for domain in &virtual_service.domains {
            domains[index].owners.insert(domain.clone(), reference.clone());
        }
    }
    Ok(())
}

// === impl Domains ===

impl Domains {
    /// Takes the domains of this virtual service that have no owner yet.
    fn rest(&mut self, virtual_service: &VirtualService, binding: &Binding) -> Vec<String> {
        let reference = virtual_service.meta.object_ref();
        if !binding.serves(&reference) {
            return Vec::new();
        }
        let unowned = |domain: &&String| !self.owners.contains_key(*domain);
        let rest: Vec<String> = virtual_service.domains.iter().filter(unowned).cloned().collect();
        self.owners.extend(rest.iter().map(|domain| (domain.clone(), reference.clone())));
        rest
    }
}
