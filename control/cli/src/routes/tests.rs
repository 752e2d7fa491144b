use super::*;

#[test]
fn routes_stand_where_the_kind_has_them() {
    for (is_table, pointer) in [(false, "/spec/virtualHost/routes"), (true, "/spec/routes")] {
        let kind = owner_kind(is_table).expect("a kind");
        let mut owner = Owner::new(Place::of(kind, "team", "a"));
        owner.routes().expect("routes").push(json!({ "name": "one" }));
        assert_eq!(owner.object.pointer(pointer), Some(&json!([{ "name": "one" }])));
        // Without routes as well.
        let object =
            json!({ "metadata": { "name": "a", "namespace": "team" }, "spec": { "virtualHost": {} } });
        let mut owner = Owner::read(kind, object);
        assert!(owner.exists && owner.place.to_string() == "team/a");
        assert!(owner.routes().expect("routes").is_empty());
    }
}

#[test]
fn what_has_no_routes_is_no_owner() {
    let kind = owner_kind(false).expect("a kind");
    for spec in [json!(null), json!({ "virtualHost": 1 }), json!({ "virtualHost": { "routes": {} } })] {
        assert!(Owner::read(kind, json!({ "spec": spec })).routes().is_err());
    }
}
