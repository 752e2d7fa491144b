//! A Secret for tests.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Map, Value, json};

/// A Secret with an API key, as a server shows it, with these entries.
pub(crate) fn secret(entries: &[(&str, &str)]) -> Value {
    let data: Map<String, Value> = entries
        .iter()
        .map(|(name, text)| ((*name).to_owned(), BASE64_STANDARD.encode(text).into()))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "extauth.keyward.io/apikey",
        "metadata": {
            "namespace": "team", "name": "ann", "creationTimestamp": "2026-01-01T00:00:00Z", "generation": 1,
            "uid": "11111111-2222-3333-4444-555555555555", "resourceVersion": "1",
        },
        "data": data,
        "status": { "state": "Accepted" },
    })
}
