//! Who is given which secret and which cluster with one. Private keys are for those who use them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::{ObjectKey, ObjectRef};

use super::gateways::Binding;
use super::kind::{UPSTREAM, VIRTUAL_SERVICE};
use super::served::Served;
use super::tls::{self, Item, Secrets};
use super::upstreams::Upstreams;
use crate::input::Settings;
use crate::proxy::{Proxy, names};

/// What a proxy uses, and for which objects.
type Uses<'a> = BTreeMap<&'a Item, BTreeSet<ObjectKey>>;

/// Gives each proxy the secrets that its listeners and its clusters use, and takes the clusters with a
/// private key from those that do not use them. Tells what is to be remembered.
pub(super) fn deliver(
    bindings: &[Binding],
    served: &Served,
    upstreams: &Upstreams,
    secrets: &Secrets<'_>,
    proxies: &mut BTreeMap<String, Proxy>,
    settings: &Settings,
) -> BTreeMap<ObjectRef, Arc<TlsSecret>> {
    let mut uses: BTreeMap<String, Uses<'_>> = BTreeMap::new();
    for (binding, chains) in bindings.iter().zip(&served.by_binding) {
        let uses = uses.entry(names::role(&settings.system_namespace, &binding.proxy)).or_default();
        for chain in chains {
            let users = || chain.good.iter().map(|version| key(VIRTUAL_SERVICE, &version.meta.object_ref()));
            chain.items.iter().for_each(|item| uses.entry(item).or_default().extend(users()));
        }
    }
    for (role, proxy) in proxies.iter_mut() {
        let uses = uses.entry(role.clone()).or_default();
        let private: BTreeMap<String, &ObjectRef> = upstreams
            .items()
            .filter(|(_, item)| item.is_confidential())
            .map(|(upstream, _)| (names::cluster(upstream), upstream))
            .collect();
        if !private.is_empty() {
            let used: BTreeSet<String> =
                proxy.routes().flat_map(|route| route.action.clusters()).map(str::to_owned).collect();
            proxy.clusters.retain(|name, _| !private.contains_key(name) || used.contains(name));
        }
        for (upstream, item) in upstreams.items() {
            if proxy.clusters.contains_key(&names::cluster(upstream)) {
                uses.entry(item).or_default().insert(key(UPSTREAM, upstream));
            }
        }
        let delivered =
            uses.iter().filter_map(|(item, users)| Some((item.name(), item.secret(secrets, users.clone())?)));
        proxy.secrets = delivered.collect();
    }
    tls::used(served.secrets.values().chain(upstreams.secrets()))
}

fn key(kind: &'static str, reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(kind, &reference.namespace, &reference.name)
}
