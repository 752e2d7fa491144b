//! What is there, and what the file says.

use std::collections::BTreeSet;

use jiff::Timestamp;
use keyward_resource::kinds::secret::{
    ApiKeySecret, DIGEST_FIELD, DISABLED_FIELD, EXPIRES_FIELD, KEY_FIELD, NOT_BEFORE_FIELD,
    PREVIOUS_DIGEST_FIELD, PREVIOUS_EXPIRES_FIELD, PREVIOUS_KEY_FIELD,
};
use serde_json::{Map, Value, json};

use crate::key::{KEY_CREATED, time};

#[cfg(test)]
mod tests;

/// In which columns a Secret differs from what is wanted. A key is the same where its digest is, however the
/// one and the other are stored.
pub(super) fn differences(have: &ApiKeySecret, want: &ApiKeySecret) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut note = |is_same: bool, name: &str| {
        if !is_same {
            names.push(name.to_owned());
        }
    };
    note(have.key == want.key, KEY_FIELD);
    note(have.meta.labels == want.meta.labels, "labels");
    note(have.life.expires_at == want.life.expires_at, EXPIRES_FIELD);
    note(have.life.not_before == want.life.not_before, NOT_BEFORE_FIELD);
    note(have.life.disabled == want.life.disabled, DISABLED_FIELD);
    let key = |secret: &ApiKeySecret| secret.previous.map(|previous| previous.key);
    let end = |secret: &ApiKeySecret| secret.previous.map(|previous| previous.expires_at);
    note(key(have) == key(want), PREVIOUS_KEY_FIELD);
    note(end(have) == end(want), PREVIOUS_EXPIRES_FIELD);
    let entries: BTreeSet<&String> = have.metadata.keys().chain(want.metadata.keys()).collect();
    for entry in entries {
        note(have.metadata.get(entry) == want.metadata.get(entry), entry);
    }
    names
}

/// Keys that are the same stay stored as they are: who imports digests takes no key away.
pub(super) fn keep_same_keys(object: &Value, have: &ApiKeySecret, wanted: &mut Value, want: &ApiKeySecret) {
    let previous = |secret: &ApiKeySecret| secret.previous.map(|previous| previous.key);
    let pairs = [
        (have.key.is_ok() && have.key == want.key, KEY_FIELD, DIGEST_FIELD),
        (
            previous(have).is_some() && previous(have) == previous(want),
            PREVIOUS_KEY_FIELD,
            PREVIOUS_DIGEST_FIELD,
        ),
    ];
    for (is_same, key, digest) in pairs {
        if let (true, Value::Object(data)) = (is_same, &mut wanted["data"]) {
            for entry in [key, digest] {
                match object["data"].get(entry) {
                    Some(stored) => data.insert(entry.to_owned(), stored.clone()),
                    None => data.remove(entry),
                };
            }
        }
    }
}

/// The merge patch that makes of an object what is wanted, and of nothing else than labels and data.
pub(super) fn patch(object: &Value, wanted: &Value, is_new_key: bool, now: Timestamp) -> Value {
    let mut patch = json!({
        "metadata": {
            "resourceVersion": object["metadata"]["resourceVersion"],
            "labels": merge(&object["metadata"]["labels"], &wanted["metadata"]["labels"]),
        },
        "data": merge(&object["data"], &wanted["data"]),
    });
    if is_new_key {
        patch["metadata"]["annotations"] = json!({ KEY_CREATED: time(now) });
    }
    patch
}

fn merge(have: &Value, want: &Value) -> Value {
    let names = have.as_object().into_iter().flat_map(Map::keys);
    let mut merged: Map<String, Value> = names.map(|name| (name.clone(), Value::Null)).collect();
    merged.extend(want.as_object().cloned().unwrap_or_default());
    merged.into()
}
