//! Tests of header values with commands.

use std::path::Path;

use serde_json::Value;

use super::*;

fn recorded(key: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/envoy/header-commands.json");
    let text = std::fs::read_to_string(file).expect("testdata/envoy/header-commands.json");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let list = value[key].as_array().expect("a list");
    list.iter().map(|value| value.as_str().expect("a string").to_owned()).collect()
}

#[test]
fn what_the_proxy_refuses_is_refused() {
    let refused = recorded("refused");
    assert!(refused.len() > 1000);
    let taken: Vec<_> = refused.iter().filter(|value| check(value).is_ok()).collect();
    assert!(taken.is_empty(), "the proxy does not take {taken:#?}");
}

#[test]
fn every_command_is_taken_by_the_proxy_and_here() {
    let taken = recorded("taken");
    let names = COMMANDS.iter().map(|(name, ..)| *name).chain(PLAIN_COMMANDS.iter().copied());
    for name in names {
        let both = |value: &&String| {
            let rest = value.strip_prefix('%').and_then(|value| value.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with(['(', '%', ':'])) && check(value).is_ok()
        };
        assert!(taken.iter().any(|value| both(&value)), "{name}");
    }
}

#[test]
fn plain_text_and_percent_signs_are_told_apart() {
    for right in ["", "plain", "100%%", "%%%%", "a %REQ(:path)% b", "%REQ(x-a?x-b):10%%%"] {
        assert_eq!(check(right), Ok(()), "{right}");
    }
    for wrong in ["100%", "%%%", "% %", "%ENVIRONMENT(PATH)%", "%CEL(1)%", "%req(a)%"] {
        assert!(check(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn what_a_value_takes_over_is_found_wherever_it_stands() {
    let header = |name: &str| Source::Header(name.to_owned());
    for (text, expected) in [
        ("", vec![]),
        ("plain 100%% %DURATION% %%REQ(api-key)%%", vec![]),
        ("a %REQ(API-Key):10% b", vec![header("api-key")]),
        ("%REQ(x-a?Cookie)%%RESP(x-b)%%TRAILER(x-c)%", ["x-a", "cookie", "x-b", "x-c"].map(header).to_vec()),
        ("%REQ(:PATH)%", vec![Source::Query]),
        ("%REQ(x-a?referer)%", vec![header("x-a"), Source::Query]),
        ("%PATH:5% %QUERY_PARAMS%", vec![Source::Query, Source::Query]),
        ("%QUERY_PARAM(api_key)%", vec![Source::Parameter("api_key".to_owned())]),
    ] {
        assert_eq!(sources(text), expected, "{text}");
        assert_eq!(check(text), Ok(()), "{text}");
    }
}
