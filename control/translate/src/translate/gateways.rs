//! Which Gateways open which address on which proxy.

mod defaults;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use keyward_resource::kinds::gateway::{Gateway, Selection};
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::kind::GATEWAY;
use super::{access_logs, age};
use crate::input::{Input, Settings};
use crate::own;

/// One address of one proxy.
pub(super) struct Binding {
    /// The proxy.
    pub(super) proxy: String,
    /// The address.
    pub(super) address: SocketAddr,
    /// TLS is spoken here.
    pub(super) ssl: bool,
    /// The Gateway; none for a default one.
    pub(super) gateway: Option<Arc<Gateway>>,
    /// It comes from the last good version of a Gateway.
    pub(super) outdated: bool,
    /// The virtual services served here.
    selection: Selection,
}

/// The addresses that are opened.
pub(super) struct Bindings {
    /// Sorted by proxy and address.
    pub(super) all: Vec<Binding>,
    /// To be remembered.
    pub(super) last_good: BTreeMap<ObjectRef, Arc<Gateway>>,
    /// Those who keep an address from who is older, because they had it before.
    pub(super) holders: BTreeSet<ObjectKey>,
}

/// What belongs to whom, and why others do not get what they ask for.
struct Round<'a> {
    owners: Owners<'a>,
    conflicts: BTreeMap<ObjectRef, Vec<Conflict<'a>>>,
}

/// Who has which address: by proxy and port.
#[derive(Default)]
struct Owners<'a> {
    addresses: BTreeMap<(&'a str, u16), Vec<(IpAddr, ObjectRef)>>,
}

/// An address that somebody else has.
struct Conflict<'a> {
    proxy: &'a str,
    owner: ObjectRef,
    address: SocketAddr,
}

/// Gives every address of every proxy to the Gateway that had it before, else to the oldest one that asks
/// for it. A Gateway that does not get all that it asks for is rejected, and so is one that asks for a port
/// of Keyward's own; its last good version stays, and keeps its address from those who did not have it.
pub(super) fn bind(
    input: &Input,
    settings: &Settings,
    last_good: &BTreeMap<ObjectRef, Arc<Gateway>>,
    reports: &mut Reports,
) -> Bindings {
    let withheld = |reference: &ObjectRef| input.withheld.contains(&key(reference));
    let is_own = |gateway: &Gateway| own::binding_problem(&settings.own_ports, address(gateway));
    let unreadable = input.withheld.iter().filter(|object| object.kind == GATEWAY);
    let mut rejected: BTreeSet<ObjectRef> = unreadable.map(ObjectKey::object_ref).collect();
    let mut oldest_first: Vec<(&ObjectRef, &Arc<Gateway>)> = input.gateways.iter().collect();
    oldest_first.sort_by_key(|(_, gateway)| age(&gateway.meta));
    for (reference, gateway) in &oldest_first {
        let key = key(reference);
        reports.accept(key.clone());
        for warning in &gateway.warnings {
            reports.warn(key.clone(), warning);
        }
        for problem in access_logs::problems(gateway, settings) {
            reports.warn(key.clone(), problem);
        }
        let named = gateway.selection.refs().iter();
        for missing in named.filter(|named| !input.virtual_services.contains_key(named)) {
            reports.warn(key.clone(), format!("VirtualService {missing} is not found"));
        }
        if let Some(problem) = is_own(gateway) {
            reports.reject(key, problem);
            rejected.insert((*reference).clone());
        }
    }
    let mut candidates = oldest_first;
    candidates.retain(|(reference, _)| !withheld(reference) && !rejected.contains(reference));
    // Of who has no last good version nothing is known, as of everybody after a restart.
    candidates.sort_by_key(|(reference, _)| last_good.contains_key(reference));
    let before = |reference: &ObjectRef| last_good.get(reference).filter(|good| is_own(good).is_none());
    let Round { mut owners, conflicts } = settle(&candidates, rejected.clone(), before);
    let mut holders = BTreeSet::new();
    let mut used: BTreeMap<ObjectRef, (&Arc<Gateway>, bool)> = BTreeMap::new();
    for (reference, gateway) in candidates {
        let Some(conflicts) = conflicts.get(reference) else {
            used.insert(reference.clone(), (gateway, false));
            continue;
        };
        rejected.insert(reference.clone());
        for conflict in conflicts {
            let owner = input.gateways.get(&conflict.owner);
            let is_older = owner.is_some_and(|owner| age(&owner.meta) < age(&gateway.meta));
            conflict.report(gateway, reference, owner.is_some(), is_older, reports);
            if owner.is_some() && !is_older {
                holders.insert(key(&conflict.owner));
            }
        }
    }
    let mut remembered: BTreeMap<ObjectRef, Arc<Gateway>> =
        used.iter().map(|(reference, (gateway, _))| (reference.clone(), Arc::clone(gateway))).collect();
    for reference in rejected {
        let Some(good) = last_good.get(&reference) else { continue };
        remembered.insert(reference.clone(), Arc::clone(good));
        if is_own(good).is_none() && owners.conflicts(good).is_empty() {
            let generation = good.meta.generation;
            let reason = format!("the last good version, generation {generation}, is served instead");
            reports.reject(key(&reference), reason);
            owners.take(good, &reference, |_| true);
            used.insert(reference, (good, true));
        }
    }
    let mut all: Vec<Binding> =
        used.into_values().flat_map(|(gateway, outdated)| bindings_of(gateway, outdated)).collect();
    defaults::add(&mut all, settings, reports);
    all.sort_by(|a, b| (&a.proxy, a.address).cmp(&(&b.proxy, b.address)));
    Bindings { all, last_good: remembered, holders }
}

/// Gives everything to those who had it before, then to the first who ask. `fallen` are those that are
/// rejected whatever the others ask for; in each round those who were rejected before keep what their last
/// good version has.
fn settle<'a>(
    candidates: &[(&'a ObjectRef, &'a Arc<Gateway>)],
    mut fallen: BTreeSet<ObjectRef>,
    before: impl Fn(&ObjectRef) -> Option<&'a Arc<Gateway>>,
) -> Round<'a> {
    loop {
        let mut held = Owners::default();
        for (reference, gateway) in candidates.iter().filter(|(reference, _)| !fallen.contains(reference)) {
            let same = before(reference).filter(|good| address(good) == address(gateway));
            let had = same.map(|good| proxies(good)).unwrap_or_default();
            held.take(gateway, reference, |proxy| had.contains(proxy));
        }
        for reference in &fallen {
            if let Some(good) = before(reference).filter(|good| held.conflicts(good).is_empty()) {
                held.take(good, reference, |_| true);
            }
        }
        let mut owners = Owners::default();
        let mut all: BTreeMap<ObjectRef, Vec<Conflict<'a>>> = BTreeMap::new();
        for (reference, gateway) in candidates {
            let mut conflicts = owners.conflicts(gateway);
            conflicts.extend(held.conflicts(gateway));
            conflicts.retain(|conflict| conflict.owner != **reference);
            if conflicts.is_empty() {
                owners.take(gateway, reference, |_| true);
            } else {
                all.insert((*reference).clone(), conflicts);
            }
        }
        let known = fallen.len();
        fallen.extend(all.keys().cloned());
        // Each time there is at least one more, so this ends.
        if fallen.len() == known {
            return Round { owners, conflicts: all };
        }
    }
}

/// Says that an address is not opened, because nothing could be said there.
pub(super) fn report_unopened(binding: &Binding, reports: &mut Reports) {
    if let Some(gateway) = &binding.gateway {
        let address = binding.address;
        let reason = format!("{address} is not opened: no VirtualService with a certificate is served there");
        reports.warn(key(&gateway.meta.object_ref()), reason);
    }
}

fn key(reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(GATEWAY, &reference.namespace, &reference.name)
}

fn address(gateway: &Gateway) -> SocketAddr {
    SocketAddr::new(gateway.bind_address, gateway.bind_port)
}

/// Each proxy once.
fn proxies(gateway: &Gateway) -> BTreeSet<&str> {
    gateway.proxy_names.iter().map(String::as_str).collect()
}

fn bindings_of(gateway: &Arc<Gateway>, outdated: bool) -> Vec<Binding> {
    let binding = |proxy: &str| Binding {
        proxy: proxy.to_owned(),
        address: address(gateway),
        ssl: gateway.ssl,
        gateway: Some(Arc::clone(gateway)),
        outdated,
        selection: gateway.selection.clone(),
    };
    proxies(gateway).into_iter().map(binding).collect()
}

/// Whether two addresses with the same port cannot both be listened on: `::` takes IPv4 as well.
fn overlap(a: IpAddr, b: IpAddr) -> bool {
    let covers = |a: IpAddr, b: IpAddr| a.is_unspecified() && (a.is_ipv6() || b.is_ipv4());
    a == b || covers(a, b) || covers(b, a)
}

// === impl Owners ===

impl<'a> Owners<'a> {
    fn conflicts(&self, gateway: &'a Gateway) -> Vec<Conflict<'a>> {
        let on = |proxy: &'a str| {
            let taken = self.addresses.get(&(proxy, gateway.bind_port)).into_iter().flatten();
            let taken = taken.filter(|(ip, _)| overlap(*ip, gateway.bind_address));
            taken.map(move |(ip, owner)| Conflict {
                proxy,
                owner: owner.clone(),
                address: SocketAddr::new(*ip, gateway.bind_port),
            })
        };
        proxies(gateway).into_iter().flat_map(on).collect()
    }

    /// Gives it its address on these proxies.
    fn take(&mut self, gateway: &'a Gateway, reference: &ObjectRef, on: impl Fn(&str) -> bool) {
        for proxy in proxies(gateway).into_iter().filter(|proxy| on(proxy)) {
            let taken = self.addresses.entry((proxy, gateway.bind_port)).or_default();
            taken.push((gateway.bind_address, reference.clone()));
        }
    }
}

// === impl Conflict ===

impl Conflict<'_> {
    /// Tells both sides, if both are there.
    fn report(
        &self,
        gateway: &Gateway,
        reference: &ObjectRef,
        is_owner_there: bool,
        is_owner_older: bool,
        reports: &mut Reports,
    ) {
        let Self { proxy, owner, address: taken } = self;
        let asked = address(gateway);
        let what = format!("bind-address {asked} is not unique in proxy {proxy}");
        let taken = if *taken == asked { String::new() } else { format!(" with {taken}") };
        let (whose, who) = if is_owner_older {
            (format!("the older Gateway {owner}"), "younger ")
        } else {
            (format!("Gateway {owner}, which had it before"), "")
        };
        reports.reject(key(reference), format!("{what}: it belongs{taken} to {whose}"));
        if is_owner_there {
            let asks = format!("the {who}Gateway {reference} asks for it and is rejected");
            reports.warn(key(owner), format!("{what}: {asks}"));
        }
    }
}

// === impl Binding ===

impl Binding {
    /// Whether this virtual service is to be served here.
    pub(super) fn serves(&self, virtual_service: &VirtualService) -> bool {
        self.ssl == virtual_service.ssl_config.is_some() && self.selection.selects(&virtual_service.meta)
    }
}
