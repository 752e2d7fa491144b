//! Resources to proxies, and the report on each object.

mod auth_configs;
mod gateways;
mod served;
mod upstreams;
mod virtual_hosts;

use std::collections::{BTreeMap, BTreeSet};

use keyward_filter_core::config::Policy;
use keyward_resource::Meta;

use self::auth_configs::AuthConfigs;
use self::gateways::Binding;
use self::upstreams::Upstreams;
use crate::input::{Input, LastGood, Output, Settings};
use crate::proxy::{Listener, Proxy, VirtualHost, names};

/// The kinds as reports name them.
pub(crate) mod kind {
    pub(crate) const GATEWAY: &str = "Gateway";
    pub(crate) const VIRTUAL_SERVICE: &str = "VirtualService";
    pub(crate) const UPSTREAM: &str = "Upstream";
    pub(crate) const AUTH_CONFIG: &str = "AuthConfig";
}

/// What the translation of routes looks things up in.
struct Known<'a> {
    auth_configs: AuthConfigs<'a>,
    upstreams: Upstreams<'a>,
}

/// Translates everything. Total: whatever the input, every object in it gets a report, and what is
/// not rejected is served.
#[must_use]
pub fn translate(input: &Input, settings: &Settings, last_good: &LastGood) -> Output {
    let mut reports = keyward_resource::Reports::default();
    let known = Known {
        auth_configs: auth_configs::check(input, settings, &mut reports),
        upstreams: upstreams::check(input, settings, &mut reports),
    };
    let bindings = gateways::bind(input, settings, &mut reports);
    let served = served::choose(input, &bindings, last_good, &mut reports);
    for virtual_service in input.virtual_services.values() {
        virtual_hosts::report(virtual_service, &known, &mut reports);
    }

    let policies = known.auth_configs.policies();
    let mut proxies = BTreeMap::new();
    for (binding, hosts) in bindings.iter().zip(&served.by_binding) {
        let role = names::role(&settings.system_namespace, &binding.proxy);
        let proxy = proxies.entry(role).or_insert_with_key(|role| empty_proxy(role, &known));
        let good = hosts.good.iter().map(|served| virtual_hosts::build(served, &known));
        let closed = hosts.closed.iter().map(virtual_hosts::build_closed);
        proxy.listeners.push(listener(binding, good.chain(closed).collect()));
    }
    for proxy in proxies.values_mut() {
        proxy.listeners.sort_by(|a, b| a.name.cmp(&b.name));
        let needed: BTreeSet<&str> = proxy.routes().filter_map(|route| route.auth.auth_id()).collect();
        let needed = policies.iter().filter(|(auth_id, _)| needed.contains(auth_id.as_str()));
        proxy.policies = needed.map(|(auth_id, policy)| (auth_id.clone(), policy.clone())).collect();
        proxy.tables = proxy.policies.values().flat_map(Policy::tables).map(str::to_owned).collect();
    }
    Output { proxies, reports, last_good: served.last_good }
}

fn empty_proxy(role: &str, known: &Known<'_>) -> Proxy {
    Proxy {
        role: role.to_owned(),
        listeners: Vec::new(),
        clusters: known.upstreams.clusters(),
        policies: BTreeMap::new(),
        tables: BTreeSet::new(),
    }
}

fn listener(binding: &Binding, mut virtual_hosts: Vec<VirtualHost>) -> Listener {
    virtual_hosts.sort_by(|a, b| a.name.cmp(&b.name));
    Listener {
        name: names::listener(binding.address),
        address: binding.address,
        gateway: binding.gateway.clone(),
        virtual_hosts,
    }
}

/// Sorts the older object first. The store's revision decides where it is known, because times have
/// whole seconds and clocks step back: a newcomer could take over a domain. Time decides among objects
/// without one, which are younger than all that have one. An object with neither is the youngest.
fn age(meta: &Meta) -> impl Ord + use<'_> {
    let (revision, time) = (meta.created, meta.creation_timestamp.as_str());
    (revision == 0, revision, time.is_empty(), time, &meta.namespace, &meta.name)
}
