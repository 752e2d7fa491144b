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
