//! Tests of the stored form.

use keyward_store::Key;

use super::*;

fn record(revision: u64, stored: &Stored) -> Record {
    Record {
        key: Key::new("Upstream", "team", "a"),
        revision: Revision(revision),
        created: Revision(1),
        body: stored.body(),
    }
}

#[test]
fn a_status_is_kept_beside_the_object_and_changes_no_content() {
    let object = json!({ "kind": "Upstream", "metadata": { "name": "a" }, "spec": {} });
    let first = record(3, &Stored::new(object.clone(), None));
    let read = Stored::read(&first).expect("readable");
    assert_eq!((&read.object, read.status.as_ref()), (&object, None));
    assert_eq!(read.content_revision(&first), Revision(3));

    let second = record(7, &read.with_status(json!({ "state": "Accepted" }), &first));
    let read = Stored::read(&second).expect("readable");
    assert_eq!(read.content_revision(&second), Revision(3));
    let third = record(9, &read.with_status(json!({ "state": "Warning" }), &second));
    let read = Stored::read(&third).expect("readable");
    assert_eq!((read.content_revision(&third), &read.object), (Revision(3), &object));
    assert_eq!(read.status, Some(json!({ "state": "Warning" })));
}

#[test]
fn nothing_of_the_stored_form_is_shown() {
    let kind = keyward_resource::kind::by_name("Upstream").expect("a kind");
    let object = json!({ "apiVersion": "service.keyward.io/v1", "metadata": { "name": "a" } });
    let stored = Stored::new(object, None);
    let stored =
        Stored::read(&record(8, &stored.with_status(json!({}), &record(2, &Stored::new(json!({}), None)))));
    let stored = stored.expect("readable");
    let status = stored.status.clone();
    let shown = stored.shown(kind, kind.aliases[0], status, Some(Revision(8)));
    let expected = json!({
        "apiVersion": "gloo.solo.io/v1",
        "metadata": { "name": "a", "resourceVersion": "8" },
        "status": {},
    });
    assert_eq!(shown, expected);
}

#[test]
fn since_when_a_key_is_there_is_kept_beside_the_secret() {
    let secret = |key: &str, previous: Option<&str>| {
        let mut data = json!({ "api-key": key });
        if let Some(previous) = previous {
            data["previous-api-key"] = previous.into();
            // 2030-01-01T00:00:00Z
            data["previous-expires-at"] = "MjAzMC0wMS0wMVQwMDowMDowMFo=".into();
        }
        json!({ "apiVersion": "v1", "kind": "Secret", "type": "extauth.keyward.io/apikey",
                "metadata": { "namespace": "team", "name": "ann" }, "data": data })
    };
    let stored_at = |revision: u64, stored: &Stored| {
        let record = Record { key: Key::new("Secret", "team", "ann"), ..record(revision, stored) };
        Current::read(record).expect("readable")
    };
    let since = |current: &Current| {
        let (present, previous) = current.stored.keys_since(&current.record);
        (present.0, previous.0)
    };
    let mut current = stored_at(1, &Stored::new(secret("b25l", None), None));
    assert_eq!(since(&current), (1, 1));
    for (revision, key, previous, expected) in [
        // Another label, or nothing at all.
        (4, "b25l", None, (1, 1)),
        (5, "dHdv", Some("b25l"), (5, 1)),
        (6, "dHdv", Some("b25l"), (5, 1)),
        (8, "dGhyZWU=", Some("dHdv"), (8, 5)),
        // Back to the one before.
        (9, "dHdv", None, (5, 9)),
        // What was gone is new.
        (10, "b25l", None, (10, 10)),
    ] {
        let next = Stored::following(&current, secret(key, previous));
        assert_eq!(
            next.clone().shown(
                keyward_resource::kind::by_name("Secret").expect("a kind"),
                keyward_resource::kind::by_name("Secret").expect("a kind").group_version,
                None,
                None,
            ),
            secret(key, previous)
        );
        current = stored_at(revision, &next);
        assert_eq!(since(&current), expected, "{revision}");
    }
    // One without a usable key has it since it has one.
    let unusable = stored_at(1, &Stored::new(secret("", None), None));
    let next = Stored::following(&unusable, secret("b25l", None));
    assert_eq!(since(&stored_at(3, &next)).0, 3);
}
