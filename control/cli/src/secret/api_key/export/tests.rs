use keyward_resource::{admit, kind};
use serde_json::json;

use super::*;

/// A Secret as a server answers with it.
fn stored(name: &str, data: Value) -> Value {
    let object = json!({
        "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
        "metadata": { "namespace": "team", "name": name, "labels": { "a": "b" } }, "stringData": data,
    });
    let mut object = admit(kind::by_name("Secret").unwrap(), "team", None, object).unwrap();
    object["metadata"]["resourceVersion"] = "7".into();
    object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into();
    object
}

fn lines(export: &Export) -> Vec<Value> {
    let text = String::from_utf8(export.lines.clone()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn keys_leave_as_digests_unless_they_are_asked_for() {
    let object = stored(
        "ann",
        json!({
            "api-key": "secret-1\n", "expires-at": "2030-01-01T00:00:00Z", "plan": "gold",
            "previous-api-key": "secret-0", "previous-expires-at": "2029-01-01T00:00:00Z",
        }),
    );
    let mut digests = Export::default();
    digests.take(&object, false).unwrap();
    assert_eq!(
        lines(&digests),
        [json!({
            "name": "ann", "namespace": "team", "labels": { "a": "b" },
            "api-key-sha256": "f7e7c36e458e80e6b6a2c67d0a9ec09bd718dadd7bfa8d6bf6e7ad526e46c2f7",
            "expires-at": "2030-01-01T00:00:00Z",
            "previous-api-key-sha256": "d6811788cef20bead0f700e622bd35b2cbab8c01643b4d40e8fcdaf193c2551b",
            "previous-expires-at": "2029-01-01T00:00:00Z", "plan": "gold",
        })]
    );
    assert_eq!(digests.with_keys, 0);

    let mut keys = Export::default();
    keys.take(&object, true).unwrap();
    assert_eq!(lines(&keys)[0]["api-key"], "secret-1\n");
    assert_eq!(lines(&keys)[0]["previous-api-key"], "secret-0");
    assert_eq!(keys.with_keys, 1);
}

#[test]
fn what_cannot_be_imported_again_is_told() {
    let mut export = Export::default();
    export.take(&stored("ann", json!({ "api-key": "secret-1", "plan": "" })), false).unwrap();
    export.take(&stored("bob", json!({ "api-key": "secret-1" })), false).unwrap();
    export.take(&stored("cat", json!({ "plan": "gold" })), false).unwrap();
    assert_eq!((export.rows, export.empty), (2, 1));
    assert_eq!(
        export.notes,
        [
            "team/bob has a key that stands there before: an import needs --allow-shared-keys",
            "team/cat is left out, as it holds no usable key: data has neither api-key nor api-key-sha256",
        ]
    );
}
