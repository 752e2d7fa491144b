//! The list of codes, and its page.

use std::path::Path;

use super::*;

/// Where the page says it.
const MARKS: [&str; 2] = ["<!-- codes -->\n", "<!-- end of codes -->\n"];

fn table() -> String {
    let mut text =
        String::from("| code | name | | what has happened | what to do |\n|---|---|---|---|---|\n");
    for Code { id, name, severity, meaning, hint, .. } in CODES {
        let severity = format!("{severity:?}").to_lowercase();
        text.push_str(&format!("| `{id}` | `{name}` | {severity} | {meaning} | {hint} |\n"));
    }
    text
}

#[test]
fn codes_and_names_are_unique_and_in_order() {
    assert!(CODES.is_sorted_by(|one, next| one.id < next.id), "ids in order, each once");
    let mut names: Vec<_> = CODES.iter().map(|code| code.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CODES.len());
    for code in CODES {
        assert!(code.meaning.ends_with('.') && !code.hint.ends_with('.'), "{}", code.id);
        assert!(!code.hint.contains('|') && !code.meaning.contains('|'), "{} fits into a table", code.id);
    }
}

#[test]
fn the_page_lists_every_code() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.md");
    let page = std::fs::read_to_string(&path).expect("docs/check.md");
    let (head, rest) = page.split_once(MARKS[0]).expect("a mark before the codes");
    let (listed, tail) = rest.split_once(MARKS[1]).expect("a mark behind the codes");
    let expected = table();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        let page = format!("{head}{}{expected}{}{tail}", MARKS[0], MARKS[1]);
        std::fs::write(&path, page).expect("the page can be written");
        return;
    }
    assert_eq!(listed, expected, "UPDATE_GOLDENS=1 brings docs/check.md up to date");
}
