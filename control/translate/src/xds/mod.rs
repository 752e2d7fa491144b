//! A proxy as xDS resources, in the bytes that go over the wire.

mod access_logs;
mod blame;
mod clusters;
mod common;
mod cors;
mod encode;
mod encoder;
mod extension;
mod fallback;
mod fault;
mod guard;
mod http_filters;
mod http_options;
mod identity;
mod listeners;
mod misdirected;
mod routes;
mod secrets;
mod tls;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use keyward_resource::{ObjectKey, ObjectRef};
use prost::bytes::Bytes;

pub use self::blame::Blame;
pub use self::encode::{CLUSTER, ENDPOINT, EXTENSION, LISTENER, ROUTE, SECRET};
pub use self::encoder::Encoder;
pub use self::extension::filter_config;
pub use self::fallback::misconfigured_node;
pub use self::http_filters::{CORS_NAME, FAULT_NAME, FILTER_NAME, GUARD_NAME};

use crate::input::Settings;
use crate::proxy::{Listener, Proxy, names};
use crate::translate::kind;

/// The filter module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilterCode {
    /// The `.wasm` file.
    pub wasm: Bytes,
    /// Names the VM. Stays the same as long as the code does, and changes after Envoy refused the
    /// extension, because a VM that failed once refuses everything from then on.
    pub vm_id: String,
}

/// One xDS resource, encoded. The same content has the same bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The resource name.
    pub name: String,
    /// The type URL, one of those in [`crate::xds`].
    pub type_url: &'static str,
    /// The encoded message.
    pub bytes: Bytes,
}

/// Everything that one Envoy is told. Each list is sorted by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct XdsResources {
    /// `Cluster`.
    pub clusters: Vec<Encoded>,
    /// `ClusterLoadAssignment`.
    pub endpoints: Vec<Encoded>,
    /// `Secret`: the only resources with private keys in them.
    pub secrets: Vec<Encoded>,
    /// `Listener`.
    pub listeners: Vec<Encoded>,
    /// `RouteConfiguration`.
    pub routes: Vec<Encoded>,
    /// `TypedExtensionConfig`: the filter.
    pub extensions: Vec<Encoded>,
    /// The name of the endpoints of each cluster that gets them over EDS. When such a cluster changes,
    /// Envoy waits for its endpoints again, so they have to be sent again, changed or not.
    pub endpoints_of_cluster: BTreeMap<String, String>,
    /// The objects that each resource, by type URL and name, was made from, less the route tables and
    /// shared options behind its virtual hosts.
    pub origin: BTreeMap<(&'static str, String), Vec<ObjectKey>>,
    /// The listeners that all of it was made from, for [`XdsResources::blame`].
    made_from: Vec<Listener>,
}

/// Makes the resources of a proxy.
#[must_use]
pub fn xds(proxy: &Proxy, filter: &FilterCode, settings: &Settings) -> XdsResources {
    Encoder::default().xds(proxy, filter, settings)
}

fn resources(proxy: &Proxy, filter: &FilterCode, settings: &Settings, encoder: &mut Encoder) -> XdsResources {
    let mut resources = XdsResources { made_from: proxy.listeners.clone(), ..XdsResources::default() };
    for cluster in proxy.clusters.values() {
        let origin = [kind_key(kind::UPSTREAM, &cluster.upstream)];
        let encoded = encoder.cluster(cluster);
        resources.add(encoded.cluster, &origin);
        if let Some(endpoints) = encoded.endpoints {
            resources.endpoints_of_cluster.insert(cluster.name.clone(), endpoints.name.clone());
            resources.add(endpoints, &origin);
        }
    }
    for (name, secret) in &proxy.secrets {
        let origin: Vec<ObjectKey> = secret.made_from.iter().cloned().collect();
        resources.add(encode::encode(name, &secrets::secret(name, &secret.content)), &origin);
    }
    for listener in &proxy.listeners {
        let origin: Vec<ObjectKey> =
            listener.gateway.iter().map(|gateway| kind_key(kind::GATEWAY, gateway)).collect();
        let message = listeners::listener(listener, &proxy.auth_headers, settings);
        resources.add(encode::encode(&listener.name, &message), &origin);
        for chain in &listener.chains {
            // Two virtual hosts may come from one virtual service.
            let hosts: BTreeSet<&ObjectRef> =
                chain.virtual_hosts.iter().map(|host| &host.virtual_service).collect();
            let hosts = hosts.into_iter().map(|host| kind_key(kind::VIRTUAL_SERVICE, host));
            let origin: Vec<ObjectKey> = origin.iter().cloned().chain(hosts).collect();
            let served = chain.virtual_hosts.iter().map(|host| encoder.host(host, settings));
            let elsewhere = misdirected::virtual_host(&chain.misdirected).map(|host| encode::part(&host));
            let hosts: Vec<Bytes> = served.chain(elsewhere).collect();
            resources.add(
                routes::route_configuration(&chain.name, &listener.routes, settings, hosts.iter()),
                &origin,
            );
        }
    }
    let message = extension::extension(&filter_config(proxy, settings), filter);
    let auth_configs: BTreeSet<ObjectKey> =
        proxy.policies.keys().filter_map(|id| auth_config_key(id)).collect();
    let auth_configs: Vec<ObjectKey> = auth_configs.into_iter().collect();
    resources.add(encode::encode(FILTER_NAME, &message), &auth_configs);
    resources.sort();
    resources
}

fn auth_config_key(auth_id: &str) -> Option<ObjectKey> {
    Some(kind_key(kind::AUTH_CONFIG, &names::auth_config(auth_id)?))
}

fn kind_key(kind: &'static str, reference: &ObjectRef) -> ObjectKey {
    ObjectKey::new(kind, &reference.namespace, &reference.name)
}

// === impl Encoder ===

impl Encoder {
    /// Makes the resources of a proxy, see [`xds`].
    #[must_use]
    pub fn xds(&mut self, proxy: &Proxy, filter: &FilterCode, settings: &Settings) -> XdsResources {
        let hosts = proxy.listeners.iter().flat_map(Listener::virtual_hosts).count();
        let made = resources(proxy, filter, settings, self);
        self.tidy(hosts, proxy.clusters.len());
        made
    }
}

// === impl XdsResources ===

impl XdsResources {
    /// All resources, clusters first: the order in which they are to be sent.
    pub fn iter(&self) -> impl Iterator<Item = &Encoded> {
        let lists =
            [&self.clusters, &self.endpoints, &self.secrets, &self.listeners, &self.routes, &self.extensions];
        lists.into_iter().flatten()
    }

    fn add(&mut self, encoded: Encoded, origin: &[ObjectKey]) {
        self.origin.insert((encoded.type_url, encoded.name.clone()), origin.to_vec());
        let list = match encoded.type_url {
            CLUSTER => &mut self.clusters,
            ENDPOINT => &mut self.endpoints,
            SECRET => &mut self.secrets,
            LISTENER => &mut self.listeners,
            ROUTE => &mut self.routes,
            _ => &mut self.extensions,
        };
        list.push(encoded);
    }

    fn sort(&mut self) {
        let lists = [
            &mut self.clusters,
            &mut self.endpoints,
            &mut self.secrets,
            &mut self.listeners,
            &mut self.routes,
            &mut self.extensions,
        ];
        for list in lists {
            list.sort_by(|a, b| a.name.cmp(&b.name));
        }
    }
}

// === impl Encoded ===

/// The content is left out: it may hold a private key.
impl fmt::Debug for Encoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encoded")
            .field("type_url", &self.type_url)
            .field("name", &self.name)
            .field("len", &self.bytes.len())
            .finish_non_exhaustive()
    }
}
