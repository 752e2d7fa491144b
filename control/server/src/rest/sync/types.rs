//! How each type of configuration stands with an Envoy.

use std::collections::BTreeMap;

use keyward_xds::{ClientStatus, Standing, TypeStatus, type_url};
use serde::Serialize;

/// The types by the names that people know them by.
pub(super) type Types = BTreeMap<&'static str, OneType>;

/// One type.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OneType {
    /// `Synced`, `Stale` while it has not answered to what is newer, `NotSent` while it was sent nothing, or
    /// `Nacked` while it refuses something.
    state: &'static str,
    /// How many resources it holds.
    held: usize,
    /// What it refuses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused: Vec<Refused>,
}

/// A resource that an Envoy refuses.
#[derive(Debug, Serialize)]
struct Refused {
    name: String,
    /// In its own words.
    message: String,
}

/// How the types stand that an Envoy has asked for.
pub(super) fn types(client: &ClientStatus) -> Types {
    let known = |status: &TypeStatus| Some((name(&status.type_url)?, one(client, status)));
    client.types.iter().filter_map(known).collect()
}

fn name(of: &str) -> Option<&'static str> {
    Some(match of {
        type_url::CLUSTER => "clusters",
        type_url::ENDPOINT => "endpoints",
        type_url::EXTENSION_CONFIG => "filters",
        type_url::LISTENER => "listeners",
        type_url::ROUTE => "routes",
        type_url::SECRET => "secrets",
        type_url::VIRTUAL_HOST => "virtualHosts",
        _ => return None,
    })
}

fn one(client: &ClientStatus, status: &TypeStatus) -> OneType {
    let refused = status
        .rejected
        .iter()
        .map(|rejected| Refused { name: rejected.name.to_string(), message: rejected.message.to_string() });
    OneType {
        state: match status.standing() {
            Standing::Refused => "Nacked",
            Standing::NotSent => "NotSent",
            Standing::Synced if !client.behind => "Synced",
            Standing::Synced | Standing::Stale => "Stale",
        },
        held: status.held,
        refused: refused.collect(),
    }
}

// === impl OneType ===

impl OneType {
    /// Leaves out names, and the proxy's own words, which have some in them.
    pub(super) fn hide(&mut self) {
        self.refused.clear();
    }
}
