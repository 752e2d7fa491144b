//! Which version of which VirtualService is served where: who owns a domain.

use std::collections::BTreeMap;
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
    /// For each binding, what it serves, sorted by reference.
    pub(super) by_binding: Vec<Vec<Arc<VirtualService>>>,
    /// To be remembered.
    pub(super) last_good: LastGood,
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
/// come first.
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
    let mut rejected = Vec::new();
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
                rejected.push((reference, key));
            }
        }
    }
    for (reference, key) in rejected {
        let Some(good) = last_good.virtual_services.get(&reference) else { continue };
        remembered.virtual_services.insert(reference.clone(), Arc::clone(good));
        if claim(good, bindings, &mut domains).is_ok() {
            let generation = good.meta.generation;
            reports.reject(key, format!("the last good version, generation {generation}, is served instead"));
            chosen.insert(reference, Arc::clone(good));
        }
    }

    let on = |binding: &Binding| {
        chosen.iter().filter(|(vs, _)| binding.serves(vs)).map(|(_, vs)| Arc::clone(vs)).collect()
    };
    Served { by_binding: bindings.iter().map(on).collect(), last_good: remembered }
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
