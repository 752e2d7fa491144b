//! Resources to proxies, and the report on each object.

mod auth_configs;
mod claims;
mod delivery;
mod gateways;
mod hosts;
mod memo;
mod served;
mod settings;
mod shared;
mod tables;
mod tls;
mod upstreams;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_filter_core::config::Policy;
use keyward_resource::kinds::route_option::RouteOption;
use keyward_resource::kinds::upstream_group::UpstreamGroup;
use keyward_resource::kinds::virtual_host_option::VirtualHostOption;
use keyward_resource::{Meta, ObjectKey, ObjectRef, Reports};

use self::auth_configs::AuthConfigs;
use self::gateways::Binding;
use self::memo::Memo;
use self::served::ChainHosts;
use self::tables::Tables;
use self::tls::Secrets;
use self::upstreams::Upstreams;
use crate::input::{Input, LastGood, Output, Settings};
use crate::proxy::{Chain, Listener, Proxy, VirtualHost, names};

/// The kinds as reports name them.
pub(crate) mod kind {
    pub(crate) const GATEWAY: &str = "Gateway";
    pub(crate) const VIRTUAL_SERVICE: &str = "VirtualService";
    pub(crate) const ROUTE_TABLE: &str = "RouteTable";
    pub(crate) const VIRTUAL_HOST_OPTION: &str = "VirtualHostOption";
    pub(crate) const ROUTE_OPTION: &str = "RouteOption";
    pub(crate) const UPSTREAM: &str = "Upstream";
    pub(crate) const UPSTREAM_GROUP: &str = "UpstreamGroup";
    pub(crate) const AUTH_CONFIG: &str = "AuthConfig";
    pub(crate) const SECRET: &str = "Secret";
    pub(crate) const SETTINGS: &str = "Settings";
}

/// What the translation of routes looks things up in.
struct Known<'a> {
    settings: &'a Settings,
    auth_configs: AuthConfigs,
    /// The headers that authentication sets.
    auth_headers: BTreeSet<String>,
    upstreams: Upstreams,
    tables: Tables,
    virtual_host_options: BTreeMap<ObjectRef, Arc<VirtualHostOption>>,
    route_options: BTreeMap<ObjectRef, Arc<RouteOption>>,
    upstream_groups: &'a BTreeMap<ObjectRef, Arc<UpstreamGroup>>,
    withheld: &'a BTreeSet<ObjectKey>,
}

/// Translates again and again, and makes anew only the virtual hosts of which something changed. What
/// comes out is the same as from [`translate`].
#[derive(Default)]
pub struct Translator {
    memo: Memo,
}

/// Translates everything. Total: whatever the input, every object in it gets a report, and what is
/// not rejected is served. Shared options are reported where they are used.
#[must_use]
pub fn translate(input: &Input, settings: &Settings, last_good: &LastGood) -> Output {
    Translator::default().translate(input, settings, last_good)
}

// === impl Translator ===

impl Translator {
    /// Translates everything, see [`translate`].
    #[must_use]
    pub fn translate(&mut self, input: &Input, settings: &Settings, last_good: &LastGood) -> Output {
        let mut reports = Reports::default();
        let mut remembered = LastGood::default();
        let settings = settings::effective(input, settings, last_good, &mut remembered, &mut reports);
        let (input, settings) = (&*settings::watched(input, &settings, &mut reports), &settings);
        let auth_configs = auth_configs::check(input, settings, &mut reports);
        let secrets = Secrets::new(input, settings, last_good.secrets.clone());
        let known = Known {
            settings,
            auth_headers: auth_configs.headers(settings),
            auth_configs,
            upstreams: upstreams::choose(input, settings, &secrets, &last_good.upstreams, &mut reports),
            tables: tables::choose(input, last_good, &mut remembered, &mut reports),
            virtual_host_options: shared::choose(
                &input.virtual_host_options,
                &input.withheld,
                &last_good.virtual_host_options,
                &mut reports,
            ),
            route_options: shared::choose(
                &input.route_options,
                &input.withheld,
                &last_good.route_options,
                &mut reports,
            ),
            upstream_groups: &input.upstream_groups,
            withheld: &input.withheld,
        };
        self.memo.refresh(input, &known);
        let bindings = gateways::bind(input, settings, &last_good.gateways, &mut reports);
        remembered.gateways = bindings.last_good;
        let bindings = bindings.all;
        let served =
            served::choose(input, settings, &bindings, &secrets, &last_good.virtual_services, &mut reports);
        remembered.upstreams = known.upstreams.last_good();
        remembered.virtual_host_options.clone_from(&known.virtual_host_options);
        remembered.route_options.clone_from(&known.route_options);
        remembered.upstream_groups.clone_from(&input.upstream_groups);
        for group in input.upstream_groups.values() {
            let key = ObjectKey::new(kind::UPSTREAM_GROUP, &group.meta.namespace, &group.meta.name);
            reports.accept(key.clone());
            group.warnings.iter().for_each(|warning| reports.warn(key.clone(), warning.clone()));
        }
        for virtual_service in input.virtual_services.values() {
            self.memo.current(virtual_service, &known).report(&mut reports);
        }

        let mut proxies = BTreeMap::new();
        for (binding, chains) in bindings.iter().zip(&served.by_binding) {
            let role = names::role(&settings.system_namespace, &binding.proxy);
            let proxy = proxies.entry(role).or_insert_with_key(|role| empty_proxy(role, &known));
            let name = names::listener(binding.address);
            let chains = chains.iter().map(|hosts| hosts.chain(&name, self.virtual_hosts(hosts, &known)));
            match listener(binding, name.clone(), chains.collect()) {
                Some(listener) => proxy.listeners.push(listener),
                None => gateways::report_unopened(binding, &mut reports),
            }
        }
        self.memo.forget_all_but(&served.replaced);
        remembered.secrets =
            delivery::deliver(&bindings, &served, &known.upstreams, &secrets, &mut proxies, settings);
        remembered.virtual_services = served.last_good;
        for proxy in proxies.values_mut() {
            proxy.listeners.sort_by(|a, b| a.name.cmp(&b.name));
            let needed: BTreeSet<&str> = proxy.auth_ids().collect();
            let policies = known.auth_configs.policies().iter();
            let policies = policies.map(|(reference, policy)| (names::auth_id(reference), policy));
            let needed = policies.filter(|(auth_id, _)| needed.contains(auth_id.as_str()));
            proxy.policies = needed.map(|(auth_id, policy)| (auth_id, policy.clone())).collect();
            proxy.tables = proxy.policies.values().flat_map(Policy::tables).map(str::to_owned).collect();
        }
        Output { proxies, reports, settings: settings.clone(), last_good: remembered }
    }

    fn virtual_hosts(&mut self, hosts: &ChainHosts, known: &Known<'_>) -> Vec<Arc<VirtualHost>> {
        let good = hosts.good.iter().map(|version| Arc::clone(&self.memo.served(version, known).host));
        let closed = hosts.closed.iter().map(|closed| Arc::new(hosts::build_closed(closed)));
        good.chain(closed).collect()
    }
}

// === impl Known ===

impl Known<'_> {
    /// Objects that are there and are not used.
    fn refused(&self, input: &Input) -> BTreeSet<ObjectKey> {
        let key = |kind: &'static str| move |one: &ObjectRef| ObjectKey::new(kind, &one.namespace, &one.name);
        let auth_configs = self.auth_configs.rejected().iter().map(key(kind::AUTH_CONFIG));
        auth_configs.chain(input.withheld.iter().cloned()).collect()
    }
}

fn empty_proxy(role: &str, known: &Known<'_>) -> Proxy {
    Proxy {
        role: role.to_owned(),
        listeners: Vec::new(),
        clusters: known.upstreams.clusters(),
        secrets: BTreeMap::new(),
        auth_headers: known.auth_headers.clone(),
        policies: BTreeMap::new(),
        tables: BTreeSet::new(),
    }
}

/// The listener of a binding. With TLS there is none without a certificate to show: nothing could be said.
fn listener(binding: &Binding, name: String, mut chains: Vec<Chain>) -> Option<Listener> {
    chains.sort_by(|a, b| a.name.cmp(&b.name));
    if chains.is_empty() {
        return None;
    }
    let listener = Listener::new(name, binding.address, chains);
    let Some(gateway) = &binding.gateway else { return Some(listener) };
    Some(Listener {
        gateway: Some(gateway.meta.object_ref()),
        http: gateway.http.clone(),
        buffer_limit: gateway.listener.buffer_limit,
        routes: gateway.routes.clone(),
        ..listener
    })
}

/// Sorts the older object first. The store's revision decides where it is known, because times have
/// whole seconds and clocks step back: a newcomer could take over a domain. Time decides among objects
/// without one, which are younger than all that have one. An object with neither is the youngest.
fn age(meta: &Meta) -> impl Ord + use<'_> {
    let (revision, time) = (meta.created, meta.creation_timestamp.as_str());
    (revision == 0, revision, time.is_empty(), time, &meta.namespace, &meta.name)
}
