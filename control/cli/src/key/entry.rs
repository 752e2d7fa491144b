//! The keys of a Secret, as a list shows them.

use std::fmt;

use jiff::Timestamp;
use keyward_resource::kinds::secret::{ApiKeySecret, KeyProblem};
use keyward_resource::{Resource, decode, kind};
use serde::Serialize;
use serde_json::Value;

use super::life::of_milliseconds;
use crate::hex::hex;

#[cfg(test)]
mod tests;

/// Says when the key itself was made, where that is later than its Secret.
pub(crate) const KEY_CREATED: &str = "keyward.io/key-created-at";
/// How many digits of a digest name a key.
const ID_LEN: usize = 8;

/// One key. There is nothing in it that opens anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    /// What the upstream is told: the name of the Secret.
    pub(crate) identity: String,
    pub(crate) namespace: String,
    /// The first digits of its SHA-256.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) key_id: Option<String>,
    /// It is the key before the present one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) previous: bool,
    pub(crate) state: KeyState,
    /// Why there is no usable key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) problem: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_before: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<Timestamp>,
}

/// Whether a key is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum KeyState {
    /// It is.
    Active,
    /// Somebody switched it off.
    Disabled,
    /// Its time is over.
    Expired,
    /// Its time has not come.
    NotYetValid,
    /// There is no telling which key it is, or when it is valid.
    Unusable,
    /// Its Secret is deleted, and kept by finalizers alone.
    Deleted,
}

/// The digits that name a key.
pub(crate) fn id_of(sha256: &[u8; 32]) -> String {
    hex(&sha256[..ID_LEN / 2])
}

/// As the filter has it: a time that has come is over.
fn state(disabled: bool, not_before: Option<u64>, expires_at: Option<u64>, now: u64) -> KeyState {
    if disabled {
        KeyState::Disabled
    } else if expires_at.is_some_and(|until| until <= now) {
        KeyState::Expired
    } else if not_before.is_some_and(|from| now < from) {
        KeyState::NotYetValid
    } else {
        KeyState::Active
    }
}

/// Whether an object is deleted, and kept by finalizers alone: its keys are revoked.
pub(crate) fn is_deleted(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn created(object: &Value) -> Option<Timestamp> {
    let metadata = &object["metadata"];
    let annotated = metadata["annotations"][KEY_CREATED].as_str();
    [annotated, metadata["creationTimestamp"].as_str()].into_iter().flatten().find_map(|at| at.parse().ok())
}

// === impl Entry ===

impl Entry {
    /// Reads a Secret; none when it is of another type or cannot be read at all.
    pub(crate) fn secret(object: &Value) -> Option<ApiKeySecret> {
        // What the server says of it is no part of it.
        let parts = ["apiVersion", "kind", "metadata", "type", "data"];
        let parts = parts.into_iter().filter_map(|part| Some((part.to_owned(), object.get(part)?.clone())));
        match decode(kind::by_name("Secret")?, &Value::Object(parts.collect())).ok()? {
            Resource::ApiKeySecret(secret) => Some(secret),
            _ => None,
        }
    }

    /// The keys of a Secret, first the present one.
    pub(crate) fn all_of(object: &Value, now: Timestamp) -> Vec<Self> {
        let Some(secret) = Self::secret(object) else { return Vec::new() };
        let now = u64::try_from(now.as_millisecond()).unwrap_or(0);
        let life = secret.life;
        let present = Self {
            identity: secret.meta.name.clone(),
            namespace: secret.meta.namespace.clone(),
            key_id: secret.key.as_ref().ok().map(id_of),
            previous: false,
            state: match secret.key {
                Ok(_) => state(life.disabled, life.not_before, life.expires_at, now),
                Err(_) => KeyState::Unusable,
            },
            problem: secret.key.err().as_ref().map(KeyProblem::to_string),
            created: created(object),
            not_before: life.not_before.and_then(of_milliseconds),
            expires: life.expires_at.and_then(of_milliseconds),
        };
        let is_deleted = is_deleted(object);
        let mut entries = vec![present];
        if let Some(previous) = secret.previous {
            entries.push(Self {
                identity: secret.meta.name,
                namespace: secret.meta.namespace,
                key_id: Some(id_of(&previous.key)),
                previous: true,
                state: state(life.disabled, None, Some(previous.expires_at), now),
                problem: None,
                created: None,
                not_before: None,
                expires: of_milliseconds(previous.expires_at),
            });
        }
        entries.iter_mut().filter(|_| is_deleted).for_each(|entry| entry.state = KeyState::Deleted);
        entries
    }
}

// === impl KeyState ===

impl fmt::Display for KeyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Disabled => "disabled",
            Self::Expired => "expired",
            Self::NotYetValid => "not yet valid",
            Self::Unusable => "unusable",
            Self::Deleted => "deleted",
        })
    }
}
