//! Whether a text is what a matcher asks for.

use regex::bytes::{Regex, RegexBuilder};

use crate::served::StringMatcher;

/// Whether something holds, as far as that is known here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fit {
    Yes,
    /// Why not.
    No(String),
    /// What would have to be known.
    Untold(String),
}

/// Matches as Envoy does. It has RE2 look at bytes, so this one does too.
pub(crate) fn matches(matcher: &StringMatcher, text: &[u8]) -> Fit {
    let StringMatcher { exact, prefix, suffix, contains, safe_regex, ignore_case, rest } = matcher;
    if let Some(unknown) = rest.keys().next() {
        return Fit::Untold(format!("a text matcher asks for {unknown}"));
    }
    let lower = |bytes: &[u8]| if *ignore_case { bytes.to_ascii_lowercase() } else { bytes.to_vec() };
    let compared = lower(text);
    let fits = match (exact, prefix, suffix, contains, safe_regex) {
        (Some(exact), ..) => compared == lower(exact.as_bytes()),
        (_, Some(prefix), ..) => compared.starts_with(&lower(prefix.as_bytes())),
        (_, _, Some(suffix), ..) => compared.ends_with(&lower(suffix.as_bytes())),
        (_, _, _, Some(part), _) => {
            let part = lower(part.as_bytes());
            part.is_empty() || compared.windows(part.len()).any(|window| window == part)
        }
        // Envoy does not let an expression ignore case from outside.
        (.., Some(regex)) => return whole(&regex.regex, text),
        (None, None, None, None, None) => return Fit::Untold("a text matcher asks for nothing".to_owned()),
    };
    if fits { Fit::Yes } else { Fit::No(format!("it is not {}", matcher.describe())) }
}

/// Whether all of a text is what a regular expression describes.
pub(crate) fn whole(expression: &str, text: &[u8]) -> Fit {
    match compile(expression) {
        Some(regex) if regex.is_match(text) => Fit::Yes,
        Some(_) => Fit::No(format!("it does not match {expression}")),
        None => Fit::Untold(format!("the regular expression {expression} means something else to Envoy")),
    }
}

fn compile(expression: &str) -> Option<Regex> {
    if is_read_otherwise(expression) {
        return None;
    }
    RegexBuilder::new(&format!(r"\A(?:{expression})\z")).unicode(false).build().ok()
}

/// Whether RE2 and the library here read an expression differently: sets of characters in sets, and a few
/// escapes.
fn is_read_otherwise(expression: &str) -> bool {
    let mut rest = expression;
    let mut in_class = false;
    while let Some(character) = rest.chars().next() {
        let after = &rest[character.len_utf8()..];
        match character {
            '\\' => {
                if after.starts_with(['<', '>']) || after.starts_with("b{") {
                    return true;
                }
                let escaped = after.chars().next().map_or(0, char::len_utf8);
                rest = &after[escaped..];
                continue;
            }
            '[' if in_class && !after.starts_with(':') => return true,
            '[' => {
                in_class = true;
                // A bracket that comes first is one of the characters.
                rest = after.strip_prefix('^').unwrap_or(after);
                rest = rest.strip_prefix(']').unwrap_or(rest);
                continue;
            }
            ':' if in_class && after.starts_with(']') => {
                rest = &after[1..];
                continue;
            }
            ']' => in_class = false,
            '&' | '-' | '~' if in_class && after.starts_with(character) => return true,
            _ => {}
        }
        rest = after;
    }
    false
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fits(matcher: serde_json::Value, text: &[u8]) -> Option<bool> {
        let matcher: StringMatcher = serde_json::from_value(matcher).expect("a matcher");
        match matches(&matcher, text) {
            Fit::Yes => Some(true),
            Fit::No(_) => Some(false),
            Fit::Untold(_) => None,
        }
    }

    #[test]
    fn texts_fit_or_not() {
        for (matcher, text, expected) in [
            (json!({ "exact": "a" }), &b"a"[..], Some(true)),
            (json!({ "exact": "a" }), b"A", Some(false)),
            (json!({ "exact": "a", "ignoreCase": true }), b"A", Some(true)),
            (json!({ "prefix": "a" }), b"ab", Some(true)),
            (json!({ "suffix": "a" }), b"ab", Some(false)),
            (json!({ "contains": "bc" }), b"abcd", Some(true)),
            (json!({ "safeRegex": { "regex": "a.c" } }), b"abc", Some(true)),
            (json!({ "safeRegex": { "regex": "a.c" } }), b"xabc", Some(false)),
            (json!({ "safeRegex": { "regex": "a|b" } }), b"ab", Some(false)),
            // A byte is a character.
            (json!({ "safeRegex": { "regex": "." } }), "é".as_bytes(), Some(false)),
            (json!({ "safeRegex": { "regex": ".." } }), "é".as_bytes(), Some(true)),
            (json!({ "safeRegex": { "regex": r"\Qa.c\E" } }), b"a.c", None),
            (json!({ "custom": {} }), b"a", None),
            (json!({}), b"a", None),
        ] {
            assert_eq!(fits(matcher.clone(), text), expected, "{matcher}");
        }
    }

    #[test]
    fn what_re2_reads_otherwise_is_not_guessed() {
        for other in ["[a&&b]", "[a[b]]", "[a--b]", r"\<a", r"a\b{start}", "[a~~b]"] {
            assert!(is_read_otherwise(other), "{other}");
        }
        for same in ["a--b", "[[:alpha:]]+", r"[\[a]", "[]a]", "[^]a-z]", r"a\[b", "/[a-z]+/&&", "[a-]"] {
            assert!(!is_read_otherwise(same), "{same}");
        }
    }
}
