//! Which Gateways open which address on which proxy.

mod defaults;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use keyward_resource::kinds::gateway::{Gateway, Selection};
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::age;
use super::kind::GATEWAY;
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

/// Gives every address of every proxy to the oldest Gateway that asks for it. A Gateway that does not
/// get all that it asks for is rejected, and so is one that asks for a port of Keyward's own; its last good
/// version stays, where it takes nothing from anybody's current one.
pub(super) fn bind(
    input: &Input,
    settings: &Settings,
    last_good: &BTreeMap<ObjectRef, Arc<Gateway>>,
    reports: &mut Reports,
) -> Bindings {
    let withheld = |reference: &ObjectRef| input.withheld.contains(&key(reference));
    let unreadable = input.withheld.iter().filter(|object| object.kind == GATEWAY);
    let unreadable: Vec<ObjectRef> = unreadable.map(ObjectKey::object_ref).collect();
    let mut oldest_first: Vec<(&ObjectRef, &Arc<Gateway>)> = input.gateways.iter().collect();
    oldest_first.sort_by_key(|(_, gateway)| age(&gateway.meta));

    let mut owners = Owners::default();
    let mut used: BTreeMap<ObjectRef, (&Arc<Gateway>, bool)> = BTreeMap::new();
    let mut rejected: BTreeSet<ObjectRef> = unreadable.into_iter().collect();
    for (reference, gateway) in oldest_first {
        let key = key(reference);
        reports.accept(key.clone());
        for warning in &gateway.warnings {
            reports.warn(key.clone(), warning);
        }
        let named = gateway.selection.refs().iter();
        for missing in named.filter(|named| !input.virtual_services.contains_key(named)) {
            reports.warn(key.clone(), format!("VirtualService {missing} is not found"));
        }
        let conflicts = owners.conflicts(gateway);
        let problem = own::binding_problem(&settings.own_ports, address(gateway));
        if withheld(reference) || problem.is_some() || !conflicts.is_empty() {
            problem.into_iter().for_each(|problem| reports.reject(key.clone(), problem));
            conflicts.iter().for_each(|conflict| conflict.report(gateway, reference, reports));
            rejected.insert(reference.clone());
        } else {
            owners.take(gateway, reference);
            used.insert(reference.clone(), (gateway, false));
        }
    }
    let mut remembered: BTreeMap<ObjectRef, Arc<Gateway>> =
        used.iter().map(|(reference, (gateway, _))| (reference.clone(), Arc::clone(gateway))).collect();
    for reference in rejected {
        let Some(good) = last_good.get(&reference) else { continue };
        remembered.insert(reference.clone(), Arc::clone(good));
        let is_own = own::binding_problem(&settings.own_ports, address(good)).is_some();
        if !is_own && owners.conflicts(good).is_empty() {
            let generation = good.meta.generation;
            let reason = format!("the last good version, generation {generation}, is served instead");
            reports.reject(key(&reference), reason);
            owners.take(good, &reference);
            used.insert(reference, (good, true));
        }
    }
    let mut all: Vec<Binding> =
        used.into_values().flat_map(|(gateway, outdated)| bindings_of(gateway, outdated)).collect();
    defaults::add(&mut all, settings, reports);
    all.sort_by(|a, b| (&a.proxy, a.address).cmp(&(&b.proxy, b.address)));
    Bindings { all, last_good: remembered }
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

    fn take(&mut self, gateway: &'a Gateway, reference: &ObjectRef) {
        for proxy in proxies(gateway) {
            let taken = self.addresses.entry((proxy, gateway.bind_port)).or_default();
            taken.push((gateway.bind_address, reference.clone()));
        }
    }
}

// === impl Conflict ===

impl Conflict<'_> {
    /// Tells both sides.
    fn report(&self, gateway: &Gateway, reference: &ObjectRef, reports: &mut Reports) {
        let Self { proxy, owner, address: taken } = self;
        let asked = address(gateway);
        let what = format!("bind-address {asked} is not unique in proxy {proxy}");
        let taken = if *taken == asked { String::new() } else { format!(" with {taken}") };
        reports.reject(key(reference), format!("{what}: it belongs{taken} to the older Gateway {owner}"));
        reports
            .warn(key(owner), format!("{what}: the younger Gateway {reference} asks for it and is rejected"));
    }
}

// === impl Binding ===

impl Binding {
    /// Whether this virtual service is to be served here.
    pub(super) fn serves(&self, virtual_service: &VirtualService) -> bool {
        self.ssl == virtual_service.ssl_config.is_some() && self.selection.selects(&virtual_service.meta)
    }
}
