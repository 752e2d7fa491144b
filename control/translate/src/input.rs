//! What translation is given and what it gives back.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use keyward_resource::kinds::auth_config::AuthConfig;
use keyward_resource::kinds::gateway::Gateway;
use keyward_resource::kinds::route_option::RouteOption;
use keyward_resource::kinds::route_table::RouteTable;
use keyward_resource::kinds::upstream::Upstream;
use keyward_resource::kinds::virtual_host_option::VirtualHostOption;
use keyward_resource::kinds::virtual_service::VirtualService;
use keyward_resource::{ObjectRef, Reports};

use crate::proxy::Proxy;

/// What does not come from resources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The namespace of the installation: the first half of every node role.
    pub system_namespace: String,
    /// The request header that carries the identity to the upstream, in lower case.
    pub identity_header: String,
    /// How long a request waits for keys after a start, in milliseconds.
    pub wait_for_keys_ms: u32,
    /// The address of the Gateway that exists when none is declared.
    pub default_gateway: SocketAddr,
    /// The Envoy cluster of the control server, in every proxy's bootstrap.
    pub control_cluster: String,
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
    /// The auth configs.
    pub auth_configs: BTreeMap<ObjectRef, Arc<AuthConfig>>,
}

/// The version of each virtual service that was served last: while a newer version is rejected, this
/// one goes on serving. Forgotten with the virtual service itself; not kept over a restart, after which
/// a rejected version has nothing to fall back to: its domains are closed then.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LastGood {
    pub(crate) virtual_services: BTreeMap<ObjectRef, Arc<VirtualService>>,
}

/// The result of a translation.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// The proxies by node role, `<system namespace>~<proxy>`.
    pub proxies: BTreeMap<String, Proxy>,
    /// What there is to say about every object of the input.
    pub reports: Reports,
    /// To be given to the next translation.
    pub last_good: LastGood,
}
