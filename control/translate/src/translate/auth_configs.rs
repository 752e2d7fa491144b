//! Which AuthConfigs are accepted, and the policies that they make.

use std::collections::{BTreeMap, BTreeSet};

use keyward_filter_core::config::{MetadataHeader, Policy, Rule, Step, table_name};
use keyward_filter_core::place::Place;
use keyward_resource::kinds::auth_config::{ApiKeyAuth, AuthConfig, AuthRule, AuthStep, KeyPlace};
use keyward_resource::kinds::options::AllowList;
use keyward_resource::{ObjectKey, ObjectRef, Reports};

use super::kind::AUTH_CONFIG;
use super::refused::Refused;
use crate::input::{Input, Settings};
use crate::proxy::{Auth, names};

/// The AuthConfigs, accepted and not.
#[derive(Default)]
pub(super) struct AuthConfigs {
    policies: BTreeMap<ObjectRef, Policy>,
    rejected: BTreeSet<ObjectRef>,
}

/// Sorts the accepted from the rejected.
pub(super) fn check(
    input: &Input,
    settings: &Settings,
    refused: &Refused,
    reports: &mut Reports,
) -> AuthConfigs {
    let mut checked = AuthConfigs::default();
    for (reference, auth_config) in &input.auth_configs {
        let key = ObjectKey::new(AUTH_CONFIG, &reference.namespace, &reference.name);
        reports.accept(key.clone());
        auth_config.warnings.iter().for_each(|warning| reports.warn(key.clone(), warning.clone()));
        let mut problems = problems(reference, auth_config, settings);
        problems.extend(refused.current(&key).into_iter().flatten().cloned());
        if problems.is_empty() {
            checked.policies.insert(reference.clone(), policy(reference, auth_config));
        } else {
            checked.rejected.insert(reference.clone());
        }
        for problem in problems {
            reports.reject(key.clone(), problem);
        }
    }
    let unreadable = input.withheld.iter().filter(|object| {
        object.kind == AUTH_CONFIG && !input.auth_configs.contains_key(&object.object_ref())
    });
    checked.rejected.extend(unreadable.map(ObjectKey::object_ref));
    checked
}

fn policy(reference: &ObjectRef, auth_config: &AuthConfig) -> Policy {
    let auth_id = names::auth_id(reference);
    let step = |(at, step): (usize, &AuthStep)| {
        let auth = &step.api_key_auth;
        let headers = auth.headers_from_metadata.iter();
        let headers = headers
            .map(|(header, entry)| MetadataHeader { header: header.clone(), entry: entry.name.clone() });
        Step {
            forward_key: auth.forward_key,
            anonymous: auth.anonymous,
            headers: headers.collect(),
            places: auth.places.iter().map(place).collect(),
            ..Step::new(key_header(auth), table_name(&auth_id, at))
        }
    };
    let steps = auth_config.steps.iter().enumerate().map(step).collect();
    Policy::new(steps, auth_config.rule.as_ref().map(rule))
}

/// The one header, where there is no list of places.
fn key_header(auth: &ApiKeyAuth) -> &str {
    if auth.places.is_empty() { &auth.header_name } else { "" }
}

fn place(of: &KeyPlace) -> Place {
    match of {
        KeyPlace::Header { name, prefix } => Place::Header { name: name.clone(), prefix: prefix.clone() },
        KeyPlace::QueryParam(name) => Place::Query(name.clone()),
        KeyPlace::Cookie(name) => Place::Cookie(name.clone()),
    }
}

fn rule(of: &AuthRule) -> Rule {
    match of {
        AuthRule::Step(at) => Rule::Step(*at),
        AuthRule::Not(of) => Rule::Not(Box::new(rule(of))),
        AuthRule::All(all) => Rule::All(all.iter().map(rule).collect()),
        AuthRule::Any(any) => Rule::Any(any.iter().map(rule).collect()),
    }
}

fn problems(reference: &ObjectRef, auth_config: &AuthConfig, settings: &Settings) -> Vec<String> {
    let mut problems = Vec::new();
    for AuthStep { name, api_key_auth: auth } in &auth_config.steps {
        let of = if auth_config.steps.len() > 1 { format!("config {name}: ") } else { String::new() };
        if auth.selects_nothing() {
            problems.push(format!("{of}{}", ApiKeyAuth::SELECTS_NOTHING));
        }
        // Checked when it was written as well, but not with these settings, and maybe by older rules.
        let of_headers = auth.header_problems(&settings.identity_header);
        problems.extend(of_headers.into_iter().map(|problem| format!("{of}{problem}")));
    }
    if problems.is_empty() && !policy(reference, auth_config).demands_a_key() {
        problems.push("booleanExpr lets requests through without any valid key".to_owned());
    }
    problems
}

// === impl AuthConfigs ===

impl AuthConfigs {
    /// The decision for a route that names this AuthConfig, and may allow only some.
    pub(super) fn auth(&self, reference: &ObjectRef, allowed: Option<&AllowList>) -> Auth {
        if let Some(policy) = self.policies.get(reference) {
            return match allowed {
                None => Auth::Secured {
                    auth_id: names::auth_id(reference),
                    allowed: None,
                    open: policy.is_open(),
                },
                Some(list) => Auth::Secured {
                    auth_id: names::allowing(reference, list),
                    allowed: Some(list.clone()),
                    open: false,
                },
            };
        }
        let auth_id = names::auth_id(reference);
        let state = if self.rejected.contains(reference) { "is rejected" } else { "is not found" };
        Auth::Denied { auth_id, reason: format!("AuthConfig {reference} {state}") }
    }

    /// What the policy looks at on a route with this authentication.
    pub(super) fn steps(&self, auth: &Auth) -> &[Step] {
        let Auth::Secured { auth_id, .. } = auth else { return &[] };
        names::auth_config(auth_id).map_or(&[], |reference| self.steps_of(&reference))
    }

    /// The policy of a route with this authentication. Nobody is on a list without a key.
    pub(super) fn policy(&self, auth: &Auth) -> Option<Policy> {
        let Auth::Secured { auth_id, allowed, .. } = auth else { return None };
        let mut policy = self.policies.get(&names::auth_config(auth_id)?)?.clone();
        if allowed.is_some() {
            for (at, step) in policy.steps.iter_mut().enumerate() {
                step.anonymous = false;
                step.allowed = Some(table_name(auth_id, at));
            }
        }
        Some(policy)
    }

    /// What the policy of an AuthConfig looks at, if it makes one.
    pub(super) fn steps_of(&self, reference: &ObjectRef) -> &[Step] {
        self.policies.get(reference).map_or(&[], |policy| policy.steps.as_slice())
    }

    /// The policies of all that are accepted.
    pub(super) fn policies(&self) -> &BTreeMap<ObjectRef, Policy> {
        &self.policies
    }

    /// Those that are there and make no policy.
    pub(super) fn rejected(&self) -> &BTreeSet<ObjectRef> {
        &self.rejected
    }
}
