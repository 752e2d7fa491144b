//! What a text has to be: exactly this, containing this, or matching an expression.

use anyhow::{Context as _, bail, ensure};
use regex::bytes::Regex;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What a text, or every one of several texts, has to be.
#[derive(Debug, Clone)]
pub(super) enum Pattern {
    /// These, in order: one for each value.
    Exact(Vec<String>),
    /// Has this in it.
    Contains(String),
    /// The whole matches.
    Regex(String, Box<Regex>),
    /// There is none.
    Absent,
}

fn scalar(value: &Value) -> anyhow::Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        other => bail!("{other} is no text"),
    }
}

fn read(value: &Value) -> anyhow::Result<Pattern> {
    match value {
        Value::Null => Ok(Pattern::Absent),
        Value::Array(list) => Ok(Pattern::Exact(list.iter().map(scalar).collect::<Result<_, _>>()?)),
        Value::Object(fields) => {
            let mut fields = fields.iter();
            let (name, text) = fields.next().context("an empty pattern")?;
            ensure!(fields.next().is_none(), "one of contains and regex, not both");
            let text = scalar(text)?;
            match name.as_str() {
                "contains" => Ok(Pattern::Contains(text)),
                "regex" => {
                    let regex = Regex::new(&format!(r"(?s-u)\A(?:{text})\z")).context("a bad expression")?;
                    Ok(Pattern::Regex(text, Box::new(regex)))
                }
                other => bail!("{other:?} is neither contains nor regex"),
            }
        }
        single => Ok(Pattern::Exact(vec![scalar(single)?])),
    }
}

// === impl Pattern ===

impl Pattern {
    /// Holds it against values, of which there may be none.
    pub(super) fn check<T: AsRef<[u8]>>(&self, what: &str, values: &[T]) -> anyhow::Result<()> {
        let texts: Vec<_> = values.iter().map(|value| String::from_utf8_lossy(value.as_ref())).collect();
        let right = match self {
            Self::Exact(wanted) => texts.len() == wanted.len() && texts.iter().eq(wanted.iter()),
            Self::Contains(part) => !texts.is_empty() && texts.iter().all(|text| text.contains(part)),
            Self::Regex(_, regex) => {
                !texts.is_empty() && texts.iter().all(|text| regex.is_match(text.as_bytes()))
            }
            Self::Absent => texts.is_empty(),
        };
        ensure!(right, "{what} is {texts:?}, not {}", self.describe());
        Ok(())
    }

    fn describe(&self) -> String {
        match self {
            Self::Exact(wanted) => format!("{wanted:?}"),
            Self::Contains(part) => format!("something with {part:?}"),
            Self::Regex(regex, _) => format!("something like /{regex}/"),
            Self::Absent => "absent".to_owned(),
        }
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        read(&value).map_err(|error| serde::de::Error::custom(format!("{error:#}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(pattern: &Value, values: &[&str]) -> bool {
        read(pattern).unwrap().check("it", values).is_ok()
    }

    #[test]
    fn patterns_hold_or_not() {
        let cases =
            [("a", &["a"][..], true), ("a", &["b"], false), ("a", &[], false), ("a", &["a", "a"], false)];
        for (exact, values, right) in cases {
            assert_eq!(holds(&exact.into(), values), right, "{exact} {values:?}");
        }
        assert!(holds(&serde_json::json!(["a", 3]), &["a", "3"]));
        assert!(!holds(&serde_json::json!(["a", 3]), &["3", "a"]));
        assert!(holds(&serde_json::json!({ "contains": "b" }), &["abc"]));
        assert!(!holds(&serde_json::json!({ "contains": "b" }), &[]));
        assert!(holds(&serde_json::json!({ "regex": "a.c" }), &["a\nc"]));
        assert!(!holds(&serde_json::json!({ "regex": "a.c" }), &["xabc"]));
        assert!(holds(&Value::Null, &[]) && !holds(&Value::Null, &[""]));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for wrong in
            [serde_json::json!({}), serde_json::json!({ "like": "a" }), serde_json::json!({ "regex": "(" })]
        {
            assert!(read(&wrong).is_err(), "{wrong}");
        }
    }
}
