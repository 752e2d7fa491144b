//! What the server says of its components and of the proxies that are connected: the answer to
//! `GET /keyward/v1/proxies`. Fields that are not looked at are not read.

use serde::Deserialize;

/// Everything that is connected.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct State {
    pub(crate) components: Vec<Component>,
    pub(crate) proxies: Vec<ProxyState>,
}

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Component {
    pub(crate) name: String,
    /// The namespace of the installation.
    #[serde(default)]
    pub(crate) namespace: Option<String>,
}

/// An Envoy.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ProxyState {
    pub(crate) role: String,
    pub(crate) node: String,
    /// Whether it has a stream for its configuration.
    pub(crate) connected: bool,
    pub(crate) workers: Workers,
    pub(crate) types: Vec<OneType>,
}

/// The threads of a proxy that hold keys.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Workers {
    pub(crate) total: usize,
    pub(crate) synced: usize,
    pub(crate) away: usize,
    /// What they lack who lack something.
    pub(crate) lacks: Vec<String>,
}

/// How a type of configuration stands with a proxy.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct OneType {
    #[serde(rename = "type")]
    pub(crate) name: String,
    pub(crate) state: Stands,
    #[serde(default)]
    pub(crate) since: Option<String>,
    #[serde(default)]
    pub(crate) error: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub(crate) enum Stands {
    #[serde(rename = "SYNCED")]
    Synced,
    #[serde(rename = "STALE")]
    Stale,
    #[serde(rename = "NOT SENT")]
    NotSent,
    #[serde(rename = "NACKED")]
    Nacked,
}

// === impl State ===

impl State {
    /// The namespace of the installation, as far as a component says it.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        self.components.iter().find_map(|component| component.namespace.as_deref())
    }

    /// Whether a proxy of a role takes its configuration from here.
    pub(crate) fn serves(&self, role: &str) -> bool {
        self.proxies.iter().any(|proxy| proxy.connected && proxy.role == role)
    }

    pub(crate) fn any_connected(&self) -> bool {
        self.proxies.iter().any(|proxy| proxy.connected)
    }
}

// === impl ProxyState ===

impl ProxyState {
    /// The namespace and the name of the Proxy whose role it has.
    pub(crate) fn proxy(&self) -> (&str, &str) {
        self.role.split_once('~').unwrap_or(("", &self.role))
    }

    /// Whether it was never sent anything.
    pub(crate) fn is_new(&self) -> bool {
        self.types.iter().all(|of| of.state == Stands::NotSent)
    }
}
