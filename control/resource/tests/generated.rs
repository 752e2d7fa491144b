//! Objects made at random from the tables of fields: whatever is admitted is read back, admitted again
//! unchanged, and known to the tables.

use std::collections::BTreeMap;

use keyward_resource::schema::{Message, Type, prune};
use keyward_resource::{KINDS, Kind, admit, decode, present};
use serde_json::{Map, Value, json};

/// Numbers that look random and are the same in every run.
struct Dice(u64);

/// Objects of each kind.
const ROUNDS: u64 = 3000;
/// No message is nested deeper.
const MAX_DEPTH: usize = 7;

const WORDS: &[&str] = &[
    "a",
    "b",
    "default",
    "a.example.com",
    "*.example.com",
    "10.0.0.1",
    "/",
    "/a",
    "x-a",
    "GET",
    "h2",
    "P-256",
    "00ff",
    "5xx",
    "a && b",
    "config_0",
    "websocket",
    "1",
    "",
];
const KEYS: &[&str] = &["a", "x-b", "tls.crt", "api-key", "*"];
const DURATIONS: &[&str] = &["0s", "1s", "250ms", "1m30s"];

fn object(message: &'static Message, dice: &mut Dice, depth: usize) -> Value {
    let mut map = Map::new();
    for field in message.fields {
        let wanted = field.required && !dice.one_in(20);
        let more = depth < MAX_DEPTH && dice.one_in(if depth < 3 { 3 } else { 8 });
        if wanted || more {
            map.insert(field.name.to_owned(), value(field.name, field.ty, dice, depth));
        }
    }
    Value::Object(map)
}

fn whole(min: i64, max: i64, dice: &mut Dice) -> i64 {
    let small = min.saturating_add(1).min(max);
    [min, small, max, min.max(8080).min(max)][dice.below(4)]
}

fn value(name: &str, ty: Type, dice: &mut Dice, depth: usize) -> Value {
    match ty {
        Type::Boolean => json!(dice.one_in(2)),
        Type::Integer(min, max) => json!(whole(min, max, dice)),
        Type::Long(min, max) => {
            let number = whole(min, max, dice);
            if dice.one_in(2) { json!(number.to_string()) } else { json!(number) }
        }
        Type::Number => json!([0.0, 1.0, 1.5, 50.0][dice.below(4)]),
        Type::String => json!(word(name, dice)),
        Type::Duration => json!(DURATIONS[dice.below(DURATIONS.len())]),
        Type::Enum(words) => json!(words[dice.below(words.len())]),
        Type::Bytes => json!(["", "YQ==", "bm90IFBFTQ=="][dice.below(3)]),
        Type::Time => json!("2026-01-01T00:00:00Z"),
        Type::Object(message) => object(message, dice, depth + 1),
        Type::Map(item) => {
            let len = dice.below(3);
            let entry = |dice: &mut Dice| {
                let key = KEYS[dice.below(KEYS.len())];
                (key.to_owned(), value(key, *item, dice, depth + 1))
            };
            Value::Object((0..len).map(|_| entry(dice)).collect())
        }
        Type::List(item) => {
            let len = if dice.one_in(2) { 1 } else { dice.below(3) };
            Value::Array((0..len).map(|_| value(name, *item, dice, depth + 1)).collect())
        }
        Type::Any => json!({}),
    }
}

/// A word that often fits the field.
fn word(name: &str, dice: &mut Dice) -> &'static str {
    match name {
        "namespace" => "apps",
        "prefix" | "exact" | "path" | "prefixRewrite" | "pathRedirect" if !dice.one_in(4) => "/a",
        "name" | "key" | "headerName" | "addr" if !dice.one_in(4) => "x-a",
        "bindAddress" => "10.0.0.1",
        "regex" | "substitution" if !dice.one_in(4) => "a",
        _ => WORDS[dice.below(WORDS.len())],
    }
}

/// Whether it was admitted.
fn check(kind: &'static Kind, object: &Value) -> bool {
    let namespace = if kind.is_namespaced() { "apps" } else { "" };
    let _ = decode(kind, object);

    let mut pruned = object.clone();
    assert_eq!(prune(kind.fields, &mut pruned), [], "{object}");
    assert_eq!(pruned, *object);

    match admit(kind, namespace, None, object.clone()) {
        Err(mistakes) => {
            assert!(!mistakes.is_empty());
            for mistake in mistakes {
                assert!(!mistake.message.starts_with("unknown field"), "{mistake}\n{object}");
                assert!(!mistake.path.starts_with("status"), "{mistake}\n{object}");
            }
            false
        }
        Ok(stored) => {
            assert_eq!(admit(kind, namespace, None, stored.clone()).as_ref(), Ok(&stored));
            let resource = decode(kind, &stored).expect("what is admitted can be decoded");
            assert_eq!(resource.meta().name, stored["metadata"]["name"]);
            assert_eq!(decode(kind, &stored).as_ref(), Ok(&resource));
            let mut pruned = stored.clone();
            assert_eq!(prune(kind.fields, &mut pruned), [], "{stored}");
            for asked in kind.group_versions() {
                let shown = present(kind, stored.clone(), asked);
                assert_eq!(admit(kind, namespace, None, shown).as_ref(), Ok(&stored));
            }
            true
        }
    }
}

#[test]
fn generated_objects_are_admitted_and_read_alike() {
    let mut admitted: BTreeMap<&str, u64> = BTreeMap::new();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for kind in KINDS.iter().copied() {
        for _ in 0..ROUNDS {
            let mut found = object(kind.fields, &mut dice, 0);
            found["apiVersion"] = kind.api_version().into();
            found["kind"] = kind.name.into();
            found["metadata"] = json!({ "name": "x" });
            *admitted.entry(kind.name).or_default() += u64::from(check(kind, &found));
        }
    }
    // Else it shows nothing.
    let few: Vec<_> = admitted.iter().filter(|(_, count)| **count < 20).collect();
    assert!(few.is_empty(), "hardly any is admitted: {few:?} of {admitted:?}");
}

// === impl Dice ===

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("small");
        usize::try_from((self.next() >> 11) % bound).expect("small")
    }

    fn one_in(&mut self, chances: usize) -> bool {
        self.below(chances) == 0
    }
}
