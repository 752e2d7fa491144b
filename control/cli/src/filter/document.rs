//! From resources to the plugin configuration that says the same.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, bail, ensure};
use jiff::Timestamp;
use keyward_filter_core::config::{AUTH_ID_SEPARATOR, DEFAULT_IDENTITY_HEADER};
use keyward_filter_core::standalone::API_VERSION;
use keyward_resource::kinds::auth_config::KeyPlace;
use keyward_resource::kinds::{ApiKeyAuth, ApiKeySecret, AuthConfig};
use serde_json::{Map, Value, json};

use super::source::Source;
use crate::hex::hex;

/// A plugin configuration.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) value: Value,
    /// What people should know of it.
    pub(super) notes: Vec<String>,
}

/// A key of a Secret: the present one, or the one before it.
struct Key<'a> {
    secret: &'a ApiKeySecret,
    sha256: [u8; 32],
    not_before: Option<u64>,
    expires_at: Option<u64>,
    policies: BTreeSet<&'a str>,
}

/// Makes a configuration.
pub(super) fn make(mut source: Source, identity_header: &str) -> anyhow::Result<Document> {
    ensure!(
        !source.auth_configs.is_empty(),
        "there is no AuthConfig in the files: nothing says what is asked"
    );
    source.secrets.sort_by_key(|secret| secret.meta.object_ref());
    let mut policies = BTreeMap::new();
    for config in &source.auth_configs {
        let name = config.meta.object_ref().to_string();
        let auth = only_step(config).with_context(|| format!("AuthConfig {name}"))?;
        if policies.insert(name.clone(), auth).is_some() {
            bail!("AuthConfig {name} stands in the files twice");
        }
    }
    let mut notes = Vec::new();
    let keys = keys(&source.secrets, &policies, &mut notes)?;
    let told: BTreeSet<&str> = policies.values().flat_map(|auth| told(auth)).collect();
    let mut value = json!({
        "apiVersion": API_VERSION,
        "policies": policies.iter().map(|(name, auth)| (name.clone(), policy(auth))).collect::<Map<_, _>>(),
        "keys": keys
            .iter()
            .map(|key| entry(key, policies.len(), &told))
            .collect::<anyhow::Result<Vec<_>>>()?,
    });
    if identity_header != DEFAULT_IDENTITY_HEADER {
        value["identityHeader"] = identity_header.into();
    }
    let names: Vec<&String> = policies.keys().collect();
    if let [only] = names.as_slice() {
        value["defaultPolicy"] = only.as_str().into();
    } else {
        let separator = char::from(AUTH_ID_SEPARATOR);
        let route = |name: &&String| json!({ "prefix": format!("{name}{separator}"), "policy": name });
        value["routes"] = names.iter().map(route).collect();
        notes.push(format!(
            "there are several AuthConfigs: a route asks for the one that its name begins with, as in {}{separator}orders; \
             all others are closed",
            names.first().map_or("", |name| name.as_str())
        ));
    }
    if keys.is_empty() {
        notes.push("no Secret in the files is selected: no key opens anything".to_owned());
    }
    Ok(Document { value, notes })
}

/// The one thing that an AuthConfig asks for.
fn only_step(config: &AuthConfig) -> anyhow::Result<&ApiKeyAuth> {
    match config.steps.as_slice() {
        [step] if config.rule.is_none() => Ok(&step.api_key_auth),
        _ => bail!("it combines several configs, which only a control server tells the filter"),
    }
}

fn told(auth: &ApiKeyAuth) -> impl Iterator<Item = &str> {
    auth.headers_from_metadata.values().map(|entry| entry.name.as_str())
}

fn policy(auth: &ApiKeyAuth) -> Value {
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

/// The keys that any policy accepts. Of several Secrets with one key the one that was created first counts, and
/// by namespace and name where that is not told: since when each holds it only a control server knows.
fn keys<'a>(
    secrets: &'a [ApiKeySecret],
    policies: &'a BTreeMap<String, &ApiKeyAuth>,
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Key<'a>>> {
    let mut keys: Vec<Key<'_>> = Vec::new();
    let mut taken: BTreeMap<[u8; 32], usize> = BTreeMap::new();
    let mut secrets: Vec<&ApiKeySecret> = secrets.iter().collect();
    secrets.sort_by(|one, other| one.meta.creation_timestamp.cmp(&other.meta.creation_timestamp));
    for secret in secrets {
        let name = secret.meta.object_ref();
        let selecting = policies.iter().filter(|(_, auth)| selects(auth, secret));
        let (accepting, lacking): (Vec<_>, Vec<_>) =
            selecting.partition(|(_, auth)| has_required(auth, secret));
        for (policy, _) in lacking {
            notes.push(format!(
                "Secret {name} has not all that AuthConfig {policy} requires: it is left out there"
            ));
        }
        let accepting: BTreeSet<&str> = accepting.into_iter().map(|(policy, _)| policy.as_str()).collect();
        if accepting.is_empty() {
            continue;
        }
        let key = match secret.key {
            Ok(key) => key,
            Err(problem) => bail!("Secret {name}: {problem}"),
        };
        let present = Some((key, secret.life.not_before, secret.life.expires_at));
        let previous = secret.previous.map(|previous| (previous.key, None, Some(previous.expires_at)));
        for (sha256, not_before, expires_at) in [present, previous].into_iter().flatten() {
            if let Some(first) = taken.get(&sha256).and_then(|at| keys.get(*at)) {
                let first_name = first.secret.meta.object_ref();
                ensure!(
                    accepting.is_subset(&first.policies),
                    "the Secrets {first_name} and {name} have the same key, for different AuthConfigs: which of \
                     them it belongs to, a filter by itself cannot tell"
                );
                notes.push(format!("Secret {name} has the same key as {first_name}, which counts"));
                continue;
            }
            taken.insert(sha256, keys.len());
            keys.push(Key { secret, sha256, not_before, expires_at, policies: accepting.clone() });
        }
    }
    Ok(keys)
}

/// Whether an AuthConfig selects a Secret: by its labels, or by its name.
fn selects(auth: &ApiKeyAuth, secret: &ApiKeySecret) -> bool {
    let labels = &secret.meta.labels;
    let by_labels = !auth.label_selector.is_empty()
        && auth.label_selector.iter().all(|(name, value)| labels.get(name) == Some(value));
    by_labels || auth.secret_refs.contains(&secret.meta.object_ref())
}

fn has_required(auth: &ApiKeyAuth, secret: &ApiKeySecret) -> bool {
    let required = auth.headers_from_metadata.values().filter(|entry| entry.required);
    required.map(|entry| metadata(secret, &entry.name)).all(|value| value.is_some())
}

/// An entry as JSON can say it.
fn metadata<'a>(secret: &'a ApiKeySecret, name: &str) -> Option<&'a str> {
    str::from_utf8(secret.metadata.get(name)?.header_value()?).ok()
}

fn entry(key: &Key<'_>, policies: usize, told: &BTreeSet<&str>) -> anyhow::Result<Value> {
    let Key { secret, sha256, .. } = key;
    let mut entry = json!({ "sha256": hex(sha256), "identity": secret.meta.name });
    if let Some(time) = key.not_before {
        entry["notBefore"] = rfc3339(time)?.into();
    }
    if let Some(time) = key.expires_at {
        entry["expiresAt"] = rfc3339(time)?.into();
    }
    if secret.life.disabled {
        entry["disabled"] = true.into();
    }
    for name in told {
        if let Some(value) = metadata(secret, name) {
            entry["metadata"][*name] = value.into();
        }
    }
    if key.policies.len() < policies {
        entry["policies"] = json!(key.policies);
    }
    Ok(entry)
}

fn rfc3339(milliseconds: u64) -> anyhow::Result<String> {
    Ok(Timestamp::from_millisecond(i64::try_from(milliseconds)?)?.to_string())
}
