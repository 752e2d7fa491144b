//! The kinds, one file each: fields, domain type and the way from one to the other.

pub mod auth_config;
pub mod gateway;
pub mod namespace;
pub mod options;
pub mod proxy;
pub mod rate_limit_config;
pub mod route;
pub mod route_option;
pub mod route_table;
mod routing;
pub mod secret;
pub mod settings;
pub mod ssl;
pub mod upstream;
pub mod upstream_group;
pub mod virtual_host_option;
pub mod virtual_service;

pub use auth_config::{ApiKeyAuth, AuthConfig, AuthRule, AuthStep};
pub use gateway::Gateway;
pub use options::ExtAuth;
pub use proxy::Proxy;
pub use rate_limit_config::RateLimitConfig;
pub use route::{Matcher, Route};
pub use route_option::RouteOption;
pub use route_table::RouteTable;
pub use secret::{ApiKeySecret, KeyLife, KeyProblem, TlsSecret};
pub use settings::Settings;
pub use ssl::{SslConfig, SslSource, UpstreamSslConfig};
pub use upstream::{HostAddr, StaticHost, Upstream};
pub use upstream_group::UpstreamGroup;
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
    /// A `Secret` with a certificate and its key, or with root certificates.
    TlsSecret(TlsSecret),
    /// A `Secret` of another type: stored and served, without an effect.
    OtherSecret(Meta),
    /// An `AuthConfig`.
    AuthConfig(AuthConfig),
    /// An `Upstream`.
    Upstream(Upstream),
    /// An `UpstreamGroup`.
    UpstreamGroup(UpstreamGroup),
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
    /// The `Settings`.
    Settings(Settings),
    /// A `RateLimitConfig`.
    RateLimitConfig(RateLimitConfig),
    /// A `Proxy`.
    Proxy(Proxy),
}

// === impl Resource ===

impl Resource {
    /// The metadata.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        match self {
            Self::ApiKeySecret(secret) => &secret.meta,
            Self::TlsSecret(secret) => &secret.meta,
            Self::Namespace(meta) | Self::OtherSecret(meta) => meta,
            Self::AuthConfig(config) => &config.meta,
            Self::Upstream(upstream) => &upstream.meta,
            Self::VirtualService(service) => &service.meta,
            Self::RouteTable(table) => &table.meta,
            Self::VirtualHostOption(option) => &option.meta,
            Self::RouteOption(option) => &option.meta,
            Self::Gateway(gateway) => &gateway.meta,
            Self::UpstreamGroup(group) => &group.meta,
            Self::Settings(settings) => &settings.meta,
            Self::RateLimitConfig(config) => &config.meta,
            Self::Proxy(proxy) => &proxy.meta,
        }
    }

    /// The metadata, for what an object does not say of itself: see [`Meta::created`].
    pub fn meta_mut(&mut self) -> &mut Meta {
        match self {
            Self::ApiKeySecret(secret) => &mut secret.meta,
            Self::TlsSecret(secret) => &mut secret.meta,
            Self::Namespace(meta) | Self::OtherSecret(meta) => meta,
            Self::AuthConfig(config) => &mut config.meta,
            Self::Upstream(upstream) => &mut upstream.meta,
            Self::VirtualService(service) => &mut service.meta,
            Self::RouteTable(table) => &mut table.meta,
            Self::VirtualHostOption(option) => &mut option.meta,
            Self::RouteOption(option) => &mut option.meta,
            Self::Gateway(gateway) => &mut gateway.meta,
            Self::UpstreamGroup(group) => &mut group.meta,
            Self::Settings(settings) => &mut settings.meta,
            Self::RateLimitConfig(config) => &mut config.meta,
            Self::Proxy(proxy) => &mut proxy.meta,
        }
    }

    /// The kind and the name.
    #[must_use]
    pub fn key(&self) -> ObjectKey {
        let kind = match self {
            Self::Namespace(_) => namespace::KIND.name,
            Self::ApiKeySecret(_) | Self::TlsSecret(_) | Self::OtherSecret(_) => secret::KIND.name,
            Self::AuthConfig(_) => auth_config::KIND.name,
            Self::Upstream(_) => upstream::KIND.name,
            Self::VirtualService(_) => virtual_service::KIND.name,
            Self::RouteTable(_) => route_table::KIND.name,
            Self::VirtualHostOption(_) => virtual_host_option::KIND.name,
            Self::RouteOption(_) => route_option::KIND.name,
            Self::Gateway(_) => gateway::KIND.name,
            Self::UpstreamGroup(_) => upstream_group::KIND.name,
            Self::Settings(_) => settings::KIND.name,
            Self::RateLimitConfig(_) => rate_limit_config::KIND.name,
            Self::Proxy(_) => proxy::KIND.name,
        };
        ObjectKey::new(kind, &self.meta().namespace, &self.meta().name)
    }
}
