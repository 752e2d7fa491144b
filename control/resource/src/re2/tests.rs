//! Tests of the check of regular expressions.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::*;

/// What the proxy said.
struct Recorded {
    /// Expressions that it takes, and the sizes of their programs.
    taken: BTreeMap<String, u64>,
    refused: Vec<String>,
}

fn recorded() -> Recorded {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/envoy/regexes.json");
    let text = std::fs::read_to_string(file).expect("testdata/envoy/regexes.json");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let taken = value["taken"].as_object().expect("an object").iter();
    let refused = value["refused"].as_array().expect("a list").iter();
    Recorded {
        taken: taken.map(|(regex, size)| (regex.clone(), size.as_u64().expect("a size"))).collect(),
        refused: refused.map(|regex| regex.as_str().expect("a string").to_owned()).collect(),
    }
}

#[test]
fn what_the_proxy_refuses_is_refused() {
    let refused = recorded().refused;
    assert!(refused.len() > 1000);
    let taken: Vec<_> = refused.iter().filter(|regex| parse(regex).is_ok()).collect();
    assert!(taken.is_empty(), "the proxy does not take {taken:#?}");
}

#[test]
fn what_the_proxy_takes_is_taken_but_for_oddities() {
    let taken = recorded().taken;
    assert!(taken.len() > 400);
    let refused: Vec<_> =
        taken.keys().filter_map(|regex| parse(regex).err().map(|why| (regex, why))).collect();
    let odd = |regex: &str, why: &str| {
        let texts =
            ["\\Q", "\\E", "[:", "[[.", "[[=", "(?)", "(?i)*", "(?i)+", "(?i)?", "(?i){", "999}", "\\\n"];
        let whys = ["two groups have the name", "groups in groups", "bytes", "byte", "class of Unicode"];
        texts.iter().any(|text| regex.contains(text)) || whys.iter().any(|text| why.contains(text))
    };
    let plain: Vec<_> = refused.iter().filter(|(regex, why)| !odd(regex, why)).collect();
    assert!(plain.is_empty(), "the proxy takes {plain:#?}");
    assert!(refused.len() * 8 < taken.len(), "{} of {} are too odd", refused.len(), taken.len());
}

#[test]
fn sizes_are_never_less_than_the_proxy_counts_and_not_much_more() {
    let mut sums = (0, 0);
    for (regex, counted) in recorded().taken {
        let Ok(expression) = parse(&regex) else { continue };
        let size = u64::from(expression.size);
        assert!(size >= counted, "{regex:?} has {counted} instructions, not {size}");
        sums = (sums.0 + counted, sums.1 + size);
    }
    assert!(sums.1 < 2 * sums.0, "{sums:?}");
}

#[test]
fn what_looks_like_characters_but_matches_bytes_is_refused() {
    for right in ["é", "(é)+", "/straße/.*", "\\x{e9}", "[\\xe0-\\xff]"] {
        assert!(parse(right).is_ok(), "{right}");
    }
    for wrong in ["é+", "é{2}", "[é]", "[^é]", "[a-ü]", "\\x{100}", "\\x{65e5}", "\\777", "\\p{Greek}"] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn programs_are_bounded() {
    for right in [".{1000}", "[a-z0-9-]{1,63}(\\.[a-z0-9-]{1,63}){0,10}"] {
        assert!(parse(right).is_ok(), "{right}");
    }
    for wrong in ["\\pL{1000}\\pL{1000}", "[[:alpha:][:digit:][:punct:][:space:]]{900}"] {
        let why = parse(wrong).err().unwrap_or_default();
        assert!(why.contains("more than 20000 states"), "{wrong}: {why}");
    }
}

#[test]
fn groups_are_counted_for_substitutions() {
    let expression = parse("(a)(?:b)(?P<name>c(d))[(](?i)\\(").expect("a right expression");
    assert_eq!(expression.groups, 3);
    for right in ["", "/x", "\\1/\\2", "\\0\\3", "\\\\4"] {
        assert_eq!(check_substitution(right, expression), Ok(()), "{right}");
    }
    for wrong in ["\\4", "\\", "\\x", "a\\1\\"] {
        assert!(check_substitution(wrong, expression).is_err(), "{wrong}");
    }
}
