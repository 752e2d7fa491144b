use super::*;

fn kind(name: &str) -> &'static Kind {
    KINDS.iter().find(|kind| kind.name == name).expect("a kind")
}

#[test]
fn a_document_is_what_people_apply() {
    let object = json!({
        "metadata": { "name": "a", "namespace": "team", "uid": "1", "resourceVersion": "7", "generation": 2,
                      "managedFields": [], "creationTimestamp": "2026-01-01T00:00:00Z", "labels": { "x": "y" } },
        "spec": { "static": { "hosts": [{ "addr": "h", "port": 1 }] } },
        "status": { "state": "Accepted" },
    });
    let (text, is_whole) = document(kind("Upstream"), object).expect("a document");
    assert!(is_whole);
    let read: Value = serde_saphyr::from_str(&text).expect("YAML");
    assert_eq!(
        read,
        json!({
            "apiVersion": "service.keyward.io/v1", "kind": "Upstream",
            "metadata": { "name": "a", "namespace": "team", "labels": { "x": "y" } },
            "spec": { "static": { "hosts": [{ "addr": "h", "port": 1 }] } },
        })
    );
}

#[test]
fn secrets_are_comments_without_contents() {
    let secret = json!({ "metadata": { "name": "a" }, "data": { "api-key": "czNjcmV0" } });
    let (document, is_whole) = document(kind("Secret"), secret).expect("a document");
    assert!(!is_whole);
    assert!(document.contains("[redacted]") && !document.contains("czNjcmV0"), "{document}");
    let text = joined(&["kind: Upstream".to_owned()], &[commented(&document)]);
    assert!(text.starts_with("---\nkind: Upstream\n# Not to be applied"), "{text}");
    assert!(text.lines().skip(2).all(|line| line.starts_with('#')), "{text}");
}

#[test]
fn an_object_with_values_of_headers_is_shown_without_them_and_not_to_be_applied() {
    let option = json!({
        "metadata": { "name": "a" },
        "spec": { "options": { "headerManipulation": {
            "requestHeadersToAdd": [{ "header": { "key": "authorization", "value": "Bearer s3cret" } }],
        } } },
    });
    let (document, is_whole) = document(kind("RouteOption"), option).expect("a document");
    assert!(document.contains("authorization") && !document.contains("s3cret") && !is_whole, "{document}");
}
