//! What must not be seen is taken out of what is shown.

use serde_json::Value;

/// Stands for what is not shown.
pub const REDACTED: &str = "[redacted]";
/// The annotation in which kubectl keeps a whole object, contents of Secrets included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Takes the contents out of a Secret; any other object stays as it is.
pub fn object(object: &mut Value) {
    if object["kind"].as_str() != Some("Secret") {
        return;
    }
    for field in ["data", "stringData"] {
        match object.get_mut(field) {
            Some(Value::Object(entries)) => entries.values_mut().for_each(hide),
            Some(other) => hide(other),
            None => {}
        }
    }
    if let Some(applied) = object.pointer_mut("/metadata/annotations").and_then(|it| it.get_mut(LAST_APPLIED))
    {
        hide(applied);
    }
}

fn hide(value: &mut Value) {
    *value = REDACTED.into();
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_is_left_of_the_contents_of_a_secret() {
        let mut secret = json!({
            "kind": "Secret",
            "metadata": { "name": "a", "annotations": { LAST_APPLIED: "s3cret", "note": "kept" } },
            "data": { "api-key": "s3cret", "deep": { "er": "s3cret" } },
            "stringData": "s3cret",
        });
        object(&mut secret);
        let text = secret.to_string();
        assert!(!text.contains("s3cret"), "{text}");
        assert_eq!(secret["data"]["api-key"], REDACTED);
        assert_eq!(secret["metadata"]["annotations"]["note"], "kept");
    }

    #[test]
    fn other_objects_are_left_alone() {
        let upstream = json!({ "kind": "Upstream", "data": { "a": "b" } });
        let mut shown = upstream.clone();
        object(&mut shown);
        assert_eq!(shown, upstream);
    }
}
