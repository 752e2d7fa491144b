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
