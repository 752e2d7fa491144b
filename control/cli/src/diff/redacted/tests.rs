use serde_json::json;

use super::*;

fn secret(data: Value) -> Value {
    json!({ "kind": "Secret", "metadata": { "name": "a" }, "data": data })
}

#[test]
fn a_changed_entry_is_seen_and_not_shown() {
    let before = secret(json!({ "api-key": "b25l", "plan": "Z29sZA==", "gone": "eA==" }));
    let after = secret(json!({ "api-key": "dHdv", "plan": "Z29sZA==", "new": "eQ==" }));
    let (before, after) = redacted(Some(before), after);
    assert_eq!(
        before,
        Some(secret(json!({ "api-key": "[redacted] (before)", "plan": REDACTED, "gone": REDACTED })))
    );
    assert_eq!(after, secret(json!({ "api-key": "[redacted] (after)", "plan": REDACTED, "new": REDACTED })));
}

#[test]
fn a_secret_that_is_not_there_yet_is_hidden_too() {
    let (before, after) = redacted(None, secret(json!({ "api-key": "b25l" })));
    assert_eq!((before, after), (None, secret(json!({ "api-key": REDACTED }))));
}

#[test]
fn a_hidden_annotation_is_marked_too() {
    let object = |applied: &str| {
        let annotations = json!({ "kubectl.kubernetes.io/last-applied-configuration": applied });
        json!({ "kind": "Secret", "metadata": { "name": "a", "annotations": annotations } })
    };
    let (before, after) = redacted(Some(object("s3cret")), object("s4cret"));
    let text = format!("{before:?}{after}");
    assert!(!text.contains("s3cret") && !text.contains("s4cret"), "{text}");
    assert!(text.contains("[redacted] (before)") && text.contains("[redacted] (after)"), "{text}");
}

#[test]
fn other_objects_are_compared_as_they_are() {
    let (one, other) = (json!({ "kind": "Upstream", "spec": 1 }), json!({ "kind": "Upstream", "spec": 2 }));
    assert_eq!(redacted(Some(one.clone()), other.clone()), (Some(one), other));
}
