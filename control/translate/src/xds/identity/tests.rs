use super::*;

/// Everything that the name of a header may consist of (RFC 9110, 5.6.2), in lower case.
const TOKEN: &str = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz";
/// What a regular expression takes for itself without a backslash.
const PLAIN: fn(char) -> bool = |c| c.is_ascii_alphanumeric();

/// What each part of an expression matches, of which each stands for one character.
fn parts(pattern: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = pattern;
    while !rest.is_empty() {
        let (part, length) = match rest.strip_prefix("[-_]") {
            Some(_) => ("-_", 4),
            None if rest.starts_with('\\') => (&rest[1..2], 2),
            None => (&rest[..1], 1),
        };
        assert!(length > 1 || part.chars().all(PLAIN), "{part} of {pattern} may mean something else");
        assert!(length != 2 || !part.chars().all(PLAIN), "\\{part} of {pattern} means something else");
        parts.push(part.to_owned());
        rest = &rest[length..];
    }
    parts
}

fn matches(pattern: &str, name: &str) -> bool {
    let parts = parts(pattern);
    parts.len() == name.chars().count() && parts.iter().zip(name.chars()).all(|(part, c)| part.contains(c))
}

fn only_pattern(header: &str) -> String {
    let [only] = removals(header).try_into().expect("one mutation");
    let Some(Action::RemoveOnMatch(RemoveOnMatch { key_matcher: Some(matcher) })) = only.action else {
        panic!("{header} is not removed by an expression");
    };
    let Some(MatchPattern::SafeRegex(regex)) = matcher.match_pattern else {
        panic!("{header} is not removed by an expression");
    };
    regex.regex
}

#[test]
fn every_character_of_a_name_stands_for_itself() {
    for c in TOKEN.chars() {
        let header = format!("{c}x-a-b-c-d-e{c}");
        let pattern = only_pattern(&header);
        for other in TOKEN.chars() {
            let name = format!("{other}x_a-b_c-d_e{other}");
            let folded = |c: char| if c == '_' { '-' } else { c };
            assert_eq!(matches(&pattern, &name), folded(c) == folded(other), "{pattern} {name}");
        }
        assert!(!matches(&pattern, "user-agent") && !matches(&pattern, &header[1..]), "{pattern}");
    }
    assert_eq!(only_pattern(".*|a-b-c-d-e-f"), r"\.\*\|a[-_]b[-_]c[-_]d[-_]e[-_]f");
}

#[test]
fn few_separators_are_spelled_out() {
    for (header, expected) in [("xteam", 1), ("x-team", 2), ("x-a_b-c-d", 16)] {
        let names: BTreeSet<String> = removals(header)
            .into_iter()
            .map(|mutation| match mutation.action {
                Some(Action::Remove(name)) => name,
                other => panic!("{header}: {other:?}"),
            })
            .collect();
        assert_eq!(names.len(), expected);
        assert!(names.contains(&header.replace('_', "-")) && names.contains(&header.replace('-', "_")));
    }
}
