//! What must hold for any route and any options: every field of the tables is read, a value that does
//! not belong there is blamed where it stands, and admission settles after one step.

use std::collections::BTreeSet;
use std::path::Path;

use keyward_resource::schema::{Message, Type};
use keyward_resource::{Format, Kind, admit, decode, kind, parse_body};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

const KINDS: &[&str] = &["VirtualService", "RouteTable", "VirtualHostOption", "RouteOption"];
/// Messages with tests of their own.
const ELSEWHERE: &[&str] = &["ObjectMeta", "SslConfig", "Status"];

/// The objects of the golden cases that are admitted, with their kinds.
fn samples() -> Vec<(&'static Kind, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/resources");
    let mut samples = Vec::new();
    for case in std::fs::read_dir(folder).expect("testdata/resources") {
        let case = case.expect("entry").path();
        let bytes = std::fs::read(case.join("in.yaml")).expect("in.yaml");
        let Ok(object) = parse_body(&bytes, Format::Yaml) else { continue };
        let text = |key: &str| object[key].as_str().unwrap_or_default().to_owned();
        let Some((kind, _)) = kind::by_type(&text("apiVersion"), &text("kind")) else { continue };
        if !KINDS.contains(&kind.name) || case.join("path.yaml").exists() {
            continue;
        }
        let namespace = object["metadata"]["namespace"].as_str().unwrap_or("default").to_owned();
        if let Ok(stored) = admit(kind, &namespace, None, object) {
            samples.push((kind, stored));
        }
    }
    assert!(samples.len() > 30, "the samples are not where they should be");
    samples
}

/// One value inside an object: where it is, and what its table says of it.
struct Place {
    pointer: String,
    path: String,
    ty: Type,
}

/// Every value below a message, with its path as mistakes name it.
fn places(message: &'static Message, value: &Value, pointer: &str, path: &str, found: &mut Vec<Place>) {
    if ELSEWHERE.contains(&message.name) {
        return;
    }
    for (key, value) in value.as_object().into_iter().flatten() {
        let Some(field) = message.field(key) else { continue };
        let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
        places_of(field.ty, value, format!("{pointer}/{key}"), path, found);
    }
}

fn places_of(ty: Type, value: &Value, pointer: String, path: String, found: &mut Vec<Place>) {
    match ty {
        Type::Object(message) => places(message, value, &pointer, &path, found),
        Type::List(item) => {
            for (index, value) in value.as_array().into_iter().flatten().enumerate() {
                places_of(*item, value, format!("{pointer}/{index}"), format!("{path}[{index}]"), found);
            }
        }
        Type::Map(item) => {
            for (key, value) in value.as_object().into_iter().flatten() {
                let step = key.replace('~', "~0").replace('/', "~1");
                places_of(*item, value, format!("{pointer}/{step}"), format!("{path}[{key}]"), found);
            }
        }
        _ => {}
    }
    if !matches!(ty, Type::Any) {
        found.push(Place { pointer, path, ty });
    }
}

/// A value of another type than the one that belongs there.
fn misplaced(ty: Type) -> Vec<Value> {
    let mut values = vec![json!(true), json!(1.5), json!("\u{1}"), json!([[]]), json!({ "": {} })];
    values.retain(|value| match ty {
        Type::Boolean => !value.is_boolean(),
        Type::Number => !value.is_number(),
        Type::Object(_) | Type::Map(_) => !value.is_object(),
        Type::List(_) => !value.is_array(),
        Type::String => !value.is_string(),
        _ => true,
    });
    values
}

fn messages(message: &'static Message, found: &mut Vec<&'static Message>) {
    if ELSEWHERE.contains(&message.name) || found.iter().any(|known| known.name == message.name) {
        return;
    }
    found.push(message);
    for field in message.fields {
        let mut ty = field.ty;
        while let Type::List(item) | Type::Map(item) = ty {
            ty = *item;
        }
        if let Type::Object(message) = ty {
            messages(message, found);
        }
    }
}

fn used(message: &'static Message, value: &Value, found: &mut BTreeSet<(&'static str, &'static str)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let Some(field) = message.field(key) else { continue };
        found.insert((message.name, field.name));
        let (mut ty, mut values) = (field.ty, vec![value]);
        while let Type::List(item) | Type::Map(item) = ty {
            ty = *item;
            values = values
                .into_iter()
                .flat_map(|value| match value {
                    Value::Array(items) => items.iter().collect::<Vec<_>>(),
                    Value::Object(entries) => entries.values().collect(),
                    _ => Vec::new(),
                })
                .collect();
        }
        if let Type::Object(message) = ty {
            values.into_iter().for_each(|value| used(message, value, found));
        }
    }
}

#[test]
fn every_field_stands_in_a_case_that_is_admitted() {
    let mut all = Vec::new();
    let mut found = BTreeSet::new();
    for (kind, object) in samples() {
        messages(kind.fields, &mut all);
        used(kind.fields, &object, &mut found);
    }
    let fields = all.iter().flat_map(|message| message.fields.iter().map(|field| (message.name, field.name)));
    let missing: Vec<_> = fields.filter(|field| field.1 != "status" && !found.contains(field)).collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
    assert!(found.len() > 120, "{}", found.len());
}

#[test]
fn every_field_is_explained() {
    let mut all = Vec::new();
    for name in KINDS {
        messages(kind::by_name(name).expect("a kind").fields, &mut all);
    }
    for message in all {
        assert!(message.doc.ends_with('.'), "{}", message.name);
        for field in message.fields {
            assert!(field.doc.ends_with('.'), "{}.{}: {:?}", message.name, field.name, field.doc);
        }
    }
}

#[test]
fn a_value_of_another_type_is_blamed_where_it_stands() {
    let mut tried = 0;
    for (kind, object) in samples() {
        let mut found = Vec::new();
        places(kind.fields, &object, "", "", &mut found);
        for place in found.iter().filter(|place| place.path.starts_with("spec")) {
            for value in misplaced(place.ty) {
                let mut object = object.clone();
                *object.pointer_mut(&place.pointer).expect("the place is there") = value.clone();
                let errors = decode(kind, &object).expect_err(&format!("{} = {value}", place.path));
                assert!(
                    errors.iter().any(|error| error.path.starts_with(&place.path)),
                    "{} {} = {value} is blamed on {errors:?}",
                    kind.name,
                    place.path
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 2000, "{tried}");
}

#[test]
fn unknown_fields_are_blamed_in_every_object() {
    for (kind, object) in samples() {
        let mut found = Vec::new();
        places(kind.fields, &object, "", "", &mut found);
        for place in found.iter().filter(|place| matches!(place.ty, Type::Object(_))) {
            let mut object = object.clone();
            object.pointer_mut(&place.pointer).expect("the place is there")["zzzzzz"] = json!(1);
            let errors = decode(kind, &object).expect_err(&place.path);
            let blamed = format!("{}.zzzzzz", place.path);
            assert!(errors.iter().any(|error| error.path == blamed), "{blamed}: {errors:?}");
        }
    }
}

// --- random specs ---

fn name() -> impl Strategy<Value = Value> {
    select(vec!["a", "b-c", "d.e"]).prop_map(Value::from)
}

fn reference() -> impl Strategy<Value = Value> {
    (name(), prop::option::of(select(vec!["apps", "teams"]))).prop_map(|(name, namespace)| match namespace {
        Some(namespace) => json!({ "name": name, "namespace": namespace }),
        None => json!({ "name": name }),
    })
}

fn duration() -> impl Strategy<Value = Value> {
    select(vec!["0s", "1.5s", "200ms", "1m30s", "2h"]).prop_map(Value::from)
}

fn regex() -> impl Strategy<Value = Value> {
    select(vec!["/.*", "/v[0-9]+/(a|b)", "(?i)/x", "\\d{2,4}", "^/(?P<n>[^/]+)$"]).prop_map(Value::from)
}

/// An object with some of these fields.
fn some(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(key, value)| prop::option::of(value).prop_map(move |value| value.map(|value| (key, value))))
        .collect();
    fields
        .prop_map(|fields| {
            let fields = fields.into_iter().flatten().map(|(key, value)| (key.to_owned(), value));
            Value::Object(Map::from_iter(fields))
        })
        .boxed()
}

fn condition() -> BoxedStrategy<Value> {
    let value = prop_oneof![
        Just(json!({})),
        Just(json!({ "value": "x" })),
        regex().prop_map(|regex| json!({ "value": regex, "regex": true })),
    ];
    (name(), value)
        .prop_map(|(name, mut value)| {
            value["name"] = name;
            value
        })
        .boxed()
}

fn matcher() -> BoxedStrategy<Value> {
    let path = prop_oneof![
        select(vec!["/", "/a", "/a/b"]).prop_map(|path| ("prefix", json!(path))),
        select(vec!["/", "/a", "/a/b"]).prop_map(|path| ("exact", json!(path))),
        regex().prop_map(|regex| ("regex", regex)),
    ];
    let rest = some(vec![
        ("caseSensitive", any::<bool>().prop_map(Value::from).boxed()),
        ("headers", prop::collection::vec(condition(), 0..3).prop_map(Value::from).boxed()),
        ("queryParameters", prop::collection::vec(condition(), 0..3).prop_map(Value::from).boxed()),
        ("methods", Just(json!(["GET", "PUT"])).boxed()),
    ]);
    (path, rest)
        .prop_map(|((key, path), mut matcher)| {
            matcher[key] = path;
            matcher
        })
        .boxed()
}

fn action() -> BoxedStrategy<(&'static str, Value)> {
    let destination = (reference(), 1..5_u32)
        .prop_map(|(upstream, weight)| json!({ "weight": weight, "destination": { "upstream": upstream } }));
    prop_oneof![
        reference().prop_map(|upstream| ("routeAction", json!({ "single": { "upstream": upstream } }))),
        prop::collection::vec(destination, 1..4)
            .prop_map(|list| ("routeAction", json!({ "multi": { "destinations": list } }))),
        reference().prop_map(|group| ("routeAction", json!({ "upstreamGroup": group }))),
        some(vec![
            ("hostRedirect", Just(json!("a.example.com")).boxed()),
            ("prefixRewrite", Just(json!("/x")).boxed()),
            ("portRedirect", Just(json!(8443)).boxed()),
            ("responseCode", Just(json!("FOUND")).boxed()),
        ])
        .prop_map(|redirect| ("redirectAction", redirect)),
        (200..600_u16).prop_map(|status| ("directResponseAction", json!({ "status": status }))),
    ]
    .boxed()
}

fn options() -> BoxedStrategy<Value> {
    let header = json!({ "header": { "key": "x-a", "value": "%REQ(:path)%" } });
    some(vec![
        ("extauth", reference().prop_map(|config| json!({ "configRef": config })).boxed()),
        ("autoHostRewrite", any::<bool>().prop_map(Value::from).boxed()),
        ("prefixRewrite", Just(json!("/new")).boxed()),
        ("timeout", duration().boxed()),
        ("idleTimeout", duration().boxed()),
        ("retries", duration().prop_map(|time| json!({ "retryOn": "5xx", "perTryTimeout": time })).boxed()),
        ("headerManipulation", Just(json!({ "requestHeadersToAdd": [header] })).boxed()),
        ("cors", regex().prop_map(|regex| json!({ "allowOriginRegex": [regex] })).boxed()),
        ("shadowing", reference().prop_map(|to| json!({ "upstream": to, "percentage": 50.5 })).boxed()),
        ("upgrades", Just(json!([{ "websocket": {} }])).boxed()),
        ("lbHash", Just(json!({ "hashPolicies": [{ "sourceIp": true }] })).boxed()),
    ])
}

fn route() -> BoxedStrategy<Value> {
    (prop::collection::vec(matcher(), 0..3), action(), options(), any::<bool>())
        .prop_map(|(matchers, (key, action), options, named)| {
            let mut route = json!({ "matchers": matchers, "options": options });
            route[key] = action;
            if named {
                route["name"] = json!("a route");
            }
            route
        })
        .boxed()
}

fn objects() -> BoxedStrategy<(&'static Kind, Value)> {
    let by_name = |name: &str| kind::by_name(name).expect("a kind");
    let (host, table, option) = (by_name("VirtualService"), by_name("RouteTable"), by_name("RouteOption"));
    let object = move |kind: &'static Kind, spec: Value| {
        (kind, json!({ "kind": kind.name, "metadata": { "name": "x" }, "spec": spec }))
    };
    prop_oneof![
        prop::collection::vec(route(), 0..5)
            .prop_map(move |routes| object(host, json!({ "virtualHost": { "routes": routes } }))),
        prop::collection::vec(route(), 0..5)
            .prop_map(move |routes| object(table, json!({ "routes": routes }))),
        options().prop_map(move |options| object(option, json!({ "options": options }))),
    ]
    .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn right_specs_are_admitted_and_stay_as_they_are((kind, object) in objects()) {
        let stored = admit(kind, "apps", None, object.clone());
        let stored = stored.map_err(|errors| TestCaseError::fail(format!("{errors:?}")))?;
        prop_assert_eq!(&stored["spec"], &object["spec"]);
        prop_assert_eq!(admit(kind, "apps", None, stored.clone()), Ok(stored.clone()));
        prop_assert!(decode(kind, &stored).is_ok());
    }

    #[test]
    fn one_broken_field_is_blamed_and_nothing_else(
        (kind, object) in objects(),
        index in any::<Index>(),
        which in any::<Index>(),
    ) {
        let stored = admit(kind, "apps", None, object);
        let mut stored = stored.map_err(|errors| TestCaseError::fail(format!("{errors:?}")))?;
        let mut found = Vec::new();
        places(kind.fields, &stored, "", "", &mut found);
        found.retain(|place| place.path.starts_with("spec."));
        prop_assume!(!found.is_empty());
        let place = &found[index.index(found.len())];
        let values = misplaced(place.ty);
        let value = &values[which.index(values.len())];
        *stored.pointer_mut(&place.pointer).expect("the place is there") = value.clone();
        let errors = decode(kind, &stored).expect_err("the value does not belong there");
        let stray: Vec<_> = errors.iter().filter(|error| !error.path.starts_with(&place.path)).collect();
        prop_assert!(stray.is_empty(), "{} = {}: {:?}", place.path, value, stray);
    }
}
