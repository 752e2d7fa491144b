//! Takes out what looks like a secret, wherever it stands: the last line of defence, behind others.

use serde_json::Value;

#[cfg(test)]
mod tests;

/// Stands for what is not shown.
pub(super) const REDACTED: &str = "[redacted]";
/// The annotation in which kubectl keeps a whole object, contents of Secrets included.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// How keys and tokens of ours begin.
const PREFIXES: [&str; 2] = ["kw_", "kwt_"];
/// What is longer than this behind such a beginning is one.
const LEAST: usize = 20;
/// How private keys begin and end.
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "PRIVATE KEY-----";

/// Takes the contents out of a Secret; any other object stays as it is.
pub(super) fn object(object: &mut Value) {
    if object["kind"].as_str() != Some("Secret") {
        return;
    }
    for field in ["data", "stringData"] {
        match object.get_mut(field) {
            Some(Value::Object(entries)) => entries.values_mut().for_each(hide),
            Some(other) => hide(other),
            None => {}
        }
    }
    let annotations = object.pointer_mut("/metadata/annotations");
    if let Some(applied) = annotations.and_then(|annotations| annotations.get_mut(LAST_APPLIED)) {
        hide(applied);
    }
}

fn hide(value: &mut Value) {
    *value = REDACTED.into();
}

/// A text without keys and tokens of ours, and without private keys.
pub(super) fn text(text: &str) -> String {
    words(&private_keys(text))
}

/// From `-----BEGIN ... PRIVATE KEY-----` to the line that ends it, or to the end.
fn private_keys(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(KEY_BEGINS) {
        let (before, from) = rest.split_at(begin);
        let is_private =
            from.find(KEY_ENDS).is_some_and(|end| !from.get(..end).unwrap_or_default().contains('\n'));
        shown.push_str(before);
        if !is_private {
            shown.push_str(KEY_BEGINS);
            rest = from.get(KEY_BEGINS.len()..).unwrap_or_default();
            continue;
        }
        shown.push_str(REDACTED);
        // The first such word belongs to the beginning.
        let mut ends = from.match_indices(KEY_ENDS).skip(1);
        rest = ends.next().and_then(|(end, _)| from.get(end + KEY_ENDS.len()..)).unwrap_or_default();
    }
    shown.push_str(rest);
    shown
}

fn words(text: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = PREFIXES.iter().filter_map(|prefix| rest.find(prefix)).min() {
        let (before, from) = rest.split_at(start);
        shown.push_str(before);
        let end = from.find(|c: char| !is_part(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        shown.push_str(if word.len() > LEAST { REDACTED } else { word });
        rest = after;
    }
    shown.push_str(rest);
    shown
}
