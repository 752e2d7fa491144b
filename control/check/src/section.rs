//! What is looked at, in the order in which it is said.

use std::fmt;

/// One line of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Section {
    /// The control server, and the proxies that it serves.
    Deployments,
    /// The Envoys that are connected, and their workers.
    Pods,
    /// `Upstream`s.
    Upstreams,
    /// `UpstreamGroup`s.
    UpstreamGroups,
    /// `AuthConfig`s.
    AuthConfigs,
    /// `RateLimitConfig`s.
    RateLimitConfigs,
    /// `VirtualHostOption`s.
    VirtualHostOptions,
    /// `RouteOption`s.
    RouteOptions,
    /// Secrets.
    Secrets,
    /// `VirtualService`s.
    VirtualServices,
    /// `RouteTable`s.
    RouteTables,
    /// `Gateway`s.
    Gateways,
    /// What proxies make of what they are told.
    Proxies,
    /// All proxies together.
    XdsMetrics,
}

/// All of them, in order.
pub const SECTIONS: &[Section] = &[
    Section::Deployments,
    Section::Pods,
    Section::Upstreams,
    Section::UpstreamGroups,
    Section::AuthConfigs,
    Section::RateLimitConfigs,
    Section::VirtualHostOptions,
    Section::RouteOptions,
    Section::Secrets,
    Section::VirtualServices,
    Section::RouteTables,
    Section::Gateways,
    Section::Proxies,
    Section::XdsMetrics,
];

// === impl Section ===

impl Section {
    /// Its name in the report.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Deployments => "Deployments",
            Self::Pods => "Pods",
            Self::Upstreams => "Upstreams",
            Self::UpstreamGroups => "UpstreamGroups",
            Self::AuthConfigs => "AuthConfigs",
            Self::RateLimitConfigs => "RateLimitConfigs",
            Self::VirtualHostOptions => "VirtualHostOptions",
            Self::RouteOptions => "RouteOptions",
            Self::Secrets => "Secrets",
            Self::VirtualServices => "VirtualServices",
            Self::RouteTables => "RouteTables",
            Self::Gateways => "Gateways",
            Self::Proxies => "Proxies",
            Self::XdsMetrics => "xds metrics",
        }
    }

    /// Its name where it is left out, as in the original product.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Deployments => "deployments",
            Self::Pods => "pods",
            Self::Upstreams => "upstreams",
            Self::UpstreamGroups => "upstreamgroup",
            Self::AuthConfigs => "auth-configs",
            Self::RateLimitConfigs => "rate-limit-configs",
            Self::VirtualHostOptions => "virtual-host-options",
            Self::RouteOptions => "route-options",
            Self::Secrets => "secrets",
            Self::VirtualServices => "virtual-services",
            Self::RouteTables => "route-tables",
            Self::Gateways => "gateways",
            Self::Proxies => "proxies",
            Self::XdsMetrics => "xds-metrics",
        }
    }

    /// The section of this name, singular or plural.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let bare = |word: &str| word.trim_end_matches('s').replace('-', "").to_lowercase();
        SECTIONS.iter().copied().find(|section| bare(section.word()) == bare(word))
    }

    /// The kind of object that it looks at, and what that is called in messages.
    #[must_use]
    pub fn kind(self) -> Option<(&'static str, &'static str)> {
        Some(match self {
            Self::Deployments => ("Settings", "settings"),
            Self::Upstreams => ("Upstream", "upstream"),
            Self::UpstreamGroups => ("UpstreamGroup", "upstream group"),
            Self::AuthConfigs => ("AuthConfig", "auth config"),
            Self::RateLimitConfigs => ("RateLimitConfig", "rate limit config"),
            Self::VirtualHostOptions => ("VirtualHostOption", "VirtualHostOption"),
            Self::RouteOptions => ("RouteOption", "RouteOption"),
            Self::Secrets => ("Secret", "secret"),
            Self::VirtualServices => ("VirtualService", "virtual service"),
            Self::RouteTables => ("RouteTable", "route table"),
            Self::Gateways => ("Gateway", "gateway"),
            Self::Proxies => ("Proxy", "proxy"),
            Self::Pods | Self::XdsMetrics => return None,
        })
    }
}

impl fmt::Display for Section {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}
