//! What of an address belongs to which VirtualService: the domains of a chain, and the server names
//! that lead to it.

use std::collections::{BTreeMap, BTreeSet};

use keyward_resource::ObjectRef;
use keyward_resource::kinds::virtual_service::VirtualService;

use super::gateways::Binding;
use crate::proxy::{ChainTls, TlsTerms, names};

/// What of one binding belongs to whom. Without TLS there is one chain, which has no terms.
#[derive(Debug, Default)]
pub(super) struct Claims {
    chains: BTreeMap<Option<TlsTerms>, BTreeMap<String, ObjectRef>>,
    server_names: BTreeMap<ServerName, Owner>,
    /// Every domain that anybody asks for, on whatever chain.
    asked_for: BTreeSet<String>,
    held: Held,
}

/// What was in force before and stays: nobody else is given it.
#[derive(Debug, Default)]
struct Held {
    chains: BTreeMap<Option<TlsTerms>, BTreeMap<String, ObjectRef>>,
    server_names: BTreeMap<ServerName, Vec<Owner>>,
}

/// Something that belongs to another VirtualService.
#[derive(Debug)]
pub(super) struct Conflict {
    what: String,
    owner: ObjectRef,
    /// What else there is to say of the owner.
    owner_has: &'static str,
}

/// A server name; none stands for all that nobody has.
type ServerName = Option<String>;

#[derive(Debug)]
struct Owner {
    terms: TlsTerms,
    virtual_service: ObjectRef,
}

// === impl Conflict ===

impl Conflict {
    /// Whose it is.
    pub(super) fn owner(&self) -> &ObjectRef {
        &self.owner
    }

    /// What to say to who is rejected.
    pub(super) fn of_asking(&self, is_owner_older: bool) -> String {
        let Self { what, owner, owner_has } = self;
        let why = if is_owner_older { "is older" } else { "had it before" };
        format!("{what} belongs to VirtualService {owner}, which {why}{owner_has}")
    }

    /// What to say to the owner.
    pub(super) fn of_owner(&self, asking: &ObjectRef) -> String {
        format!("{}: VirtualService {asking} asks for it as well and is rejected", self.what)
    }
}

// === impl Claims ===

impl Claims {
    /// Why a VirtualService cannot have all that it asks for.
    pub(super) fn conflicts(
        &self,
        virtual_service: &VirtualService,
        terms: Option<&TlsTerms>,
        binding: &Binding,
    ) -> Vec<Conflict> {
        let listener = names::listener(binding.address);
        let place = format!("on {listener} of proxy {}", binding.proxy);
        let reference = virtual_service.meta.object_ref();
        let mut conflicts = Vec::new();
        for name in terms.iter().flat_map(|_| server_names(virtual_service)) {
            let held = self.held.server_names.get(&name).into_iter().flatten();
            let mut owners = self.server_names.get(&name).into_iter().chain(held);
            let is_other = |owner: &&Owner| Some(&owner.terms) != terms && owner.virtual_service != reference;
            let Some(owner) = owners.find(is_other) else { continue };
            let what = match name {
                Some(name) => format!("sslConfig: the server name {name:?} {place}"),
                None => format!("sslConfig: the certificate without sniDomains {place}"),
            };
            let owner_has = " and has another certificate or other TLS settings";
            conflicts.push(Conflict { what, owner: owner.virtual_service.clone(), owner_has });
        }
        let chain = terms.cloned();
        let (owners, held) = (self.chains.get(&chain), self.held.chains.get(&chain));
        for domain in &virtual_service.domains {
            let mut others = [owners, held].into_iter().flatten().filter_map(|owners| owners.get(domain));
            if let Some(owner) = others.find(|owner| **owner != reference) {
                let what = format!("domain {domain:?} {place}");
                conflicts.push(Conflict { what, owner: owner.clone(), owner_has: "" });
            }
        }
        conflicts
    }

    /// Keeps for it what it had before and still asks for, where nobody else keeps it.
    pub(super) fn hold_what_stays(
        &mut self,
        version: &VirtualService,
        before: &VirtualService,
        terms: Option<&TlsTerms>,
    ) {
        let reference = version.meta.object_ref();
        let had: BTreeSet<&String> = before.domains.iter().collect();
        let owners = self.held.chains.entry(terms.cloned()).or_default();
        for domain in version.domains.iter().filter(|domain| had.contains(domain)) {
            owners.entry(domain.clone()).or_insert_with(|| reference.clone());
        }
        let Some(terms) = terms else { return };
        let had = server_names(before);
        for name in server_names(version).into_iter().filter(|name| had.contains(name)) {
            let owners = self.held.server_names.entry(name).or_default();
            if owners.iter().all(|owner| owner.terms == *terms) {
                owners.push(Owner { terms: terms.clone(), virtual_service: reference.clone() });
            }
        }
    }

    /// Gives it all that it asks for.
    pub(super) fn take(&mut self, virtual_service: &VirtualService, terms: Option<&TlsTerms>) {
        let reference = virtual_service.meta.object_ref();
        let owners = self.chains.entry(terms.cloned()).or_default();
        owners.extend(virtual_service.domains.iter().map(|domain| (domain.clone(), reference.clone())));
        if let Some(terms) = terms {
            for name in server_names(virtual_service) {
                let owner = || Owner { terms: terms.clone(), virtual_service: reference.clone() };
                self.server_names.entry(name).or_insert_with(owner);
            }
        }
        self.ask(virtual_service);
    }

    /// Whether it has what it asks for.
    pub(super) fn hold(&self, virtual_service: &VirtualService, terms: Option<&TlsTerms>) -> bool {
        let owners = self.chains.get(&terms.cloned());
        let reference = virtual_service.meta.object_ref();
        let mut domains = virtual_service.domains.iter();
        owners.is_some_and(|owners| domains.all(|domain| owners.get(domain) == Some(&reference)))
    }

    /// Remembers what it asks for, given or not.
    pub(super) fn ask(&mut self, virtual_service: &VirtualService) {
        self.asked_for.extend(virtual_service.domains.iter().cloned());
    }

    /// Gives it what nobody has of the domains that it asks for, if there is a chain for it.
    pub(super) fn rest(&mut self, virtual_service: &VirtualService, terms: Option<&TlsTerms>) -> Vec<String> {
        let owners = match terms {
            None => self.chains.entry(None).or_default(),
            Some(_) => match self.chains.get_mut(&terms.cloned()) {
                Some(owners) => owners,
                None => return Vec::new(),
            },
        };
        let reference = virtual_service.meta.object_ref();
        let unowned = |domain: &&String| !owners.contains_key(*domain);
        let rest: Vec<String> = virtual_service.domains.iter().filter(unowned).cloned().collect();
        owners.extend(rest.iter().map(|domain| (domain.clone(), reference.clone())));
        rest
    }

    /// The chains with TLS.
    pub(super) fn tls_chains(&self) -> Vec<ChainTls> {
        let mut chains: BTreeMap<&TlsTerms, ChainTls> = BTreeMap::new();
        for (name, Owner { terms, .. }) in &self.server_names {
            let empty = || ChainTls { server_names: Vec::new(), fallback: false, terms: terms.clone() };
            let chain = chains.entry(terms).or_insert_with(empty);
            match name {
                Some(name) => chain.server_names.push(name.clone()),
                None => chain.fallback = true,
            }
        }
        chains.into_values().collect()
    }

    /// The domains that are answered with 421 on a chain with TLS: those that are asked for elsewhere and
    /// would fall to a wildcard here, and whatever nobody asked for here.
    pub(super) fn misdirected(&self, terms: &TlsTerms) -> Vec<String> {
        let empty = BTreeMap::new();
        let owners = self.chains.get(&Some(terms.clone())).unwrap_or(&empty);
        let wildcards: Vec<&String> = owners.keys().filter(|domain| domain.contains('*')).collect();
        let falls = |domain: &&String| {
            !owners.contains_key(*domain) && wildcards.iter().any(|wildcard| takes(wildcard, domain))
        };
        let mut misdirected: BTreeSet<String> = self.asked_for.iter().filter(falls).cloned().collect();
        if !owners.contains_key("*") {
            misdirected.insert("*".to_owned());
        }
        misdirected.into_iter().collect()
    }
}

/// The server names that lead to a VirtualService.
fn server_names(virtual_service: &VirtualService) -> Vec<ServerName> {
    match &virtual_service.ssl_config {
        Some(ssl) if !ssl.sni_domains.is_empty() => ssl.sni_domains.iter().cloned().map(Some).collect(),
        _ => vec![None],
    }
}

/// Whether a wildcard takes a host that this domain, were it there, would take instead. Suffixes of hosts
/// go before prefixes, and longer ones before shorter.
fn takes(wildcard: &str, domain: &str) -> bool {
    if let Some(suffix) = wildcard.strip_prefix('*') {
        return match domain.strip_prefix('*') {
            Some(longer) => longer.ends_with(suffix),
            None => suffix.is_empty() || (!domain.ends_with('*') && domain.ends_with(suffix)),
        };
    }
    let Some(prefix) = wildcard.strip_suffix('*') else { return false };
    domain.strip_prefix('*').is_some_and(|suffix| !suffix.is_empty()) || domain.starts_with(prefix)
}
