//! What the index has to say about Secrets and `AuthConfig`s. Never a key, nor a digest.

use std::sync::Arc;

use keyward_filter_core::record::MAX_RECORD_LEN;
use keyward_filter_core::wire::Digest;
use keyward_resource::kinds::auth_config::ApiKeyAuth;
use keyward_resource::{ObjectKey, ObjectRef, Report, Reports};

use super::{AllowList, Config, KeyIndex, List, StepId};
use crate::secrets::Secret;

pub(super) const SECRET: &str = "Secret";
pub(super) const AUTH_CONFIG: &str = "AuthConfig";

/// The most sentences of one sort about one object, and the most names in one sentence; the rest is
/// counted. A status is for people.
const MANY: usize = 10;

// === impl KeyIndex ===

impl KeyIndex {
    /// The reports on all Secrets of the key type and all `AuthConfig`s. Costs time in their
    /// number: for one object, ask for [its report](Self::report).
    #[must_use]
    pub fn reports(&self) -> Reports {
        let mut reports = Reports::default();
        for secret in self.secrets.iter() {
            self.report_secret(secret, &mut reports);
        }
        for id in self.secrets.unwatched() {
            report_unwatched(id, &mut reports);
        }
        for ((id, _), config) in self.watched_configs() {
            self.report_config(id, config, &mut reports);
        }
        reports
    }

    /// The report on one Secret or `AuthConfig`; `None` when the index does not know it, or when it is
    /// an `AuthConfig` that is not watched.
    #[must_use]
    pub fn report(&self, object: &ObjectKey) -> Option<Report> {
        let id = object.object_ref();
        let mut reports = Reports::default();
        match object.kind {
            SECRET if self.secrets.is_unwatched(&id) => report_unwatched(&id, &mut reports),
            SECRET => self.report_secret(self.secrets.get(&id)?, &mut reports),
            AUTH_CONFIG if self.secrets.watches(&id.namespace) => {
                for step in self.steps_of(&id) {
                    self.report_config(&id, self.configs.get(step)?, &mut reports);
                }
            }
            _ => return None,
        }
        reports.get(object).cloned()
    }

    fn watched_configs(&self) -> impl Iterator<Item = (&StepId, &Config)> {
        self.configs.iter().filter(|((id, _), _)| self.secrets.watches(&id.namespace))
    }

    fn report_secret(&self, secret: &Secret, reports: &mut Reports) {
        let object = ObjectKey::new(SECRET, &secret.id.namespace, &secret.id.name);
        reports.accept(object.clone());
        if secret.trailing_newline {
            reports.warn(object.clone(), "the newline at the end of data.api-key is not part of the key");
        }
        if let Some(problem) = secret.problem() {
            let sentence = format!("holds no usable key and is skipped: {problem}");
            if secret.is_unreadable() {
                // Nobody could write it so today; without its key there is nothing of it to be served.
                reports.reject(object, sentence);
            } else {
                reports.warn(object, sentence);
            }
            return;
        }
        for ((id, _), config) in self.watched_configs() {
            let Some(selection) = config.selection.as_ref().filter(|selection| selection.selects(secret))
            else {
                continue;
            };
            let Some(group) = self.group(config) else { continue };
            let of = match &config.name {
                Some(name) => format!("AuthConfig {id}, config {name}"),
                None => format!("AuthConfig {id}"),
            };
            for lacking in selection.lacking(secret).take(MANY) {
                let sentence = format!(
                    "selected by {of}, which requires data.{lacking} for a header: it is missing or no header \
                     can carry it, so the key is not valid there"
                );
                reports.warn(object.clone(), sentence);
            }
            if !selection.fits(secret) {
                let sentence = format!(
                    "selected by {of}, which puts data of it into headers: they are longer than \
                     {MAX_RECORD_LEN} bytes, so the key is not valid there"
                );
                reports.warn(object.clone(), sentence);
            }
            let shares =
                |digest: &Digest| group.shared.contains(digest) && !self.secrets.is_over(secret, digest);
            for digest in secret.keys().filter(shares) {
                if selection.accepts(secret) {
                    let same = self.same_key(config, &digest);
                    reports.warn(object.clone(), format!("selected by {of}: {same}"));
                }
            }
        }
    }

    fn report_config(&self, id: &ObjectRef, config: &Config, reports: &mut Reports) {
        let object = ObjectKey::new(AUTH_CONFIG, &id.namespace, &id.name);
        reports.accept(object.clone());
        let Some(group) = self.group(config) else {
            reports.reject(object, config.says(ApiKeyAuth::SELECTS_NOTHING));
            return;
        };
        let mut warn = |sentence: &str| reports.warn(object.clone(), config.says(sentence));
        if group.selected == 0 {
            warn("no Secret is selected: all requests are denied");
        } else if group.tables.all.is_empty() {
            warn("no selected Secret holds a usable key: all requests are denied");
        }
        let nobody = |list: &&List| group.tables.get(Some(&list.list)).is_none_or(|table| table.is_empty());
        for List { list, .. } in config.lists.iter().filter(nobody).take(MANY) {
            warn(&format!(
                "none of its keys is of anybody whom extauth.allowed of a route names ({}): every valid key is \
                 denied there with 403",
                named(list)
            ));
        }
        if group.incomplete > 0 {
            warn(&format!(
                "{} of the selected Secrets lack data that a header requires, or have too much of them: their \
                 keys are not valid",
                group.incomplete
            ));
        }
        for unreadable in group.unreadable.iter().take(MANY) {
            if let Some(problem) = self.secrets.get(unreadable).and_then(|secret| secret.problem()) {
                warn(&format!("the key of Secret {unreadable} is not valid: {problem}"));
            }
        }
        if let Some(more) = beyond(group.unreadable.len()) {
            warn(&format!(
                "the keys of {more} more Secrets are not valid because of what stands beside them"
            ));
        }
        for missing in group.missing.iter().take(MANY) {
            let why = if self.secrets.is_unwatched(missing) {
                "whose namespace is not watched"
            } else {
                "which does not exist or holds no API key"
            };
            warn(&format!("apiKeySecretRefs names Secret {missing}, {why}"));
        }
        if let Some(more) = beyond(group.missing.len()) {
            warn(&format!("apiKeySecretRefs names {more} more Secrets that do not exist"));
        }
        for digest in group.shared.iter().take(MANY) {
            warn(&self.same_key(config, digest));
        }
        if let Some(more) = beyond(group.shared.len()) {
            warn(&format!("{more} more keys are held by several of the selected Secrets"));
        }
    }

    /// Names the selected Secrets that hold the same key, and whose key it is.
    fn same_key(&self, config: &Config, digest: &Digest) -> String {
        let holders: Vec<&Arc<Secret>> = config
            .holders(&self.secrets, digest)
            .filter(|secret| !self.secrets.is_over(secret, digest))
            .collect();
        let names: Vec<String> = holders.iter().take(MANY).map(|secret| secret.id.to_string()).collect();
        let more = beyond(holders.len()).map(|more| format!(" and {more} more")).unwrap_or_default();
        let first = names.first().map_or("", String::as_str);
        format!("the Secrets {}{more} hold the same key: {first} is the identity", names.join(", "))
    }
}

// === impl Config ===

impl Config {
    /// A sentence about the step, named where there are several.
    fn says(&self, sentence: &str) -> String {
        match &self.name {
            Some(name) => format!("config {name}: {sentence}"),
            None => sentence.to_owned(),
        }
    }
}

/// The list as people wrote it, as far as it is short.
fn named(AllowList { identities, labels }: &AllowList) -> String {
    let labels = labels.iter().map(|(name, value)| format!("label {name}={value}"));
    let words: Vec<String> = identities.iter().cloned().chain(labels).collect();
    let more = beyond(words.len()).map(|more| format!(" and {more} more")).unwrap_or_default();
    let shown: Vec<String> = words.into_iter().take(MANY).collect();
    if shown.is_empty() { "nobody".to_owned() } else { format!("{}{more}", shown.join(", ")) }
}

/// A key that may be in use elsewhere must not vanish without a word.
fn report_unwatched(id: &ObjectRef, reports: &mut Reports) {
    let object = ObjectKey::new(SECRET, &id.namespace, &id.name);
    reports.accept(object.clone());
    reports
        .warn(object, "its namespace is not watched (Settings, spec.watchNamespaces): the key is not valid");
}

fn beyond(count: usize) -> Option<usize> {
    count.checked_sub(MANY).filter(|more| *more > 0)
}
