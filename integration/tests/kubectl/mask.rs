//! What differs from run to run is masked, and what differs from one `kubectl` to the next is brought into
//! one form.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// What is replaced, in order.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<uid>"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "<time>"),
        (r#"(resourceVersion"?: *|Resource Version: +)"?\d+"?"#, "$1<version>"),
        // Colours, which older ones show to nobody, too.
        (r"\x1b\[[0-9;]*m", ""),
        (r"(?mi)^warning: version difference between client .*\n", ""),
        (r"(?m)^(\S+/\S+ annotate)( |$)", "${1}d$2"),
        (r"\n{3,}", "\n\n"),
        // Ages, in a column of their own.
        (r"(?m)( {2,})(\d+(?:s|m|h|d|m\d+s|h\d+m|d\d+h))( {2,}|$)", "$1<age>$3"),
        (r"(?m)[ \t]+$", ""),
        // Since 1.34 a deletion names the namespace too.
        (r#"(?m)^(.* "[^"]*" (?:force )?deleted) from .* namespace"#, "$1"),
    ]
    .map(|(pattern, mask)| (Regex::new(pattern).expect("a pattern"), mask))
    .into()
});

/// Masks what a command has said; answers with its lines.
pub(crate) fn mask(output: &str, server: &str, folder: &Path) -> Vec<String> {
    let mut text = output.replace(server, "<server>").replace(&folder.display().to_string(), "<folder>");
    for (pattern, mask) in &*MASKS {
        text = pattern.replace_all(&text, *mask).into_owned();
    }
    let mut lines: Vec<String> = text.lines().map(narrow).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

/// A line with two spaces between its columns. What a diff shows stays as it is indented.
fn narrow(line: &str) -> String {
    static WIDE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(\S) {2,}").expect("a pattern"));
    if line.starts_with(['+', '-']) { line.to_owned() } else { WIDE.replace_all(line, "$1  ").into_owned() }
}

#[test]
fn what_differs_from_run_to_run_is_masked() {
    let masked = |text| mask(text, "http://127.0.0.1:20001", Path::new("/tmp/x"));
    assert_eq!(
        masked("NAME   AGE\na      5s\nb      119s   x\n\n"),
        ["NAME  AGE", "a  <age>", "b  <age>  x"]
    );
    assert_eq!(
        masked(
            "  uid: 11111111-2222-3333-4444-555555555555\n  resourceVersion: \"12\"\n  at: 2026-01-01T00:00:00Z"
        ),
        ["  uid: <uid>", "  resourceVersion: <version>", "  at: <time>"]
    );
    assert_eq!(masked("+    a:  b\n     c:    d"), ["+    a:  b", "     c:  d"]);
    assert_eq!(masked("at http://127.0.0.1:20001/api in /tmp/x/a"), ["at <server>/api in <folder>/a"]);
    assert_eq!(
        masked("WARNING: version difference between client (1) and\n\x1b[0;32ma\x1b[0m\n\n\nb"),
        ["a", "", "b"]
    );
    assert_eq!(
        masked("upstream.service.keyward.io \"a\" deleted from default namespace"),
        ["upstream.service.keyward.io \"a\" deleted"]
    );
}
