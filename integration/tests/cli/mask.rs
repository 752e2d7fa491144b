//! What differs from run to run is masked.

use std::sync::LazyLock;

use regex::Regex;

/// What is replaced, in order.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"kw_[0-9A-Za-z]{22}_[0-9A-Za-z]{6}", "<key>"),
        (r"kwt_[0-9A-Za-z]{20,}", "<token>"),
        // As wide as it was, as it stands in columns; years to come are what the session says.
        (r"202[0-9]-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<----- a time ----->"),
        (r"\d+ ms\b", "<n> ms"),
        (r"(?m)[ \t]+$", ""),
    ]
    .map(|(pattern, mask)| (Regex::new(pattern).expect("a pattern"), mask))
    .into()
});

/// Masks what a command has said; answers with its lines.
pub(crate) fn mask(said: &str) -> Vec<String> {
    let mut text = said.to_owned();
    for (pattern, mask) in &*MASKS {
        text = pattern.replace_all(&text, *mask).into_owned();
    }
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

#[test]
fn what_differs_from_run_to_run_is_masked() {
    assert_eq!(
        mask("kw_0000000000000000000000_0lgXbD x  \nin 12 ms\n2026-01-02T03:04:05Z 2099-01-01T00:00:00Z\n\n"),
        ["<key> x", "in <n> ms", "<----- a time -----> 2099-01-01T00:00:00Z"]
    );
}
