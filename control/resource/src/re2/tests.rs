//! Tests of the check of regular expressions.

use std::path::Path;

use serde_json::Value;

use super::*;

fn recorded(key: &str) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/re2/recorded.json");
    let text = std::fs::read_to_string(file).expect("testdata/re2/recorded.json");
    let value: Value = serde_json::from_str(&text).expect("JSON");
    let list = value[key].as_array().expect("a list");
    list.iter().map(|pattern| pattern.as_str().expect("a string").to_owned()).collect()
}

#[test]
fn what_re2_refuses_is_refused() {
    let refused = recorded("refused");
    assert!(refused.len() > 1000);
    let taken: Vec<_> = refused.iter().filter(|pattern| parse(pattern).is_ok()).collect();
    assert!(taken.is_empty(), "RE2 does not take {taken:#?}");
}

#[test]
fn what_re2_takes_is_taken_but_for_oddities() {
    let taken = recorded("taken");
    assert!(taken.len() > 300);
    let refused: Vec<_> =
        taken.iter().filter_map(|pattern| parse(pattern).err().map(|why| (pattern, why))).collect();
    let odd = |pattern: &str, why: &str| {
        let texts = [
            r"\Q", r"\E", "[[:", "[:", "[[.", "[[=", "(?)", "(?i)*", "(?i)+", "(?i)?", "(?i){", r"\p{", r"\x{d",
            "{99999999999", "{1,99999999999", "\\\n",
        ];
        let whys = ["two groups have the name", "too many states", "groups in groups"];
        texts.iter().any(|text| pattern.contains(text)) || whys.iter().any(|text| why.contains(text))
    };
    let plain: Vec<_> = refused.iter().filter(|(pattern, why)| !odd(pattern, why)).collect();
    assert!(plain.is_empty(), "RE2 takes {plain:#?}");
    assert!(refused.len() * 10 < taken.len(), "{} of {} are too odd", refused.len(), taken.len());
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
