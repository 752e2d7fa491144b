use serde_json::json;

use super::*;

#[test]
fn changes_of_different_fields_go_together() {
    let base = json!({ "a": 1, "b": { "c": 1, "d": 1 }, "gone": 1, "list": [1] });
    let mine = json!({ "a": 2, "b": { "c": 1, "d": 1, "new": 1 }, "list": [1] });
    let theirs = json!({ "a": 1, "b": { "c": 2 }, "gone": 1, "list": [1, 2] });
    let both = json!({ "a": 2, "b": { "c": 2, "new": 1 }, "list": [1, 2] });
    assert_eq!(merge(&base, mine, theirs), Ok(both));
}

#[test]
fn the_same_change_is_no_conflict() {
    let (base, both) = (json!({ "a": 1 }), json!({ "a": 2, "b": 3 }));
    assert_eq!(merge(&base, both.clone(), both.clone()), Ok(both));
}

#[test]
fn fields_that_both_have_changed_are_named() {
    let base = json!({ "a": 1, "b": { "c": 1, "list": [1] }, "d": 1 });
    let mine = json!({ "a": 2, "b": { "c": 2, "list": [2] }, "d": 1 });
    let theirs = json!({ "a": 3, "b": { "c": 1, "list": [3] } });
    assert_eq!(merge(&base, mine, theirs), Err(vec!["a".to_owned(), "b.list".to_owned()]));
    let conflict = merge(&json!({ "a": 1 }), json!({ "a": 2 }), json!({}));
    assert_eq!(conflict, Err(vec!["a".to_owned()]), "changed here, gone there");
}
