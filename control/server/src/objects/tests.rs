use keyward_store::Key;
use serde_json::json;

use super::*;

fn record(kind: &str, revision: u64, mut object: Value) -> Record {
    object["metadata"] = json!({ "namespace": "team", "name": "a" });
    object["kind"] = kind.into();
    object["apiVersion"] = kind::by_name(kind).expect("a kind").api_version().into();
    Record {
        key: Key::new(kind, "team", "a"),
        revision: Revision(revision),
        created: Revision(1),
        body: object.to_string().into_bytes().into(),
    }
}

/// A Secret with a key that somebody has asked to be deleted, though finalizers keep it.
fn going(revision: u64) -> Record {
    let key = json!({ "type": KEY_TYPE, "data": { "api-key": "b25l" } });
    let mut record = record("Secret", revision, key);
    let mut object: Value = serde_json::from_slice(&record.body).expect("an object");
    object["metadata"]["finalizers"] = json!(["example.com/hold"]);
    object["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:05Z".into();
    record.body = object.to_string().into_bytes().into();
    record
}

fn translates(effect: &Effect) -> bool {
    matches!(effect, Effect::Changed { translates: true, .. })
}

#[test]
fn a_change_of_an_api_key_is_none_of_what_is_translated() {
    let key = |text: &str| json!({ "type": KEY_TYPE, "data": { "api-key": text } });
    let opaque = json!({ "type": "Opaque", "data": { "api-key": "b25l" } });
    let mut objects = Objects::default();
    assert!(!translates(&objects.put(&record("Secret", 1, key("b25l")))));
    assert!(!translates(&objects.put(&record("Secret", 2, key("dHdv")))));
    let last = record("Secret", 2, key("dHdv"));
    let gone = Event::Delete { key: last.key.clone(), revision: Revision(3), last };
    assert!(!translates(&objects.apply(&gone)));
    // What cannot be read, and what comes after it.
    assert!(translates(&objects.put(&record("Secret", 4, json!({ "data": "none" })))));
    assert!(translates(&objects.put(&record("Secret", 5, key("b25l")))));
    assert!(!translates(&objects.put(&record("Secret", 6, key("dHdv")))));
    assert!(translates(&objects.put(&record("Secret", 7, opaque))));
    let spec = json!({ "spec": { "configs": [{ "apiKeyAuth": { "labelSelector": { "team": "x" } } }] } });
    assert!(translates(&objects.put(&record("AuthConfig", 8, spec))));
}

#[test]
fn a_key_is_gone_with_the_request_to_delete_it() {
    let object = ObjectKey::new("Secret", "team", "a");
    let key = json!({ "type": KEY_TYPE, "data": { "api-key": "b25l" } });
    // As it happens, and as a server finds it that starts then.
    for before in [Some(record("Secret", 1, key)), None] {
        let mut objects = Objects::default();
        before.iter().for_each(|record| drop(objects.put(record)));
        let effect = objects.put(&going(2));
        let Effect::Changed { keys: Some(Change::DeleteSecret(id)), translates: false, .. } = effect else {
            panic!("{effect:?}")
        };
        assert_eq!(id, object.object_ref());
        let report = objects.reports().get(&object).cloned().expect("a report");
        assert!(
            report.reasons[0].contains("being deleted") && report.reasons[0].contains("example.com/hold")
        );
        let last = going(2);
        let event = Event::Delete { key: last.key.clone(), revision: Revision(3), last };
        objects.apply(&event);
        assert_eq!(objects.reports().get(&object), None);
    }
}
