//! What a proxy is served, as the server says it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::admin::NameArgs;
use crate::client::{Client, query};

const PATH: &str = "/keyward/v1/served";

/// What the proxies of one role are told: xDS in the JSON of protobuf.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Served {
    pub(super) role: String,
    pub(super) version: String,
    pub(super) listeners: Vec<Value>,
    pub(super) routes: Vec<Value>,
    pub(super) clusters: Vec<Value>,
    pub(super) endpoints: Vec<Value>,
    pub(super) extension_configs: Vec<Value>,
    /// Their names.
    pub(super) secrets: Vec<Value>,
}

// === impl Served ===

impl Served {
    /// Asks for what a proxy is told.
    pub(super) async fn ask(name: &NameArgs) -> anyhow::Result<Self> {
        let target = name.remote.target()?;
        let role = name.role().await?;
        let answer = Client::new(&target)?.get(&query(PATH, &[("role", &role)])).await?;
        serde_json::from_value(answer.body)
            .map_err(|_| anyhow::anyhow!("{} says what this version does not understand", target.server))
    }
}
