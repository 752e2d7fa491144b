//! What translation is given and what it gives back.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use keyward_resource::kinds::auth_config::AuthConfig;
use keyward_resource::kinds::gateway::Gateway;
use keyward_resource::kinds::route::DirectResponse;
use keyward_resource::kinds::route_option::RouteOption;
use keyward_resource::kinds::route_table::RouteTable;
use keyward_resource::kinds::secret::TlsSecret;
use keyward_resource::kinds::settings::Settings as SettingsObject;
use keyward_resource::kinds::upstream::{CircuitBreakers, Upstream};
use keyward_resource::kinds::upstream_group::UpstreamGroup;
use keyward_resource::kinds::virtual_host_option::VirtualHostOption;
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectKey, ObjectRef, Reports, Resource};

use crate::own::OwnPort;
use crate::proxy::Proxy;
use crate::translate::kind::{
    GATEWAY, ROUTE_OPTION, ROUTE_TABLE, SECRET, SETTINGS, UPSTREAM, VIRTUAL_HOST_OPTION, VIRTUAL_SERVICE,
};

/// What holds for everything. Most of it does not come from resources; of the rest, this is what holds
/// unless the `Settings` say otherwise.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of the installation: the first half of every node role.
    pub system_namespace: String,
    /// The request header that carries the identity to the upstream, in lower case.
    pub identity_header: String,
    /// How long a request waits for keys after a start, in milliseconds.
    pub wait_for_keys_ms: u32,
    /// A CORS preflight needs a key too; otherwise it is answered before authentication.
    pub preflight_needs_key: bool,
    /// How often a worker reports which keys were used, in milliseconds.
    pub usage_report_ms: u32,
    /// What the key tables of one worker may occupy, in bytes.
    pub max_table_bytes: u32,
    /// The address of the default Gateway, which exists unless others stand in its place.
    pub default_gateway: SocketAddr,
    /// The address of the default Gateway with TLS. It is opened when a VirtualService has a certificate.
    pub default_tls_gateway: SocketAddr,
    /// No certificate is asked of clients where the configuration leaves it open, even with a root CA.
    pub one_way_tls: bool,
    /// The folder on the machines of proxies below which `sslFiles` may name files, without a slash at its
    /// end; none: nowhere.
    pub tls_files: Option<String>,
    /// The folder on the machines of proxies below which Gateways may have access logs, without a slash at
    /// its end; none: nowhere but the standard streams.
    pub log_files: Option<String>,
    /// The access log of all gateways that say nothing of their own; none: they have none.
    pub access_log: Option<String>,
    /// The namespaces that are looked at beside the one of the installation; none means all.
    pub watch_namespaces: BTreeSet<String>,
    /// The Envoy cluster of the control server, in every proxy's bootstrap.
    pub control_cluster: String,
    /// The ports of the control server and of its Envoy, which no gateway may lead to.
    pub own_ports: Vec<OwnPort>,
    /// Circuit breakers of upstreams that say nothing of their own.
    pub circuit_breakers: CircuitBreakers,
    /// How routes are translated.
    pub routing: Routing,
}

/// How routes are translated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routing {
    /// `gateway.delegation.allowAuthOverride`: a route of a RouteTable may switch off or replace the
    /// authentication that the route which delegates to it demands. It is told in any case.
    pub allow_auth_override: bool,
    /// `gloo.invalidConfigPolicy` with `replaceInvalidRoutes`: what is answered, after authentication,
    /// where a route has no destination. None: 503.
    pub invalid_routes: Option<DirectResponse>,
}

/// The valid objects, each under its own reference. Invalid ones were left out before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Input {
    /// The gateways.
    pub gateways: BTreeMap<ObjectRef, Arc<Gateway>>,
    /// The virtual services.
    pub virtual_services: BTreeMap<ObjectRef, Arc<VirtualService>>,
    /// The route tables.
    pub route_tables: BTreeMap<ObjectRef, Arc<RouteTable>>,
    /// The shared options of virtual hosts.
    pub virtual_host_options: BTreeMap<ObjectRef, Arc<VirtualHostOption>>,
    /// The shared options of routes.
    pub route_options: BTreeMap<ObjectRef, Arc<RouteOption>>,
    /// The upstreams.
    pub upstreams: BTreeMap<ObjectRef, Arc<Upstream>>,
    /// The upstream groups.
    pub upstream_groups: BTreeMap<ObjectRef, Arc<UpstreamGroup>>,
    /// The auth configs.
    pub auth_configs: BTreeMap<ObjectRef, Arc<AuthConfig>>,
    /// The settings; one of them counts.
    pub settings: BTreeMap<ObjectRef, Arc<SettingsObject>>,
    /// The Secrets that hold something for TLS.
    pub tls_secrets: BTreeMap<ObjectRef, Arc<TlsSecret>>,
    /// Objects that exist and whose current version is not to be used, such as one that cannot be read.
    /// Who withholds an object reports it. The last good version stays, where one is kept.
    pub withheld: BTreeSet<ObjectKey>,
}

/// The version of each object that was served last: while a newer one is rejected, this one goes on
/// serving. Forgotten with the object itself.
///
/// It is a set of [versions](Self::versions): who wants to keep it over a restart keeps the stored form
/// of these objects, and [hands them back](Self::restore) decoded. Without it a rejected version has
/// nothing to fall back to, and is closed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastGood {
    pub(crate) virtual_services: BTreeMap<ObjectRef, Arc<VirtualService>>,
    pub(crate) route_tables: BTreeMap<ObjectRef, Arc<RouteTable>>,
    pub(crate) virtual_host_options: BTreeMap<ObjectRef, Arc<VirtualHostOption>>,
    pub(crate) route_options: BTreeMap<ObjectRef, Arc<RouteOption>>,
    pub(crate) gateways: BTreeMap<ObjectRef, Arc<Gateway>>,
    pub(crate) upstreams: BTreeMap<ObjectRef, Arc<Upstream>>,
    pub(crate) secrets: BTreeMap<ObjectRef, Arc<TlsSecret>>,
    pub(crate) settings: Option<Arc<SettingsObject>>,
    /// Never fallen back to, and so no versions to keep.
    pub(crate) upstream_groups: BTreeMap<ObjectRef, Arc<UpstreamGroup>>,
    /// See [`holds_against_older`](Self::holds_against_older).
    pub(crate) holders: BTreeSet<ObjectKey>,
}

/// Names a version of an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The object.
    pub object: ObjectKey,
    /// Its generation, which a status names.
    pub generation: i64,
    /// The revision of the store that holds exactly this version; zero if none does.
    pub resource_version: u64,
}

/// The result of a translation.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The proxies by node role, `<system namespace>~<proxy>`.
    pub proxies: BTreeMap<String, Proxy>,
    /// What there is to say about every object of the input.
    pub reports: Reports,
    /// What holds, with what the `Settings` say.
    pub settings: Settings,
    /// To be given to the next translation.
    pub last_good: LastGood,
}

// === impl Settings ===

impl Settings {
    /// The namespaces that are looked at, that of the installation always among them. None means all.
    pub fn watched_namespaces(&self) -> Option<BTreeSet<String>> {
        let system = std::iter::once(&self.system_namespace);
        let namespaces = &self.watch_namespaces;
        (!namespaces.is_empty()).then(|| namespaces.iter().chain(system).cloned().collect())
    }
}

// === impl Routing ===

impl Default for Routing {
    fn default() -> Self {
        Self { allow_auth_override: true, invalid_routes: None }
    }
}

// === impl Input ===

impl Input {
    /// Takes an object in. Kinds that are not translated make no difference: keys go other ways.
    pub fn put(&mut self, resource: Resource) {
        let id = resource.meta().object_ref();
        match resource {
            Resource::Gateway(gateway) => drop(self.gateways.insert(id, Arc::new(gateway))),
            Resource::VirtualService(service) => drop(self.virtual_services.insert(id, Arc::new(service))),
            Resource::RouteTable(table) => drop(self.route_tables.insert(id, Arc::new(table))),
            Resource::VirtualHostOption(shared) => {
                drop(self.virtual_host_options.insert(id, Arc::new(shared)));
            }
            Resource::RouteOption(shared) => drop(self.route_options.insert(id, Arc::new(shared))),
            Resource::Upstream(upstream) => drop(self.upstreams.insert(id, Arc::new(upstream))),
            Resource::UpstreamGroup(group) => drop(self.upstream_groups.insert(id, Arc::new(group))),
            Resource::AuthConfig(config) => drop(self.auth_configs.insert(id, Arc::new(config))),
            Resource::Settings(settings) => drop(self.settings.insert(id, Arc::new(settings))),
            Resource::TlsSecret(secret) => drop(self.tls_secrets.insert(id, Arc::new(secret))),
            Resource::Namespace(_)
            | Resource::ApiKeySecret(_)
            | Resource::OtherSecret(_)
            | Resource::RateLimitConfig(_)
            | Resource::Proxy(_) => {}
        }
    }

    /// Leaves out everything in a namespace.
    pub fn empty(&mut self, namespace: &str) {
        fn empty<T>(all: &mut BTreeMap<ObjectRef, Arc<T>>, namespace: &str) {
            all.retain(|reference, _| reference.namespace != namespace);
        }
        empty(&mut self.gateways, namespace);
        empty(&mut self.virtual_services, namespace);
        empty(&mut self.route_tables, namespace);
        empty(&mut self.virtual_host_options, namespace);
        empty(&mut self.route_options, namespace);
        empty(&mut self.upstreams, namespace);
        empty(&mut self.upstream_groups, namespace);
        empty(&mut self.auth_configs, namespace);
        empty(&mut self.settings, namespace);
        empty(&mut self.tls_secrets, namespace);
        self.withheld.retain(|object| object.namespace != namespace);
    }
}

// === impl LastGood ===

impl LastGood {
    /// The versions that are remembered, sorted by object.
    pub fn versions(&self) -> impl Iterator<Item = Version> {
        let services = self.virtual_services.values().map(|service| (VIRTUAL_SERVICE, &service.meta));
        let tables = self.route_tables.values().map(|table| (ROUTE_TABLE, &table.meta));
        let of_hosts = self.virtual_host_options.values().map(|shared| (VIRTUAL_HOST_OPTION, &shared.meta));
        let of_routes = self.route_options.values().map(|shared| (ROUTE_OPTION, &shared.meta));
        let gateways = self.gateways.values().map(|gateway| (GATEWAY, &gateway.meta));
        let upstreams = self.upstreams.values().map(|upstream| (UPSTREAM, &upstream.meta));
        let secrets = self.secrets.values().map(|secret| (SECRET, &secret.meta));
        let settings = self.settings.iter().map(|settings| (SETTINGS, &settings.meta));
        let all = gateways.chain(of_routes).chain(tables).chain(secrets).chain(settings).chain(upstreams);
        let all = all.chain(of_hosts).chain(services);
        all.map(|(kind, meta)| Version {
            object: ObjectKey::new(kind, &meta.namespace, &meta.name),
            generation: meta.generation,
            resource_version: meta.resource_version,
        })
    }

    /// The `Settings` that are in effect, if any are.
    #[must_use]
    pub fn settings(&self) -> Option<&SettingsObject> {
        self.settings.as_deref()
    }

    /// Whether other settings or upstream groups are remembered: they stand behind all routes.
    #[must_use]
    pub fn groups_or_settings_differ(&self, other: &Self) -> bool {
        self.settings != other.settings || self.upstream_groups != other.upstream_groups
    }

    /// Whether an object keeps something from an older one only because it is remembered to have had it:
    /// forgotten, it would lose it.
    #[must_use]
    pub fn holds_against_older(&self, object: &ObjectKey) -> bool {
        self.holders.contains(object)
    }

    /// The revision of the version of an object that is remembered.
    #[must_use]
    pub fn version_of(&self, object: &ObjectKey) -> Option<u64> {
        let reference = object.object_ref();
        let meta = match object.kind {
            VIRTUAL_SERVICE => &self.virtual_services.get(&reference)?.meta,
            ROUTE_TABLE => &self.route_tables.get(&reference)?.meta,
            VIRTUAL_HOST_OPTION => &self.virtual_host_options.get(&reference)?.meta,
            ROUTE_OPTION => &self.route_options.get(&reference)?.meta,
            GATEWAY => &self.gateways.get(&reference)?.meta,
            UPSTREAM => &self.upstreams.get(&reference)?.meta,
            SECRET => &self.secrets.get(&reference)?.meta,
            SETTINGS => {
                &self.settings.as_ref().filter(|settings| settings.meta.object_ref() == reference)?.meta
            }
            _ => return None,
        };
        Some(meta.resource_version)
    }

    /// Takes back a version that was remembered before a restart. Objects of kinds of which none are
    /// remembered make no difference.
    pub fn restore(&mut self, resource: Resource) {
        match resource {
            Resource::VirtualService(service) => {
                self.virtual_services.insert(service.meta.object_ref(), Arc::new(service));
            }
            Resource::RouteTable(table) => {
                self.route_tables.insert(table.meta.object_ref(), Arc::new(table));
            }
            Resource::VirtualHostOption(shared) => {
                self.virtual_host_options.insert(shared.meta.object_ref(), Arc::new(shared));
            }
            Resource::RouteOption(shared) => {
                self.route_options.insert(shared.meta.object_ref(), Arc::new(shared));
            }
            Resource::Gateway(gateway) => {
                self.gateways.insert(gateway.meta.object_ref(), Arc::new(gateway));
            }
            Resource::Upstream(upstream) => {
                self.upstreams.insert(upstream.meta.object_ref(), Arc::new(upstream));
            }
            Resource::Settings(settings) => self.settings = Some(Arc::new(settings)),
            Resource::TlsSecret(secret) => {
                self.secrets.insert(secret.meta.object_ref(), Arc::new(secret));
            }
            _ => {}
        }
    }
}
