//! Tests of field managers.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

const NOW: &str = "2026-01-02T03:04:05Z";
const VERSION: &str = "gateway.keyward.io/v1";

fn applier(name: &str) -> Manager {
    Manager::new(Operation::Apply, name, VERSION, "")
}

fn updater(name: &str) -> Manager {
    Manager::new(Operation::Update, name, VERSION, "")
}

fn apply(state: &Applied, name: &str, wanted: &Value) -> Result<Applied, Vec<Conflict>> {
    state.managers.clone().apply(&state.object, wanted, &applier(name), VERSION, false, NOW)
}

fn update(state: &Applied, name: &str, object: Value) -> Applied {
    let managers = state.managers.clone().update(&state.object, &object, &updater(name), VERSION, NOW);
    Applied { object, managers }
}

fn nothing() -> Applied {
    Applied { object: json!({}), managers: Managers::default() }
}

/// The fields of a manager, as `managedFields` show them.
fn shown(state: &Applied, manager: &Manager) -> Value {
    state.managers.fields(manager).encode()
}

/// Objects with a spec of few names, so that managers meet.
fn specs() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        (0..2_i64).prop_map(Value::from),
        prop::collection::vec(0..2_i64, 0..2).prop_map(Value::from),
        Just(json!({})),
    ];
    let inner = prop::collection::btree_map("[abc]", leaf, 0..3);
    let value = prop_oneof![
        (0..2_i64).prop_map(Value::from),
        inner.prop_map(|map| Value::Object(Map::from_iter(map))),
    ];
    let spec = prop::collection::btree_map("[abc]", value, 0..4);
    let finalizers = prop::collection::btree_set("[xyz]/1", 0..3);
    let labels = prop::collection::btree_map("[lm]", "[01]", 0..3);
    (spec, finalizers, labels).prop_map(|(spec, finalizers, labels)| {
        let mut object = json!({ "spec": Map::from_iter(spec) });
        if !finalizers.is_empty() {
            object["metadata"]["finalizers"] = finalizers.into_iter().collect();
        }
        if !labels.is_empty() {
            object["metadata"]["labels"] = labels
                .into_iter()
                .map(|(key, value)| (key, Value::from(value)))
                .collect::<Map<_, _>>()
                .into();
        }
        object
    })
}

#[test]
fn fields_are_shown_as_kubernetes_does() {
    let created = update(
        &nothing(),
        "kubectl-create",
        json!({
            "apiVersion": VERSION,
            "kind": "Gateway",
            "metadata": { "name": "a", "labels": { "app": "web" }, "finalizers": ["x/1"] },
            "spec": { "bindPort": 80, "proxyNames": ["p"], "httpGateway": {} },
        }),
    );
    let expected = json!([{
        "manager": "kubectl-create",
        "operation": "Update",
        "apiVersion": VERSION,
        "time": NOW,
        "fieldsType": "FieldsV1",
        "fieldsV1": {
            "f:metadata": {
                "f:finalizers": { ".": {}, "v:\"x/1\"": {} },
                "f:labels": { ".": {}, "f:app": {} },
            },
            "f:spec": { ".": {}, "f:bindPort": {}, "f:httpGateway": {}, "f:proxyNames": {} },
        },
    }]);
    assert_eq!(created.managers.encode(), expected);
    let read = Managers::decode(&expected).expect("it can be read back");
    assert_eq!(read, created.managers);
    assert_eq!(Managers::decode(&json!([{}])), None);
    assert_eq!(Managers::decode(&json!("x")), None);
}

#[test]
fn what_a_manager_does_not_apply_any_more_is_removed() {
    let both = json!({ "metadata": { "labels": { "a": "1", "b": "2" } }, "spec": { "x": { "y": 1 } } });
    let state = apply(&nothing(), "one", &both).expect("nobody is in the way");
    let state = apply(&state, "one", &json!({ "metadata": { "labels": { "a": "1" } } })).expect("nor now");
    assert_eq!(state.object, json!({ "metadata": { "labels": { "a": "1" } } }));
}

#[test]
fn what_others_own_too_stays() {
    let state = apply(&nothing(), "one", &json!({ "spec": { "a": 1, "b": 1 } })).expect("the first");
    let state = apply(&state, "two", &json!({ "spec": { "b": 1, "c": 1 } })).expect("the same value");
    let state = apply(&state, "one", &json!({ "spec": { "a": 1 } })).expect("it gives b up");
    assert_eq!(state.object, json!({ "spec": { "a": 1, "b": 1, "c": 1 } }));
    assert_eq!(shown(&state, &applier("one")), json!({ "f:spec": { "f:a": {} } }));
    let state = apply(&state, "two", &json!({ "spec": { "c": 1 } })).expect("it gives b up too");
    assert_eq!(state.object, json!({ "spec": { "a": 1, "c": 1 } }));
}

#[test]
fn what_nobody_owns_stays() {
    let mut state = apply(&nothing(), "one", &json!({ "spec": { "a": { "x": 1 } } })).expect("the first");
    state.object["spec"]["a"]["unowned"] = json!(7);
    let state = apply(&state, "one", &json!({ "metadata": { "labels": { "l": "1" } } })).expect("others");
    assert_eq!(
        state.object,
        json!({ "metadata": { "labels": { "l": "1" } }, "spec": { "a": { "unowned": 7 } } })
    );
}

#[test]
fn another_value_than_the_owners_is_a_conflict_unless_forced() {
    let state = apply(&nothing(), "one", &json!({ "spec": { "a": 1, "list": [1] } })).expect("the first");
    let state = update(&state, "kubectl-edit", json!({ "spec": { "a": 1, "list": [1], "b": 1 } }));
    let wanted = json!({ "spec": { "a": 2, "b": 2, "list": [1, 2] } });
    let conflicts = apply(&state, "two", &wanted).expect_err("the others own them");
    let told: Vec<_> = conflicts.iter().map(|one| (one.owner.as_str(), one.path.as_str())).collect();
    let edit = "\"kubectl-edit\" using gateway.keyward.io/v1";
    assert_eq!(told, [("\"one\"", ".spec.a"), ("\"one\"", ".spec.list"), (edit, ".spec.b")]);
    let forced = state
        .managers
        .clone()
        .apply(&state.object, &wanted, &applier("two"), VERSION, true, NOW)
        .expect("by force");
    assert_eq!(forced.object, wanted);
    assert_eq!(shown(&forced, &applier("one")), json!({}));
    assert_eq!(shown(&forced, &updater("kubectl-edit")), json!({}));
}

#[test]
fn an_update_takes_fields_without_asking() {
    let state = apply(&nothing(), "one", &json!({ "spec": { "a": 1, "b": 1 } })).expect("the first");
    let state = update(&state, "two", json!({ "spec": { "a": 2, "b": 1 } }));
    assert_eq!(shown(&state, &applier("one")), json!({ "f:spec": { "f:b": {} } }));
    assert_eq!(shown(&state, &updater("two")), json!({ "f:spec": { "f:a": {} } }));
    let state = update(&state, "two", json!({ "spec": { "b": 1 } }));
    assert_eq!(shown(&state, &updater("two")), json!({}), "what is gone is nobody's");
}

#[test]
fn lists_of_the_metadata_are_merged_item_by_item() {
    let owner = |uid: &str, name: &str| json!({ "uid": uid, "name": name });
    let one = json!({ "metadata": { "finalizers": ["x/1"], "ownerReferences": [owner("1", "a")] } });
    let two = json!({ "metadata": { "finalizers": ["x/2"], "ownerReferences": [owner("2", "b")] } });
    let state = apply(&nothing(), "one", &one).expect("the first");
    let state = apply(&state, "two", &two).expect("another item");
    assert_eq!(
        state.object,
        json!({ "metadata": { "finalizers": ["x/1", "x/2"], "ownerReferences": [owner("1", "a"), owner("2", "b")] } })
    );
    let other = json!({ "metadata": { "ownerReferences": [owner("2", "c")] } });
    let conflicts = apply(&state, "one", &other).expect_err("the item of another");
    assert_eq!(conflicts[0].path, ".metadata.ownerReferences[uid=\"2\"]");
    let state = apply(&state, "one", &json!({})).expect("it gives up its own");
    assert_eq!(state.object, two);
}

#[test]
fn what_was_written_before_managers_were_kept_has_an_owner() {
    let live = json!({ "metadata": { "name": "a" }, "spec": { "a": 1, "b": 1 } });
    let managers = Managers::before_first_apply(&live, VERSION, NOW);
    let state = Applied { object: live, managers };
    let conflicts = apply(&state, "one", &json!({ "spec": { "a": 2 } })).expect_err("it has an owner");
    assert_eq!(conflicts[0].owner, "\"before-first-apply\" using gateway.keyward.io/v1");
    let state = apply(&state, "one", &json!({ "spec": { "a": 1 } })).expect("the same value");
    assert_eq!(shown(&state, &applier("one")), json!({ "f:spec": { "f:a": {} } }));
}

#[test]
fn updaters_without_end_are_taken_together() {
    let mut state = nothing();
    for number in 0..30 {
        let mut object = state.object.clone();
        object["spec"][format!("f{number}")] = number.into();
        let time = format!("2026-01-02T03:04:{number:02}Z");
        let manager = updater(&format!("m{number:02}"));
        let managers = state.managers.clone().update(&state.object, &object, &manager, VERSION, &time);
        state = Applied { object, managers };
    }
    let entries = state.managers.encode();
    assert_eq!(entries.as_array().map(Vec::len), Some(10), "{entries}");
    assert_eq!(entries[0]["manager"], "ancient-changes");
    let ancient = state.managers.fields(&updater("ancient-changes"));
    assert_eq!(ancient.paths().len(), 22, "21 fields and the spec: {:?}", ancient.paths());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn an_application_done_twice_does_no_more(before in specs(), wanted in specs()) {
        let state = update(&nothing(), "somebody", before);
        let Ok(once) = apply(&state, "one", &wanted) else { return Ok(()) };
        let twice = apply(&once, "one", &wanted).expect("what was applied can be applied again");
        prop_assert_eq!(twice, once);
    }

    #[test]
    fn alone_an_applier_gets_what_it_wants_whatever_was_before(first in specs(), second in specs()) {
        let fresh = apply(&nothing(), "one", &second).expect("nobody is in the way");
        let state = apply(&nothing(), "one", &first).expect("nobody is in the way");
        let changed = apply(&state, "one", &second).expect("nor now");
        // An empty map that stood there may stay: nobody says that it goes.
        let (changed_object, fresh_object) = (in_order(changed.object), in_order(fresh.object));
        prop_assert_eq!(without_hollows(&changed_object), without_hollows(&fresh_object));
        prop_assert_eq!(
            changed.managers.fields(&applier("one")),
            fresh.managers.fields(&applier("one"))
        );
    }

    #[test]
    fn two_appliers_without_a_conflict_commute(one in specs(), two in specs()) {
        let first = apply(&nothing(), "one", &one).expect("the first");
        let other = apply(&nothing(), "two", &two).expect("the first");
        let (Ok(one_two), Ok(two_one)) = (apply(&first, "two", &two), apply(&other, "one", &one)) else {
            return Ok(());
        };
        prop_assert_eq!(in_order(one_two.object), in_order(two_one.object));
        prop_assert_eq!(one_two.managers, two_one.managers);
    }

    #[test]
    fn a_conflict_is_told_exactly_when_a_value_of_another_changes(one in specs(), two in specs()) {
        let state = apply(&nothing(), "one", &one).expect("the first");
        match apply(&state, "two", &two) {
            Ok(done) => {
                // What the first wanted stands: it can be applied again without a change.
                let again = apply(&done, "one", &one).expect("no conflict");
                prop_assert_eq!(again.object, done.object);
            }
            Err(conflicts) => prop_assert!(!conflicts.is_empty()),
        }
    }

    #[test]
    fn managers_own_only_what_is_there(steps in prop::collection::vec((0..3_u8, any::<bool>(), specs()), 1..6)) {
        let mut state = nothing();
        for (who, applies, wanted) in steps {
            let name = format!("m{who}");
            state = if applies {
                let forced = state.managers.clone().apply(&state.object, &wanted, &applier(&name), VERSION, true, NOW);
                forced.expect("by force")
            } else {
                update(&state, &name, wanted)
            };
            let decoded = Managers::decode(&state.managers.encode()).expect("it can be read back");
            prop_assert_eq!(&decoded, &state.managers);
            for who in 0..3 {
                let name = format!("m{who}");
                for manager in [applier(&name), updater(&name)] {
                    for path in state.managers.fields(&manager).paths() {
                        prop_assert!(is_there(&state.object, &path), "{} of {} in {}", path, name, state.object);
                    }
                }
            }
        }
    }
}

fn is_there(object: &Value, path: &str) -> bool {
    let mut value = object;
    for step in path.replace("[=", ".[=").split('.').skip(1) {
        let next = match step.strip_prefix("[=") {
            Some(item) => {
                let item: Value = serde_json::from_str(item.trim_end_matches(']')).expect("JSON");
                value.as_array().and_then(|items| items.iter().find(|other| **other == item))
            }
            None => value.get(step),
        };
        match next {
            Some(next) => value = next,
            None => return false,
        }
    }
    true
}

/// Without maps and lists that hold nothing.
fn without_hollows(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().map(|(key, value)| (key.clone(), without_hollows(value)));
            Value::Object(kept.filter(|(_, value)| *value != json!({})).collect())
        }
        other => other.clone(),
    }
}

/// With the finalizers in order: they are a set.
fn in_order(mut object: Value) -> Value {
    if let Some(Value::Array(items)) = object.pointer_mut("/metadata/finalizers") {
        items.sort_by_key(Value::to_string);
    }
    object
}
