//! From an AuthConfig to a policy of the configuration.

use std::collections::BTreeMap;

use keyward_resource::kinds::auth_config::{AuthRule, AuthStep, KeyPlace};
use keyward_resource::kinds::{ApiKeyAuth, AuthConfig};
use serde_json::{Value, json};

/// What the filter is told of an AuthConfig.
pub(super) fn policy(config: &AuthConfig) -> Value {
    if let ([step], None) = (config.steps.as_slice(), &config.rule) {
        return one(&step.api_key_auth);
    }
    let configs = config.steps.iter().map(|step| {
        let mut written = one(&step.api_key_auth);
        written["name"] = step.name.as_str().into();
        written
    });
    let mut policy = json!({ "configs": configs.collect::<Vec<_>>() });
    if let Some(rule) = &config.rule {
        policy["booleanExpr"] = expression(rule, &config.steps).into();
    }
    policy
}

/// A rule as people write it.
fn expression(rule: &AuthRule, steps: &[AuthStep]) -> String {
    // Whatever has several parts stands in parentheses inside of something else.
    let part = |rule: &AuthRule| match rule {
        AuthRule::Step(_) | AuthRule::Not(_) => expression(rule, steps),
        AuthRule::All(_) | AuthRule::Any(_) => format!("({})", expression(rule, steps)),
    };
    let joined = |rules: &[AuthRule], sign: &str| rules.iter().map(part).collect::<Vec<_>>().join(sign);
    match rule {
        AuthRule::Step(at) => steps.get(*at).map(|step| step.name.clone()).unwrap_or_default(),
        AuthRule::Not(rule) => format!("!{}", part(rule)),
        AuthRule::All(rules) => joined(rules, " && "),
        AuthRule::Any(rules) => joined(rules, " || "),
    }
}

fn one(auth: &ApiKeyAuth) -> Value {
    let mut policy = json!({});
    if auth.places.is_empty() {
        policy["headerName"] = auth.header_name.as_str().into();
    } else {
        policy["keySource"] = key_source(&auth.places);
    }
    if auth.forward_key {
        policy["forwardKey"] = true.into();
    }
    if auth.anonymous {
        policy["anonymous"] = true.into();
    }
    for (header, entry) in &auth.headers_from_metadata {
        let mut written = json!({ "name": entry.name });
        if entry.required {
            written["required"] = true.into();
        }
        policy["headersFromMetadata"][header] = written;
    }
    policy
}

fn key_source(places: &[KeyPlace]) -> Value {
    let mut source: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for place in places {
        let (list, item) = match place {
            KeyPlace::Header { name, prefix: None } => ("headers", json!({ "header": name })),
            KeyPlace::Header { name, prefix } => ("headers", json!({ "header": name, "prefix": prefix })),
            KeyPlace::QueryParam(name) => ("queryParams", json!(name)),
            KeyPlace::Cookie(name) => ("cookies", json!(name)),
        };
        source.entry(list).or_default().push(item);
    }
    json!(source)
}
