//! Resources to proxies, and the report on each object.

mod access_logs;
mod auth_configs;
mod claims;
mod delivery;
mod gateways;
mod headers;
mod hosts;
mod memo;
mod refused;
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
use self::headers::{ByProxy, Conflicts, Live};
use self::hosts::Compiled;
use self::memo::Memo;
use self::refused::Refused;
use self::served::{ChainHosts, Served};
use self::tables::Tables;
use self::tls::Secrets;
use self::upstreams::Upstreams;
use crate::input::{Input, LastGood, Output, Settings};
use crate::proxy::{Auth, Chain, Listener, Proxy, VirtualHost, names};

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
/// not rejected is served.
#[must_use]
pub fn translate(input: &Input, settings: &Settings, last_good: &LastGood) -> Output {
    Translator::default().translate(input, settings, last_good)
}

// === impl Translator ===

impl Translator {
    /// Translates everything, see [`translate`].
    #[must_use]
    pub fn translate(&mut self, input: &Input, settings: &Settings, last_good: &LastGood) -> Output {
        let mut refused = Refused::default();
        loop {
            match self.attempt(input, settings, last_good, &refused) {
                Ok(output) => return output,
                // Each time there is at least one more, so this ends.
                Err(found) => refused.add(found),
            }
        }
    }

    /// Translates everything that is not refused, or finds what is to be refused as well.
    fn attempt(
        &mut self,
        input: &Input,
        settings: &Settings,
        last_good: &LastGood,
        refused: &Refused,
    ) -> Result<Output, Refused> {
        let mut reports = Reports::default();
        let mut remembered = LastGood::default();
        let settings = settings::effective(input, settings, last_good, &mut remembered, &mut reports);
        let (input, settings) = (&*settings::watched(input, &settings, &mut reports), &settings);
        let auth_configs = auth_configs::check(input, settings, refused, &mut reports);
        let secrets = Secrets::new(input, settings, last_good.secrets.clone());
        let known = Known {
            settings,
            auth_configs,
            upstreams: upstreams::choose(input, settings, &secrets, &last_good.upstreams, &mut reports),
            tables: tables::choose(input, refused, last_good, &mut remembered, &mut reports),
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
        remembered.holders = bindings.holders;
        let bindings = bindings.all;
        let versions = input.virtual_services.values();
        let current: Vec<Arc<Compiled>> = versions.map(|one| self.memo.current(one, &known)).collect();
        let before = &last_good.virtual_services;
        let served = served::choose(input, settings, &bindings, &secrets, refused, before, &mut reports);
        let compiled: Vec<Vec<Vec<Arc<Compiled>>>> =
            served.by_binding.iter().map(|chains| self.compiled(chains, &known)).collect();
        let found = Conflicts { input, known: &known }.find(&by_proxy(&bindings, &served, &compiled));
        if refused.lacks(&found) {
            return Err(found);
        }
        remembered.upstreams = known.upstreams.last_good();
        remembered.virtual_host_options.clone_from(&known.virtual_host_options);
        remembered.route_options.clone_from(&known.route_options);
        remembered.upstream_groups.clone_from(&input.upstream_groups);
        input.upstream_groups.values().for_each(|group| known.report_group(group, &mut reports));
        current.iter().for_each(|compiled| compiled.report(&mut reports));

        let mut proxies = BTreeMap::new();
        for ((binding, chains), compiled) in bindings.iter().zip(&served.by_binding).zip(&compiled) {
            let role = names::role(&settings.system_namespace, &binding.proxy);
            let proxy = proxies.entry(role).or_insert_with_key(|role| empty_proxy(role, &known));
            let name = names::listener(binding.address);
            let chains = chains.iter().zip(compiled);
            let chains = chains.map(|(hosts, compiled)| hosts.chain(&name, virtual_hosts(hosts, compiled)));
            match listener(binding, name.clone(), chains.collect(), settings) {
                Some(listener) => proxy.listeners.push(listener),
                None => gateways::report_unopened(binding, &mut reports),
            }
        }
        self.memo.forget_all_but(&served.replaced);
        remembered.secrets =
            delivery::deliver(&bindings, &served, &known.upstreams, &secrets, &mut proxies, settings);
        remembered.virtual_services = served.last_good;
        remembered.holders.extend(served.holders);
        for proxy in proxies.values_mut() {
            proxy.listeners.sort_by(|a, b| a.name.cmp(&b.name));
            let needed: BTreeSet<&Auth> = proxy.routes().map(|route| &route.auth).collect();
            let needed: Vec<Auth> = needed.into_iter().cloned().collect();
            for auth in needed {
                let Some(policy) = known.auth_configs.policy(&auth) else { continue };
                let Auth::Secured { auth_id, allowed, .. } = auth else { continue };
                proxy.policies.insert(auth_id.clone(), policy);
                proxy.allow_lists.extend(allowed.map(|list| (auth_id, list)));
            }
            let told =
                proxy.policies.values().flat_map(|policy| &policy.steps).flat_map(|step| &step.headers);
            proxy.auth_headers.extend(told.map(|told| told.header.clone()));
            proxy.tables = proxy.policies.values().flat_map(Policy::tables).map(str::to_owned).collect();
        }
        refused.report(&mut reports);
        Ok(Output { proxies, reports, settings: settings.clone(), last_good: remembered })
    }

    /// What is served on each chain of a binding.
    fn compiled(&mut self, chains: &[ChainHosts], known: &Known<'_>) -> Vec<Vec<Arc<Compiled>>> {
        let mut of =
            |chain: &ChainHosts| chain.good.iter().map(|version| self.memo.served(version, known)).collect();
        chains.iter().map(&mut of).collect()
    }
}

// === impl Known ===

impl Known<'_> {
    /// What there is to say of a group, whoever refers to it: what it says, and how its destinations are.
    fn report_group(&self, group: &UpstreamGroup, reports: &mut Reports) {
        let key = ObjectKey::new(kind::UPSTREAM_GROUP, &group.meta.namespace, &group.meta.name);
        reports.accept(key.clone());
        group.warnings.iter().for_each(|warning| reports.warn(key.clone(), warning.clone()));
        let upstreams = || group.destinations.iter().map(|destination| &destination.upstream);
        let all = upstreams().all(|upstream| self.upstreams.problem(upstream).is_some());
        let replacement = self.settings.routing.invalid_routes.as_ref().filter(|_| all);
        let status = replacement.map_or(503, |replacement| replacement.status);
        for upstream in upstreams() {
            if let Some(problem) = self.upstreams.problem(upstream) {
                let what = format!("every request that goes to it gets {status}");
                reports.warn(key.clone(), format!("Upstream {upstream} {problem}: {what}"));
            } else if self.upstreams.is_outdated(upstream) {
                let what = "its last good version is used";
                reports.warn(key.clone(), format!("Upstream {upstream} is rejected: {what}"));
            }
        }
    }

    /// Objects that are there and are not used.
    fn refused(&self, input: &Input) -> BTreeSet<ObjectKey> {
        let key = |kind: &'static str| move |one: &ObjectRef| ObjectKey::new(kind, &one.namespace, &one.name);
        let auth_configs = self.auth_configs.rejected().iter().map(key(kind::AUTH_CONFIG));
        auth_configs.chain(input.withheld.iter().cloned()).collect()
    }
}

/// Everything that is served, by proxy.
fn by_proxy<'s>(
    bindings: &'s [Binding],
    served: &'s Served,
    compiled: &'s [Vec<Vec<Arc<Compiled>>>],
) -> ByProxy<'s> {
    let mut by_proxy = ByProxy::default();
    for ((binding, chains), compiled) in bindings.iter().zip(&served.by_binding).zip(compiled) {
        let versions = chains.iter().flat_map(|chain| &chain.good).zip(compiled.iter().flatten());
        let lives = versions.map(|(version, compiled)| {
            // Mostly none is, and there may be many.
            let outdated =
                !served.replaced.is_empty() && served.replaced.contains(&version.meta.object_ref());
            Live { version, compiled, outdated }
        });
        by_proxy.entry(binding.proxy.as_str()).or_default().extend(lives);
    }
    by_proxy
}

fn virtual_hosts(hosts: &ChainHosts, compiled: &[Arc<Compiled>]) -> Vec<Arc<VirtualHost>> {
    let good = compiled.iter().map(|compiled| Arc::clone(&compiled.host));
    let closed = hosts.closed.iter().map(|closed| Arc::new(hosts::build_closed(closed)));
    good.chain(closed).collect()
}

fn empty_proxy(role: &str, known: &Known<'_>) -> Proxy {
    Proxy {
        role: role.to_owned(),
        listeners: Vec::new(),
        clusters: known.upstreams.clusters(),
        secrets: BTreeMap::new(),
        auth_headers: BTreeSet::from([known.settings.identity_header.clone()]),
        policies: BTreeMap::new(),
        allow_lists: BTreeMap::new(),
        tables: BTreeSet::new(),
    }
}

/// The listener of a binding. With TLS there is none without a certificate to show: nothing could be said.
fn listener(
    binding: &Binding,
    name: String,
    mut chains: Vec<Chain>,
    settings: &Settings,
) -> Option<Listener> {
    chains.sort_by(|a, b| a.name.cmp(&b.name));
    if chains.is_empty() {
        return None;
    }
    let access_logs = access_logs::of(binding.gateway.as_deref(), settings);
    let listener = Listener { access_logs, ..Listener::new(name, binding.address, chains) };
    let Some(gateway) = &binding.gateway else { return Some(listener) };
    Some(Listener {
        gateway: Some(gateway.meta.object_ref()),
        http: gateway.http.clone(),
        buffer_limit: gateway.listener.buffer_limit,
        routes: gateway.routes.clone(),
        ..listener
    })
}

/// How old an object is.
type Age<'m> = (bool, u64, bool, &'m str, &'m str, &'m str);

/// Sorts the older object first. The store's revision decides where it is known, because times have
/// whole seconds and clocks step back: a newcomer could take over a domain. Time decides among objects
/// without one, which are younger than all that have one. An object with neither is the youngest.
fn age(meta: &Meta) -> Age<'_> {
    let (revision, time) = (meta.created, meta.creation_timestamp.as_str());
    (revision == 0, revision, time.is_empty(), time, &meta.namespace, &meta.name)
}
