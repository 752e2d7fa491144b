//! Tests of the tables.

use serde_json::json;

use super::*;

static INNER: Message = Message {
    name: "Inner",
    doc: "",
    fields: &[Field::new("weight", Type::COUNT, "")],
    unsupported: &["subset"],
};

static OUTER: Message = Message {
    name: "Outer",
    doc: "",
    fields: &[
        Field::new("hosts", Type::List(&Type::Object(&INNER)), ""),
        Field::new("byName", Type::Map(&Type::Object(&INNER)), ""),
        Field::new("labels", Type::STRINGS, ""),
    ],
    unsupported: &[],
};

#[test]
fn what_no_table_knows_is_removed_and_told() {
    let mut value = json!({
        "host": 1,
        "hosts": [{ "wieght": 1, "weight": 2, "subset": {} }, "odd"],
        "byName": { "a": { "zzz": 1 } },
        "labels": { "anything": "goes" },
    });
    let unknown = prune(&OUTER, &mut value);
    let told: Vec<_> = unknown.iter().map(|unknown| (unknown.path.as_str(), unknown.nearest)).collect();
    assert_eq!(told, [("host", Some("hosts")), ("byName[a].zzz", None), ("hosts[0].wieght", Some("weight"))]);
    assert_eq!(
        value,
        json!({
            "hosts": [{ "weight": 2, "subset": {} }, "odd"],
            "byName": { "a": {} },
            "labels": { "anything": "goes" },
        })
    );
    assert_eq!(prune(&OUTER, &mut value), []);
}
