//! Tests of paths.

use super::*;

#[test]
fn paths_point_at_collections_and_objects() {
    let target = Target::of_path("/api/v1/namespaces/a/secrets/b").expect("a path of an object");
    assert_eq!((target.kind.name, target.part), ("Secret", Part::Main));
    assert_eq!((target.namespace.as_deref(), target.name.as_deref()), (Some("a"), Some("b")));
    let target = Target::of_path("/api/v1/namespaces/key%2dward/secrets/%61/").expect("an encoded path");
    assert_eq!((target.namespace.as_deref(), target.name.as_deref()), (Some("key-ward"), Some("a")));
    let target = Target::of_path("/apis/gateway.solo.io/v1/virtualservices").expect("an alias");
    assert_eq!((target.kind.name, target.asked.group), ("VirtualService", "gateway.solo.io"));
    assert_eq!((target.namespace, target.name), (None, None));
    let path = "/apis/gateway.keyward.io/v1/namespaces/a/virtualservices/b/status";
    let target = Target::of_path(path).expect("the path of a status");
    assert_eq!((target.name.as_deref(), target.part), (Some("b"), Part::Status));
}

#[test]
fn namespaces_are_objects_and_places() {
    let target = Target::of_path("/api/v1/namespaces").expect("the collection");
    assert_eq!((target.kind.name, target.namespace, target.name), (NAMESPACE, None, None));
    let target = Target::of_path("/api/v1/namespaces/a").expect("one");
    assert_eq!((target.kind.name, target.place(), target.name.as_deref()), (NAMESPACE, "", Some("a")));
    let target = Target::of_path("/api/v1/namespaces/a/status").expect("its status");
    assert_eq!((target.kind.name, target.part), (NAMESPACE, Part::Status));
}

#[test]
fn other_paths_point_at_nothing() {
    for path in [
        "/",
        "/api",
        "/api/v1",
        "/apis/v1/secrets",
        "/api/v2/secrets",
        "/api/v1/secrets/a",
        "/api/v1/namespaces/a/namespaces/b",
        "/apis/gateway.keyward.io/v1/nothings",
        "/api/v1/namespaces/a/secrets/b/c",
        "/api/v1/namespaces//secrets",
        "/api/v1/namespaces/a/secrets/b%2fc",
        "/api/v1/namespaces/a/secrets/%ff",
    ] {
        assert_eq!(Target::of_path(path), None, "{path}");
    }
}
