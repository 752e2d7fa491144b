use keyward_resource::kind;
use serde_json::json;

use super::*;

fn upstream() -> Place {
    Place::of(kind::by_name("Upstream").unwrap(), "team", "a")
}

fn object() -> Value {
    json!({
        "apiVersion": "service.keyward.io/v1",
        "kind": "Upstream",
        "metadata": { "name": "a", "namespace": "team", "annotations": { "note": "# is no\n# comment" } },
        "spec": { "static": { "hosts": [{ "addr": "127.0.0.1", "port": 80 }] } },
    })
}

#[test]
fn what_is_shown_is_read_back_as_the_same_object() {
    let sheet = Sheet::of(&object()).unwrap();
    let notes = ["first ".repeat(40), "second".to_owned()];
    let text = sheet.text(upstream().kind, &upstream(), &notes);
    assert!(text.starts_with("# error: first first"), "{text}");
    assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    assert!(text.contains("\n# error: second\n#\n# Upstream team/a. Save it"), "{text}");
    let read = Sheet::read(&text);
    assert!(read == sheet, "the comments are taken off");
    assert_eq!(read.object(&upstream()), Ok(object()));
}

#[test]
fn all_mistakes_are_told() {
    let mut wrong = object();
    wrong["metadata"]["name"] = "b".into();
    wrong["spec"]["static"]["hosts"][0]["port"] = 0.into();
    wrong["spec"]["static"]["hostz"] = 1.into();
    let mistakes = Sheet::of(&wrong).unwrap().object(&upstream()).unwrap_err();
    assert_eq!(mistakes.len(), 3, "{mistakes:?}");
    let malformed = Sheet::read("# x\n\na: [").object(&upstream()).unwrap_err();
    assert!(malformed[0].contains("malformed YAML"), "{malformed:?}");
}

#[test]
fn comments_alone_are_nothing() {
    assert!(Sheet::read("# a\n\n  # b\n").is_empty());
}
