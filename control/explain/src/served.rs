//! What the proxies of a role are served: xDS in the JSON of protobuf, as far as it decides about requests.
//!
//! Where a field decides which request fits, whatever is not known stands in `rest`, so that nobody takes a
//! condition that was not looked at for one that holds.

mod listener;
mod matching;
mod routes;

use std::collections::BTreeMap;

use keyward_filter_core::config::{FilterConfig, InvalidConfig};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use listener::{Chain, HttpFilter, Listener, Manager};
pub(crate) use matching::{HeaderMatcher, PathMatch, QueryMatcher, RouteMatch, StringMatcher};
pub(crate) use routes::{Action, Route, RouteConfiguration, Upgrade, VirtualHost};

/// The key in the metadata under which everything generated says where it comes from.
const ORIGIN: &str = "keyward.io";

/// Fields that are not known here.
pub(crate) type Rest = Map<String, Value>;

/// Everything that a proxy is told, less certificates.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Served {
    /// The role: `<namespace>~<proxy>`.
    pub role: String,
    /// Names the content.
    pub version: String,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) routes: Vec<RouteConfiguration>,
    pub(crate) clusters: Vec<Cluster>,
    #[serde(default)]
    pub(crate) endpoints: Vec<Endpoints>,
    pub(crate) extension_configs: Vec<Extension>,
}

/// What is served cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum ServedError {
    /// It is not what a server of this version says.
    #[error("what the proxy is served cannot be read: it is of another version")]
    Json(#[from] serde_json::Error),
    /// The filter would not take its configuration.
    #[error("the filter cannot read its configuration")]
    Filter(#[from] InvalidConfig),
}

/// An upstream.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Cluster {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) metadata: Metadata,
    #[serde(default)]
    eds_cluster_config: EdsConfig,
    #[serde(default)]
    load_assignment: Option<Endpoints>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct EdsConfig {
    service_name: String,
}

/// The hosts of an upstream.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Endpoints {
    cluster_name: String,
    #[serde(default)]
    endpoints: Vec<Locality>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Locality {
    #[serde(default)]
    lb_endpoints: Vec<Value>,
}

/// A filter that is delivered by itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Extension {
    pub(crate) name: String,
    pub(crate) typed_config: Value,
}

/// Where something comes from.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    filter_metadata: BTreeMap<String, Value>,
}

/// The object that something was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The route in it, in words.
    pub(crate) route: Option<String>,
}

/// The type of a packed message, without its package: `Router`.
pub(crate) fn type_of(packed: &Value) -> &str {
    let url = packed["@type"].as_str().unwrap_or_default();
    url.rsplit(['.', '/']).next().unwrap_or_default()
}

// === impl Served ===

impl Served {
    /// Reads what `GET /keyward/v1/served` answers.
    ///
    /// # Errors
    ///
    /// When it is something else.
    pub fn read(answer: &Value) -> Result<Self, ServedError> {
        Ok(Self::deserialize(answer)?)
    }

    pub(crate) fn routes(&self, name: &str) -> Option<&RouteConfiguration> {
        self.routes.iter().find(|routes| routes.name == name)
    }

    pub(crate) fn cluster(&self, name: &str) -> Option<&Cluster> {
        self.clusters.iter().find(|cluster| cluster.name == name)
    }

    /// How many hosts a cluster has.
    pub(crate) fn hosts(&self, cluster: &Cluster) -> usize {
        let service = &cluster.eds_cluster_config.service_name;
        let service = if service.is_empty() { &cluster.name } else { service };
        let own = cluster.load_assignment.iter();
        let told = self.endpoints.iter().filter(|endpoints| endpoints.cluster_name == *service);
        let localities = own.chain(told).flat_map(|endpoints| &endpoints.endpoints);
        localities.map(|locality| locality.lb_endpoints.len()).sum()
    }

    pub(crate) fn extension(&self, name: &str) -> Option<&Extension> {
        self.extension_configs.iter().find(|extension| extension.name == name)
    }
}

// === impl Extension ===

impl Extension {
    /// The configuration of the filter, if this is the filter.
    pub(crate) fn filter_config(&self) -> Option<Result<FilterConfig, ServedError>> {
        if type_of(&self.typed_config) != "Wasm" {
            return None;
        }
        let text = self.typed_config.pointer("/config/configuration/value").and_then(Value::as_str);
        Some(FilterConfig::read(text.unwrap_or_default().as_bytes()).map_err(ServedError::Filter))
    }
}

// === impl Metadata ===

impl Metadata {
    pub(crate) fn origin(&self) -> Option<Origin> {
        let entry = self.filter_metadata.get(ORIGIN)?;
        let text = |name: &str| entry[name].as_str().map(str::to_owned);
        Some(Origin {
            kind: text("kind")?,
            namespace: text("namespace")?,
            name: text("name")?,
            route: text("route"),
        })
    }
}

// === impl Origin ===

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
