//! Any message, as its `Debug` form says it: what is not set is left out.

use std::fmt::Debug;

use serde_json::{Map, Value, json};

/// Around what is set, though it may be zero.
const SET: &str = "set";

struct Parser<'t> {
    rest: &'t str,
}

/// A message without what is not set.
pub(super) fn message(message: &impl Debug) -> Value {
    let text = format!("{message:?}");
    let mut parser = Parser { rest: &text };
    let value = parser.value();
    assert_eq!(parser.rest, "", "all of it is read");
    bare(value)
}

/// A value without [`SET`].
fn bare(value: Value) -> Value {
    match value {
        Value::Object(mut fields) if fields.len() == 1 && fields.contains_key(SET) => {
            fields.remove(SET).map_or(Value::Null, bare)
        }
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, bare(value))).collect(),
        Value::Array(items) => items.into_iter().map(bare).collect(),
        other => other,
    }
}

fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

/// What wrappers wrap.
fn unwrapped(name: &str, mut fields: Map<String, Value>) -> Value {
    match name {
        "Duration" => {
            let part = |name: &str| fields.get(name).and_then(Value::as_f64).unwrap_or_default();
            json!(format!("{}s", part("seconds") + part("nanos") / 1e9))
        }
        "BoolValue" => fields.remove("value").unwrap_or(json!(false)),
        "UInt32Value" | "UInt64Value" | "DoubleValue" | "Percent" => {
            fields.remove("value").unwrap_or(json!(0))
        }
        _ => Value::Object(fields),
    }
}

impl Parser<'_> {
    fn take(&mut self, what: &str) -> bool {
        self.rest.strip_prefix(what).map(|rest| self.rest = rest).is_some()
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', ',']);
    }

    fn value(&mut self) -> Value {
        if self.take("[") {
            return Value::Array(self.until("]", Self::value));
        }
        if self.take("{") {
            let entries = self.until("}", |parser| {
                let key = parser.value();
                assert!(parser.take(": "), "a map entry: {}", parser.rest);
                (key.as_str().map_or_else(|| key.to_string(), str::to_owned), parser.value())
            });
            return Value::Object(entries.into_iter().collect());
        }
        if self.rest.starts_with('"') {
            return self.string();
        }
        let end = self.rest.find([' ', ',', '(', ')', ']', '}', ':']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        if let Ok(number) = word.parse::<i64>() {
            return json!(number);
        }
        if let Ok(number) = word.parse::<f64>() {
            return json!(number);
        }
        if self.take("(") {
            let inner = self.value();
            assert!(self.take(")"), "one value in {word}");
            return if word == "Some" { json!({ SET: inner }) } else { json!({ word: inner }) };
        }
        if self.take(" {") {
            self.skip_spaces();
            let fields = self.until("}", |parser| {
                let (name, rest) = parser.rest.split_once(": ").expect("a field");
                parser.rest = rest;
                (name.to_owned(), parser.value())
            });
            return unwrapped(word, fields.into_iter().filter(|(_, value)| !is_unset(value)).collect());
        }
        match word {
            "None" => Value::Null,
            "true" | "false" => json!(word == "true"),
            _ => json!(word),
        }
    }

    fn until<T>(&mut self, end: &str, mut one: impl FnMut(&mut Self) -> T) -> Vec<T> {
        let mut all = Vec::new();
        loop {
            self.skip_spaces();
            if self.take(end) {
                return all;
            }
            all.push(one(self));
        }
    }

    fn string(&mut self) -> Value {
        let mut escaped = false;
        let end = self.rest.char_indices().skip(1).find(|(_, char)| {
            let ends = *char == '"' && !escaped;
            escaped = *char == '\\' && !escaped;
            ends
        });
        let (end, _) = end.expect("the end of a string");
        let (text, rest) = self.rest.split_at(end + 1);
        self.rest = rest;
        json!(text[1..text.len() - 1].replace("\\\"", "\""))
    }
}
