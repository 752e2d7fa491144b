//! Routes on which only some of those pass whose keys are valid.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use keyward_filter_core::config::AUTH_ID_SEPARATOR;
use keyward_resource::State;
use keyward_resource::kinds::AuthConfig;
use keyward_resource::kinds::options::AllowList;
use keyward_translate::proxy::allow_lists;
use keyward_translate::{Input, LastGood, translate};
use serde_json::{Value, json};

use super::document::Key;
use crate::translate::settings::usual;

/// The installation that routes are translated for: nothing of it stands in what is made.
const SYSTEM_NAMESPACE: &str = "keyward-system";

/// The entries of `routes` for all lists that the resources have, under the names that a control server gives
/// these routes.
pub(super) fn routes(
    input: &Input,
    policies: &BTreeMap<String, &AuthConfig>,
    keys: &[Key<'_>],
    notes: &mut Vec<String>,
) -> anyhow::Result<Vec<Value>> {
    let translated = translate(input, &usual(SYSTEM_NAMESPACE), &LastGood::default());
    for (object, report) in translated.reports.iter().filter(|(_, report)| report.state == State::Rejected) {
        notes.push(format!("{object} is rejected: {}", report.reasons.join("; ")));
    }
    let mut routes = Vec::new();
    for (config, lists) in allow_lists(translated.proxies.values()) {
        let name = config.to_string();
        if !policies.contains_key(&name) {
            continue;
        }
        for (auth_id, list) in lists {
            let allowed = identities(&name, &list, keys)?;
            let prefix = format!("{auth_id}{}", char::from(AUTH_ID_SEPARATOR));
            notes.push(format!(
                "routes whose names begin with {prefix} ask for {name} and allow {} of its keys' owners",
                allowed.len()
            ));
            routes.push(json!({ "prefix": prefix, "policy": name, "allowed": allowed }));
        }
    }
    Ok(routes)
}

/// Whom a list allows, of those whose keys the AuthConfig accepts.
fn identities<'k>(config: &str, list: &AllowList, keys: &'k [Key<'_>]) -> anyhow::Result<BTreeSet<&'k str>> {
    let of_config = keys.iter().filter(|key| key.configs.iter().any(|(policy, _)| *policy == config));
    let (on, off): (Vec<_>, Vec<_>) =
        of_config.partition(|key| list.allows(&key.secret.meta.name, &key.secret.meta.labels));
    let on: BTreeSet<&str> = on.into_iter().map(|key| key.secret.meta.name.as_str()).collect();
    for key in off {
        let secret = key.secret.meta.object_ref();
        ensure!(
            !on.contains(secret.name.as_str()),
            "a route of AuthConfig {config} allows by labels somebody with the name of {secret}, and not that one: \
             a filter by itself tells them apart by their names alone"
        );
    }
    Ok(on)
}
