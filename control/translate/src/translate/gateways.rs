//! Which Gateways open which address on which proxy.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use keyward_resource::kinds::gateway::Gateway;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::age;
use super::kind::GATEWAY;
use crate::input::{Input, Settings};
use crate::proxy::names;

/// One address of one proxy.
pub(super) struct Binding {
    /// The proxy.
    pub(super) proxy: String,
    /// The address.
    pub(super) address: SocketAddr,
    /// The Gateway; none for the default one.
    pub(super) gateway: Option<ObjectRef>,
    /// The virtual services served here; none means all.
    only: Option<BTreeSet<ObjectRef>>,
}

/// Gives every address of every proxy to the oldest Gateway that asks for it. A Gateway that does not
/// get all that it asks for is rejected and opens nothing.
pub(super) fn bind(input: &Input, settings: &Settings, reports: &mut Reports) -> Vec<Binding> {
    if input.gateways.is_empty() {
        return vec![default_binding(settings)];
    }
    let mut oldest_first: Vec<(&ObjectRef, &Gateway)> =
        input.gateways.iter().map(|(reference, gateway)| (reference, gateway.as_ref())).collect();
    oldest_first.sort_by_key(|(_, gateway)| age(&gateway.meta));

    let mut owners: BTreeMap<(String, SocketAddr), &ObjectRef> = BTreeMap::new();
    let mut bindings = Vec::new();
    for (reference, gateway) in oldest_first {
        let key = ObjectKey::new(GATEWAY, &reference.namespace, &reference.name);
        reports.accept(key.clone());
        for missing in gateway.virtual_services.iter().filter(|vs| !input.virtual_services.contains_key(vs)) {
            reports.warn(key.clone(), format!("VirtualService {missing} is not found"));
        }
        let address = SocketAddr::new(gateway.bind_address, gateway.bind_port);
        let proxies: BTreeSet<&String> = gateway.proxy_names.iter().collect();
        let taken: Vec<String> = proxies
            .iter()
            .filter_map(|proxy| {
                let owner = owners.get(&((*proxy).clone(), address))?;
                Some(format!("{address} of proxy {proxy} belongs to the older Gateway {owner}"))
            })
            .collect();
        if !taken.is_empty() {
            taken.into_iter().for_each(|reason| reports.reject(key.clone(), reason));
            continue;
        }
        for proxy in proxies {
            owners.insert((proxy.clone(), address), reference);
            let only = gateway.virtual_services.iter().cloned().collect::<BTreeSet<_>>();
            bindings.push(Binding {
                proxy: proxy.clone(),
                address,
                gateway: Some(reference.clone()),
                only: (!only.is_empty()).then_some(only),
            });
        }
    }
    bindings.sort_by(|a, b| (&a.proxy, a.address).cmp(&(&b.proxy, b.address)));
    bindings
}

fn default_binding(settings: &Settings) -> Binding {
    Binding {
        proxy: names::DEFAULT_PROXY.to_owned(),
        address: settings.default_gateway,
        gateway: None,
        only: None,
    }
}

// === impl Binding ===

impl Binding {
    /// Whether this virtual service is to be served here.
    pub(super) fn serves(&self, virtual_service: &ObjectRef) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(virtual_service))
    }
}
