//! A policy that is written here decides as the same policy of a control server does.

use std::collections::BTreeSet;

use proptest::collection::{btree_map, btree_set, vec};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::Map;

use super::*;
use crate::config::{Policy, Rule, Step, table_name};
use crate::decide::decide;
use crate::fake::FakeTable;
use crate::life::Life;
use crate::place::Place;
use crate::record;

const KEYS: [&str; 6] = ["k0", "k1", "k2", "k3", "k,4", "k5"];
const NAMES: [&str; 3] = ["ann", "bob", "cat"];
const HEADERS: [&str; 3] = ["x-a", "x-b", "authorization"];
const NOW_MS: u64 = 1_500_000_000_000;
const AUTH: &str = "ns/p";
const LIST: &str = "ns/p@1";

/// A config: where the key stands, and what becomes of it.
#[derive(Debug, Clone)]
struct Config {
    header: &'static str,
    places: Vec<Place>,
    forward: bool,
    anonymous: bool,
}

/// A key: whose it is, when it is valid, and the configs that accept it.
#[derive(Debug, Clone)]
struct Key {
    name: &'static str,
    life: (bool, bool, bool),
    configs: Vec<bool>,
}

fn place() -> impl Strategy<Value = Place> {
    prop_oneof![
        select(&HEADERS[..2]).prop_map(|name| Place::Header { name: name.to_owned(), prefix: None }),
        Just(Place::Header { name: "authorization".to_owned(), prefix: Some("Bearer".to_owned()) }),
        Just(Place::Query("key".to_owned())),
        Just(Place::Cookie("key".to_owned())),
    ]
}

fn config() -> impl Strategy<Value = Config> {
    let places = prop_oneof![2 => Just(Vec::new()), 1 => vec(place(), 1..3)];
    (select(&HEADERS[..]), places, any::<bool>(), any::<bool>()).prop_map(
        |(header, mut places, forward, anonymous)| {
            places.dedup();
            Config { header, places, forward, anonymous }
        },
    )
}

fn key() -> impl Strategy<Value = Key> {
    (select(&NAMES[..]), any::<(bool, bool, bool)>(), vec(any::<bool>(), 3))
        .prop_map(|(name, life, configs)| Key { name, life, configs })
}

fn rule() -> impl Strategy<Value = Rule> {
    let step = (0..3_usize).prop_map(Rule::Step);
    step.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|rule| Rule::Not(Box::new(rule))),
            2 => vec(inner.clone(), 2..4).prop_map(Rule::All),
            2 => vec(inner, 2..4).prop_map(Rule::Any),
        ]
    })
}

/// A rule over so many steps.
fn within(rule: &Rule, steps: usize) -> Rule {
    let all = |rules: &[Rule]| rules.iter().map(|rule| within(rule, steps)).collect();
    match rule {
        Rule::Step(at) => Rule::Step(at % steps),
        Rule::Not(rule) => Rule::Not(Box::new(within(rule, steps))),
        Rule::All(rules) => Rule::All(all(rules)),
        Rule::Any(rules) => Rule::Any(all(rules)),
    }
}

fn spelled(rule: &Rule) -> String {
    let all = |rules: &[Rule], sign| rules.iter().map(spelled).collect::<Vec<_>>().join(sign);
    match rule {
        Rule::Step(at) => format!("c{at}"),
        Rule::Not(rule) => format!("!({})", spelled(rule)),
        Rule::All(rules) => format!("({})", all(rules, "&&")),
        Rule::Any(rules) => format!("({})", all(rules, " || ")),
    }
}

fn life_of((disabled, from, until): (bool, bool, bool)) -> Life {
    Life {
        disabled,
        not_before: from.then_some(NOW_MS - 1_000),
        expires_at: until.then_some(NOW_MS),
        any_shape: true,
    }
}

fn written_config(config: &Config) -> Map<String, Value> {
    let mut written = Map::new();
    if config.places.is_empty() {
        written.insert("headerName".to_owned(), config.header.into());
    } else {
        let mut source = json!({});
        for place in &config.places {
            let (list, item) = match place {
                Place::Header { name, prefix } => ("headers", json!({ "header": name, "prefix": prefix })),
                Place::Query(name) => ("queryParams", json!(name)),
                Place::Cookie(name) => ("cookies", json!(name)),
            };
            if source.get(list).is_none() {
                source[list] = json!([]);
            }
            source[list].as_array_mut().expect("a list").push(item);
        }
        written.insert("keySource".to_owned(), source);
    }
    written.insert("forwardKey".to_owned(), config.forward.into());
    written.insert("anonymous".to_owned(), config.anonymous.into());
    written
}

/// As it is written by people.
fn written(
    configs: &[Config],
    rule: Option<&Rule>,
    keys: &BTreeMap<usize, Key>,
    allowed: Option<&BTreeSet<&str>>,
) -> Value {
    let mut policy = json!({ "configs": configs.iter().enumerate().map(|(at, config)| {
        let mut written = written_config(config);
        written.insert("name".to_owned(), format!("c{at}").into());
        Value::Object(written)
    }).collect::<Vec<_>>() });
    if let Some(rule) = rule {
        policy["booleanExpr"] = spelled(rule).into();
    }
    if let ([only], None) = (configs, rule) {
        policy = Value::Object(written_config(only));
    }
    let entry = |(at, key): (&usize, &Key)| {
        let of = |step: &usize| key.configs[*step];
        let names: Vec<String> = (0..configs.len()).filter(of).map(|step| format!("p#c{step}")).collect();
        // One that is for none is not written, one that is for all needs no names.
        let names = if names.len() == configs.len() { Value::Null } else { json!(names) };
        let time = |is: bool, text: &str| if is { text.into() } else { Value::Null };
        let (disabled, from, until) = key.life;
        (names != json!([])).then(|| {
            json!({
                "sha256": sha256(KEYS[*at]), "identity": key.name, "disabled": disabled, "policies": names,
                "notBefore": time(from, "2017-07-14T02:39:59Z"), "expiresAt": time(until, "2017-07-14T02:40:00Z"),
            })
        })
    };
    let mut route = json!({ "prefix": "", "policy": "p" });
    if let Some(allowed) = allowed {
        route["allowed"] = json!(allowed);
    }
    json!({
        "apiVersion": API_VERSION,
        "policies": { "p": policy },
        "routes": [route],
        "keys": keys.iter().filter_map(entry).collect::<Vec<_>>(),
    })
}

/// As a control server tells it.
fn streamed(
    configs: &[Config],
    rule: Option<&Rule>,
    keys: &BTreeMap<usize, Key>,
    allowed: Option<&BTreeSet<&str>>,
) -> (FilterConfig, Replica) {
    let mut replica = Replica::new();
    let mut put = |name: &str, is_in: &dyn Fn(&Key) -> bool, bare: bool| {
        let mut table = FakeTable::new(1, &[]);
        for (at, key) in keys.iter().filter(|(_, key)| is_in(key)) {
            let life = if bare { Life::ALWAYS } else { life_of(key.life) };
            table.insert(KEYS[*at], &record::pack(life, key.name, []));
        }
        for message in table.snapshot(name, 3) {
            replica.on_message(&message).expect("a message");
        }
    };
    let mut steps = Vec::new();
    for (at, config) in configs.iter().enumerate() {
        put(&table_name(AUTH, at), &|key| key.configs[at], false);
        let mut step = Step {
            places: config.places.clone(),
            forward_key: config.forward,
            anonymous: config.anonymous && allowed.is_none(),
            ..Step::new(if config.places.is_empty() { config.header } else { "" }, table_name(AUTH, at))
        };
        if let Some(allowed) = allowed {
            let list = table_name(LIST, at);
            put(&list, &|key| key.configs[at] && allowed.contains(key.name), true);
            step.allowed = Some(list);
        }
        steps.push(step);
    }
    let auth_id = if allowed.is_some() { LIST } else { AUTH };
    let config = FilterConfig {
        policies: BTreeMap::from([(auth_id.to_owned(), Policy::new(steps, rule.cloned()))]),
        standalone: None,
        control_cluster: "control".to_owned(),
        ..read(&whole())
    };
    (config, replica)
}

/// Everything that is decided.
fn told(verdict: &Verdict<'_>) -> String {
    match verdict {
        Verdict::Allow(permit) => {
            let grant = |grant: &crate::decide::Grant<'_>| {
                let (key, identity) = (String::from_utf8_lossy(&grant.key), grant.record.identity());
                format!("{key} of {} in {:?}", String::from_utf8_lossy(identity), grant.place)
            };
            let grants: Vec<String> = permit.grants().map(grant).collect();
            format!("{:?}: {}", permit.identity().map(String::from_utf8_lossy), grants.join(", "))
        }
        Verdict::Deny(why) => why.word().to_owned(),
        other => format!("{other:?}"),
    }
}

fn request() -> impl Strategy<Value = Vec<(&'static str, String)>> {
    let value = || prop_oneof![4 => select(&KEYS[..]), 1 => Just("nobodys"), 1 => Just("")];
    let header = prop_oneof![
        4 => (select(&HEADERS[..2]), value()).prop_map(|(name, key)| (name, key.to_owned())),
        2 => value().prop_map(|key| ("authorization", key.to_owned())),
        2 => value().prop_map(|key| ("authorization", format!("bearer {key}"))),
        2 => value().prop_map(|key| ("cookie", format!("a=b; key={key}"))),
        1 => value().prop_map(|key| (":path", format!("/?key={key}"))),
    ];
    vec(header, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_decides_as_what_is_streamed(
        configs in vec(config(), 1..=3),
        rule in prop::option::of(rule()),
        keys in btree_map(0..KEYS.len(), key(), 0..6),
        allowed in prop::option::weighted(0.4, btree_set(select(&NAMES[..]), 0..3)),
        requests in vec((request(), select(&[NOW_MS - 2_000, NOW_MS - 500, NOW_MS][..])), 1..12),
    ) {
        let rule = rule.map(|rule| within(&rule, configs.len()));
        let value = written(&configs, rule.as_ref(), &keys, allowed.as_ref());
        let (server, replica) = streamed(&configs, rule.as_ref(), &keys, allowed.as_ref());
        let policy = server.policies.values().next().expect("a policy");
        let clashes = configs.iter().any(|config| {
            let is_at = |place: &&Place, name: &str| {
                matches!(place, Place::Header { name: other, .. } if other == name)
            };
            let at = |name: &str| config.places.iter().filter(|place| is_at(place, name)).count();
            HEADERS.iter().any(|name| at(name) > 1)
                || has_doubles(&config.places)
        });
        match from_json(value.to_string().as_bytes()) {
            Err(problems) => {
                prop_assert!(!policy.demands_a_key() || clashes, "{problems}: {value}");
            }
            Ok(config) => {
                prop_assert!(policy.demands_a_key());
                let nothing = Replica::new();
                let seen = Seen::new(&nothing, &config);
                for (headers, now) in requests {
                    let headers: Vec<(&str, &str)> =
                        headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                    let ask = || Request { headers: &headers, now };
                    let here = told(&decide(&config, &seen, Some(b"any"), &mut ask()));
                    let route = format!("{}|r", if allowed.is_some() { LIST } else { AUTH });
                    let there = told(&decide(&server, &replica, Some(route.as_bytes()), &mut ask()));
                    prop_assert_eq!(&here, &there, "{:?} of {}", headers, value);
                }
            }
        }
    }
}

/// Whether a query parameter or a cookie stands there twice.
fn has_doubles(places: &[Place]) -> bool {
    places.iter().enumerate().any(|(at, place)| places.iter().skip(at + 1).any(|other| other == place))
}
