//! When keys were used last, and how often: what the workers of all proxies have reported.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::client::{ClientError, query};
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
    #[serde(default)]
    metadata: Metadata,
    items: Vec<Item>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(rename = "continue")]
    next: Option<String>,
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
    /// Reads that of a namespace, or of all; none where the server does not count.
    pub(super) async fn read(remote: &Remote, namespace: Option<&str>) -> Result<Option<Self>, ClientError> {
        let mut all = HashMap::new();
        let mut next = String::new();
        loop {
            let of = namespace.map(|namespace| ("namespace", namespace));
            let after = (!next.is_empty()).then_some(("continue", next.as_str()));
            let pairs: Vec<_> = of.into_iter().chain(after).collect();
            let answer = match remote.client.get(&query(PATH, &pairs)).await {
                Err(error) if error.is_not_found() => return Ok(None),
                answer => answer?.body,
            };
            let Ok(answer) = serde_json::from_value::<Answer>(answer) else { return Ok(None) };
            all.extend(answer.items.into_iter().map(|item| ((item.namespace, item.name), item.used)));
            match answer.metadata.next {
                Some(token) if !token.is_empty() => next = token,
                _ => return Ok(Some(Self(all))),
            }
        }
    }

    /// The uses of an identity.
    pub(super) fn of(&self, namespace: &str, name: &str) -> Used {
        let used = self.0.get(&(namespace.to_owned(), name.to_owned()));
        used.copied().unwrap_or(Used { uses: 0, last_used: None })
    }
}
