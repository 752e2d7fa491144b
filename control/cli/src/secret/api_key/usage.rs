//! When keys were used last, and how often: what the workers of all proxies have reported.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::client::ClientError;
use crate::remote::Remote;

const PATH: &str = "/keyward/v1/usage";

/// The uses of one identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Used {
    /// How often its keys were accepted.
    pub(super) uses: u64,
    /// When that was last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) last_used: Option<Timestamp>,
}

/// The uses of all.
#[derive(Debug, Default)]
pub(super) struct Usage(HashMap<(String, String), Used>);

#[derive(Debug, Deserialize)]
struct Answer {
    items: Vec<Item>,
}

#[derive(Debug, Deserialize)]
struct Item {
    namespace: String,
    name: String,
    #[serde(flatten)]
    used: Used,
}

// === impl Usage ===

impl Usage {
    /// Reads it; none where the server does not count.
    pub(super) async fn read(remote: &Remote) -> Result<Option<Self>, ClientError> {
        let answer = match remote.client.get(PATH).await {
            Err(error) if error.is_not_found() => return Ok(None),
            answer => answer?.body,
        };
        let Ok(answer) = serde_json::from_value::<Answer>(answer) else { return Ok(None) };
        let items = answer.items.into_iter().map(|item| ((item.namespace, item.name), item.used));
        Ok(Some(Self(items.collect())))
    }

    /// The uses of an identity.
    pub(super) fn of(&self, namespace: &str, name: &str) -> Used {
        let used = self.0.get(&(namespace.to_owned(), name.to_owned()));
        used.copied().unwrap_or(Used { uses: 0, last_used: None })
    }
}
