//! AuthConfigs in a table.

use serde_json::Value;

use super::reference::{dotted, list, names, text};
use super::status;
use super::{Cell, Shape, line};

pub(super) const SHAPE: Shape = Shape {
    kind: "AuthConfig",
    columns: &[("Type", types)],
    wide: &[("Header", headers), ("Keys", keys), ("Status", status::cell)],
};

/// The original's words for the methods.
const TYPES: &[(&str, &str)] = &[
    ("apiKeyAuth", "ApiKey"),
    ("basicAuth", "Basic Auth"),
    ("hmacAuth", "HMAC"),
    ("ldap", "LDAP"),
    ("oauth", "Oauth"),
    ("oauth2", "Oauth"),
    ("opaAuth", "OPA"),
    ("passThroughAuth", "Passthrough GRPC"),
    ("pluginAuth", "Plugin"),
];

/// One line a method.
fn types(object: &Value) -> Cell {
    let types: Cell = list(&object["spec"]["configs"])
        .map(|config| {
            let known = TYPES.iter().find(|(field, _)| config.get(field).is_some());
            known.map_or("unknown", |(_, word)| word).to_owned()
        })
        .collect();
    if types.is_empty() { line("N/A") } else { types }
}

fn api_keys(object: &Value) -> impl Iterator<Item = &Value> {
    list(&object["spec"]["configs"]).map(|config| &config["apiKeyAuth"]).filter(|auth| auth.is_object())
}

fn headers(object: &Value) -> Cell {
    api_keys(object).map(|auth| auth["headerName"].as_str().unwrap_or("api-key").to_owned()).collect()
}

/// Which Secrets: by labels, and by name.
fn keys(object: &Value) -> Cell {
    let mut lines = Vec::new();
    for auth in api_keys(object) {
        for source in [auth, &auth["k8sSecretApikeyStorage"]] {
            let labels = &source["labelSelector"];
            let pairs: Vec<_> =
                names(labels).map(|label| format!("{label}={}", text(&labels[label]))).collect();
            if !pairs.is_empty() {
                lines.push(pairs.join(","));
            }
            lines.extend(list(&source["apiKeySecretRefs"]).map(|secret| dotted(object, secret)));
        }
    }
    lines
}
