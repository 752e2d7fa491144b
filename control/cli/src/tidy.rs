//! What of an object people wrote, and what only the server says.

use serde_json::Value;

/// Fields of the metadata that only servers write.
const SERVERS_OWN: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// What people wrote of an object.
pub(crate) fn content(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| !SERVERS_OWN.contains(&name.as_str()));
    }
    object
}

/// The version of an object.
pub(crate) fn version(object: &Value) -> Value {
    object["metadata"]["resourceVersion"].clone()
}

/// Whether it comes from a folder of files, which puts back what others change.
pub(crate) fn is_of_folder(object: &Value) -> bool {
    let managers = object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    managers.iter().any(|entry| entry["manager"] == keyward_folder::MANAGER)
}
