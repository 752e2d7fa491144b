//! Which AuthConfigs are accepted, and the policies that they make.

use std::collections::{BTreeMap, BTreeSet};

use keyward_filter_core::config::{Policy, Step};
use keyward_resource::kinds::auth_config::{ApiKeyAuth, AuthConfig};
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::kind::AUTH_CONFIG;
use crate::input::{Input, Settings};
use crate::proxy::{Auth, names};

/// The AuthConfigs, accepted and not.
pub(super) struct AuthConfigs<'a> {
    accepted: BTreeMap<&'a ObjectRef, &'a AuthConfig>,
    rejected: BTreeSet<&'a ObjectRef>,
}

/// Sorts the accepted from the rejected.
pub(super) fn check<'a>(input: &'a Input, settings: &Settings, reports: &mut Reports) -> AuthConfigs<'a> {
    let mut checked = AuthConfigs { accepted: BTreeMap::new(), rejected: BTreeSet::new() };
    for (reference, auth_config) in &input.auth_configs {
        let key = ObjectKey::new(AUTH_CONFIG, &reference.namespace, &reference.name);
        reports.accept(key.clone());
        let problems = problems(auth_config, settings);
        if problems.is_empty() {
            checked.accepted.insert(reference, auth_config);
        } else {
            checked.rejected.insert(reference);
        }
        for problem in problems {
            reports.reject(key.clone(), problem);
        }
    }
    checked
}

fn problems(auth_config: &AuthConfig, settings: &Settings) -> Vec<String> {
    let auth = &auth_config.api_key_auth;
    let mut problems = Vec::new();
    if auth.selects_nothing() {
        problems.push(ApiKeyAuth::SELECTS_NOTHING.to_owned());
    }
    // The underscore spellings are removed together with the header itself, see xds::identity.
    if auth.header_name.replace('_', "-").eq_ignore_ascii_case(&settings.identity_header.replace('_', "-")) {
        problems.push(format!(
            "headerName is {}, the identity header, which is removed from every request before it is looked at",
            auth.header_name
        ));
    }
    problems
}

// === impl AuthConfigs ===

impl AuthConfigs<'_> {
    /// The decision for a route that names this AuthConfig.
    pub(super) fn auth(&self, reference: &ObjectRef) -> Auth {
        let auth_id = names::auth_id(reference);
        if self.accepted.contains_key(reference) {
            return Auth::Secured { auth_id };
        }
        let state = if self.rejected.contains(reference) { "is rejected" } else { "is not found" };
        Auth::Denied { auth_id, reason: format!("AuthConfig {reference} {state}") }
    }

    /// The policies of all that are accepted, by auth id.
    pub(super) fn policies(&self) -> BTreeMap<String, Policy> {
        let policy = |(reference, config): (&&ObjectRef, &&AuthConfig)| {
            let auth_id = names::auth_id(reference);
            let auth = &config.api_key_auth;
            let step = Step { forward_key: auth.forward_key, ..Step::new(&auth.header_name, &auth_id) };
            let policy = Policy::of(step);
            (auth_id, policy)
        };
        self.accepted.iter().map(policy).collect()
    }
}
