//! Tests of patches.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

/// Small values, with names that meet each other.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::Null), (0..3_i64).prop_map(Value::from), "[ab]".prop_map(Value::from)];
    leaf.prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::btree_map("[abc/~]", inner.clone(), 0..3)
                .prop_map(|map| Value::Object(Map::from_iter(map))),
            prop::collection::vec(inner, 0..3).prop_map(Value::Array),
        ]
    })
}

fn objects() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[abc/~]", values().prop_map(without_null), 0..4)
        .prop_map(|map| Value::Object(Map::from_iter(map)))
}

fn without_null(value: Value) -> Value {
    match value {
        Value::Null => Value::from(0),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, without_null(value))).collect())
        }
        other => other,
    }
}

/// The merge patch that makes one object of another.
fn from_to(from: &Value, to: &Value) -> Value {
    let (Value::Object(from), Value::Object(to)) = (from, to) else { return to.clone() };
    let mut patch = Map::new();
    for key in from.keys().filter(|key| !to.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, value) in to {
        patch.insert(key.clone(), from.get(key).map_or_else(|| value.clone(), |from| from_to(from, value)));
    }
    Value::Object(patch)
}

#[test]
fn merge_patches_of_the_rfc() {
    for (target, patch, expected) in [
        (json!({"a":"b"}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":"b"}), json!({"b":"c"}), json!({"a":"b","b":"c"})),
        (json!({"a":"b"}), json!({"a":null}), json!({})),
        (json!({"a":"b","b":"c"}), json!({"a":null}), json!({"b":"c"})),
        (json!({"a":["b"]}), json!({"a":"c"}), json!({"a":"c"})),
        (json!({"a":{"b":"c"}}), json!({"a":{"b":"d","c":null}}), json!({"a":{"b":"d"}})),
        (json!({"a":[{"b":"c"}]}), json!({"a":[1]}), json!({"a":[1]})),
        (json!({"e":null}), json!({"a":1}), json!({"e":null,"a":1})),
        (json!([1, 2]), json!({"a":"b","c":null}), json!({"a":"b"})),
        (json!({}), json!({"a":{"bb":{"ccc":null}}}), json!({"a":{"bb":{}}})),
        (json!({"a":"foo"}), json!(null), json!(null)),
    ] {
        let mut patched = target.clone();
        merge_patch(&mut patched, &patch);
        assert_eq!(patched, expected, "{target} with {patch}");
    }
}

#[test]
fn json_patches_of_the_rfc() {
    for (target, patch, expected) in [
        (
            json!({"foo":"bar"}),
            json!([{"op":"add","path":"/baz","value":"qux"}]),
            json!({"baz":"qux","foo":"bar"}),
        ),
        (json!({"foo":[1,3]}), json!([{"op":"add","path":"/foo/1","value":2}]), json!({"foo":[1,2,3]})),
        (json!({"foo":[1]}), json!([{"op":"add","path":"/foo/-","value":[2]}]), json!({"foo":[1,[2]]})),
        (json!({"a":1,"b":2}), json!([{"op":"remove","path":"/b"}]), json!({"a":1})),
        (json!({"a":[1,2,3]}), json!([{"op":"remove","path":"/a/1"}]), json!({"a":[1,3]})),
        (json!({"a":1}), json!([{"op":"replace","path":"/a","value":null}]), json!({"a":null})),
        (
            json!({"a":{"b":1},"c":{}}),
            json!([{"op":"move","from":"/a/b","path":"/c/d"}]),
            json!({"a":{},"c":{"d":1}}),
        ),
        (json!({"a":[1,2]}), json!([{"op":"copy","from":"/a/0","path":"/a/2"}]), json!({"a":[1,2,1]})),
        (
            json!({"a/b":1,"m~n":2}),
            json!([{"op":"test","path":"/a~1b","value":1},{"op":"test","path":"/m~0n","value":2}]),
            json!({"a/b":1,"m~n":2}),
        ),
        (json!({"a":1}), json!([{"op":"add","path":"","value":{"b":2}}]), json!({"b":2})),
        (json!({"":1}), json!([{"op":"replace","path":"/","value":2}]), json!({"":2})),
    ] {
        assert_eq!(json_patch(&target, &patch).expect("it can be done"), expected, "{target} with {patch}");
    }
}

#[test]
fn json_patches_that_cannot_be_done_change_nothing_and_repeat_no_value() {
    let target = json!({"a":{"b":[1,2]}});
    for (patch, code) in [
        (json!([{"op":"remove","path":"/x"}]), 422),
        (json!([{"op":"replace","path":"/a/x","value":"sesame"}]), 422),
        (json!([{"op":"add","path":"/x/y","value":"sesame"}]), 422),
        (json!([{"op":"add","path":"/a/b/3","value":"sesame"}]), 422),
        (json!([{"op":"add","path":"/a/b/01","value":"sesame"}]), 422),
        (json!([{"op":"test","path":"/a/b/0","value":"sesame"}]), 422),
        (json!([{"op":"move","from":"/a","path":"/a/b/c"}]), 422),
        (json!([{"op":"add","path":"/a"}]), 422),
        (json!([{"op":"sesame","path":"/a"}]), 400),
        (json!([{"op":"add","value":"sesame"}]), 400),
        (json!([{"op":"remove","path":"a"}]), 400),
        (json!({"op":"remove"}), 400),
    ] {
        let refused = json_patch(&target, &patch).expect_err("it cannot be done");
        assert_eq!(refused.code, code, "{patch}: {}", refused.message);
        assert!(!refused.message.contains("sesame"), "{}", refused.message);
    }
}

#[test]
fn strategic_merges_follow_their_directives() {
    let target = json!({
        "metadata": {
            "labels": { "a": "1", "b": "2" },
            "finalizers": ["x/1", "x/2"],
            "ownerReferences": [{ "uid": "1", "name": "one" }, { "uid": "2", "name": "two" }],
        },
        "data": { "k": "djE=", "l": "djI=" },
    });
    for (patch, pointer, expected) in [
        (json!({"data":{"k":null,"m":"bQ=="}}), "/data", json!({"l":"djI=","m":"bQ=="})),
        (json!({"data":{"$patch":"replace","m":"bQ=="}}), "/data", json!({"m":"bQ=="})),
        (json!({"data":{"$patch":"delete"}}), "/data", json!({})),
        (json!({"data":{"$patch":"merge","k":"eA=="}}), "/data", json!({"k":"eA==","l":"djI="})),
        (json!({"data":{"$retainKeys":["l"]}}), "/data", json!({"l":"djI="})),
        (
            json!({"metadata":{"finalizers":["x/3","x/1"]}}),
            "/metadata/finalizers",
            json!(["x/1", "x/2", "x/3"]),
        ),
        (
            json!({"metadata":{"$deleteFromPrimitiveList/finalizers":["x/1"]}}),
            "/metadata/finalizers",
            json!(["x/2"]),
        ),
        (
            json!({"metadata":{"$setElementOrder/finalizers":["x/3","x/2","x/1"],"finalizers":["x/3"]}}),
            "/metadata/finalizers",
            json!(["x/3", "x/2", "x/1"]),
        ),
        (
            json!({"metadata":{"ownerReferences":[{"uid":"2","name":"zwei"},{"uid":"3","name":"drei"}]}}),
            "/metadata/ownerReferences",
            json!([{"uid":"1","name":"one"},{"uid":"2","name":"zwei"},{"uid":"3","name":"drei"}]),
        ),
        (
            json!({"metadata":{"ownerReferences":[{"uid":"1","$patch":"delete"}]}}),
            "/metadata/ownerReferences",
            json!([{"uid":"2","name":"two"}]),
        ),
        (
            json!({"metadata":{"ownerReferences":[{"$patch":"replace"},{"uid":"9","name":"nine"}]}}),
            "/metadata/ownerReferences",
            json!([{"uid":"9","name":"nine"}]),
        ),
        (json!({"metadata":{"annotations":{"a":"1","b":null}}}), "/metadata/annotations", json!({"a":"1"})),
    ] {
        let patched = strategic_merge(&target, &patch).expect("a good patch");
        assert_eq!(patched.pointer(pointer), Some(&expected), "{patch}");
    }
    for patch in [
        json!({"data":{"$patch":"bogus"}}),
        json!({"data":{"$retainKeys":["l"],"k":"x"}}),
        json!({"metadata":{"$setElementOrder/finalizers":"x"}}),
        json!({"metadata":{"$unknown":"x"}}),
        json!({"metadata":{"ownerReferences":[{"name":"without a key"}]}}),
        json!([1]),
    ] {
        assert_eq!(strategic_merge(&target, &patch).expect_err("a bad patch").code, 400, "{patch}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_merge_patch_done_twice_does_no_more(target in values(), patch in values()) {
        let mut once = target;
        merge_patch(&mut once, &patch);
        let mut twice = once.clone();
        merge_patch(&mut twice, &patch);
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn a_merge_patch_can_say_every_object_without_null(target in objects(), wanted in objects()) {
        let mut patched = target.clone();
        merge_patch(&mut patched, &from_to(&target, &wanted));
        prop_assert_eq!(patched, wanted);
    }

    #[test]
    fn add_then_remove_leaves_nothing_behind(target in objects(), value in values()) {
        let patch = json!([
            { "op": "add", "path": "/zz", "value": value },
            { "op": "test", "path": "/zz", "value": value },
            { "op": "remove", "path": "/zz" },
        ]);
        prop_assert_eq!(json_patch(&target, &patch).expect("it can be done"), target);
    }

    #[test]
    fn a_strategic_merge_without_lists_or_directives_is_a_merge(target in objects(), patch in values()) {
        let patch = json!({ "a": patch });
        let mut merged = target.clone();
        merge_patch(&mut merged, &patch);
        prop_assert_eq!(strategic_merge(&target, &patch).expect("a good patch"), merged);
    }
}

/// A patch that doubles a value again and again.
fn doubling(times: usize, path: impl Fn(usize) -> String) -> Value {
    let mut operations = vec![json!({ "op": "add", "path": "/z", "value": ["x".repeat(1_000)] })];
    operations.extend((0..times).map(|time| json!({ "op": "copy", "from": "/z", "path": path(time) })));
    operations.into()
}

#[test]
fn a_patch_that_copies_copies_grows_no_further_than_a_body() {
    let refused = json_patch(&json!({}), &doubling(60, |_| "/z/-".to_owned())).expect_err("too much");
    assert!(refused.message.contains("copies too much"), "{}", refused.message);
    json_patch(&json!({}), &doubling(5, |_| "/z/-".to_owned())).expect("a few copies");
}

#[test]
fn a_patch_makes_nothing_deeper_than_a_body_may_be() {
    let deeper = |time: usize| format!("/z{}", "/0".repeat(1 << time));
    let refused = json_patch(&json!({ "z": [[[1]]] }), &doubling(15, deeper)).expect_err("too deep");
    assert_eq!(refused.code, 422);
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    let patch = json!([{ "op": "add", "path": "/z", "value": deep }]);
    let refused = json_patch(&json!({}), &patch).expect_err("too deep");
    assert!(refused.message.contains("too deep"), "{}", refused.message);
}
