//! The kinds, one file each: fields, domain type and the way from one to the other.

pub mod auth_config;
pub mod gateway;
pub mod namespace;
pub mod options;
pub mod route;
pub mod route_option;
pub mod route_table;
mod routing;
pub mod secret;
pub mod upstream;
pub mod virtual_host_option;
pub mod virtual_service;

pub use auth_config::{ApiKeyAuth, AuthConfig};
pub use gateway::Gateway;
pub use options::ExtAuth;
pub use route::{Matcher, Route};
pub use route_option::RouteOption;
pub use route_table::RouteTable;
pub use secret::{ApiKeySecret, KeyProblem};
pub use upstream::{HostAddr, StaticHost, Upstream};
pub use virtual_host_option::VirtualHostOption;
pub use virtual_service::VirtualService;

use crate::meta::{Meta, ObjectKey};

/// An object of any kind, valid by construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resource {
    /// A `Namespace`.
    Namespace(Meta),
    /// A `Secret` of the key type.
    ApiKeySecret(ApiKeySecret),
    /// A `Secret` of another type, such as `kubernetes.io/tls`: stored and served, no API key.
    OtherSecret(Meta),
    /// An `AuthConfig`.
    AuthConfig(AuthConfig),
    /// An `Upstream`.
    Upstream(Upstream),
    /// A `VirtualService`.
    VirtualService(VirtualService),
    /// A `RouteTable`.
    RouteTable(RouteTable),
    /// A `VirtualHostOption`.
    VirtualHostOption(VirtualHostOption),
    /// A `RouteOption`.
    RouteOption(RouteOption),
    /// A `Gateway`.
    Gateway(Gateway),
}

// === impl Resource ===

impl Resource {
    /// The metadata.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        match self {
            Self::ApiKeySecret(secret) => &secret.meta,
            Self::Namespace(meta) | Self::OtherSecret(meta) => meta,
            Self::AuthConfig(config) => &config.meta,
            Self::Upstream(upstream) => &upstream.meta,
            Self::VirtualService(service) => &service.meta,
            Self::RouteTable(table) => &table.meta,
            Self::VirtualHostOption(option) => &option.meta,
            Self::RouteOption(option) => &option.meta,
            Self::Gateway(gateway) => &gateway.meta,
        }
    }

    /// The metadata, for what an object does not say of itself: see [`Meta::created`].
    pub fn meta_mut(&mut self) -> &mut Meta {
        match self {
            Self::ApiKeySecret(secret) => &mut secret.meta,
            Self::Namespace(meta) | Self::OtherSecret(meta) => meta,
            Self::AuthConfig(config) => &mut config.meta,
            Self::Upstream(upstream) => &mut upstream.meta,
            Self::VirtualService(service) => &mut service.meta,
            Self::RouteTable(table) => &mut table.meta,
            Self::VirtualHostOption(option) => &mut option.meta,
            Self::RouteOption(option) => &mut option.meta,
            Self::Gateway(gateway) => &mut gateway.meta,
        }
    }

    /// The kind and the name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        let kind = match self {
            Self::Namespace(_) => namespace::KIND.name,
            Self::ApiKeySecret(_) | Self::OtherSecret(_) => secret::KIND.name,
            Self::AuthConfig(_) => auth_config::KIND.name,
            Self::Upstream(_) => upstream::KIND.name,
            Self::VirtualService(_) => virtual_service::KIND.name,
            Self::RouteTable(_) => route_table::KIND.name,
            Self::VirtualHostOption(_) => virtual_host_option::KIND.name,
            Self::RouteOption(_) => route_option::KIND.name,
            Self::Gateway(_) => gateway::KIND.name,
        };
        ObjectKey::new(kind, &self.meta().namespace, &self.meta().name)
    }
}
