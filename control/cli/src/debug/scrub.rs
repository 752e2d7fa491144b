//! Takes out what looks like a secret, wherever it stands: the last line of defence, behind others.

use keyward_admin::redact::{self, REDACTED};
use serde_json::Value;

#[cfg(test)]
mod tests;

/// How keys and tokens of ours begin.
const PREFIXES: [&str; 2] = ["kw_", "kwt_"];
/// What is longer than this behind such a beginning is one.
const LEAST: usize = 20;
/// How private keys begin and end.
const KEY_BEGINS: &str = "-----BEGIN ";
const KEY_ENDS: &str = "PRIVATE KEY-----";

/// A text without keys and tokens of ours, and without private keys.
pub(super) fn text(text: &str) -> String {
    words(&private_keys(text))
}

/// JSON as [`redact`] leaves it; any other text as it is.
pub(super) fn json(text: String) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(&text) else { return text };
    if redact::all(&mut value) { format!("{value:#}\n") } else { text }
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
