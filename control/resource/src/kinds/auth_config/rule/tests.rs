//! Tests of boolean expressions.

use super::*;

fn names() -> Vec<String> {
    ["a", "b", "my-c.1", "config_3"].map(str::to_owned).to_vec()
}

/// The expression with all its parentheses.
fn spelled(rule: &AuthRule) -> String {
    let all = |rules: &[AuthRule], sign: &str| {
        let rules: Vec<_> = rules.iter().map(spelled).collect();
        format!("({})", rules.join(sign))
    };
    match rule {
        AuthRule::Step(at) => names()[*at].clone(),
        AuthRule::Not(rule) => format!("!{}", spelled(rule)),
        AuthRule::All(rules) => all(rules, "&&"),
        AuthRule::Any(rules) => all(rules, "||"),
    }
}

#[test]
fn not_binds_tighter_than_and_and_that_than_or() {
    let cases = [
        ("a", "a"),
        (" a ", "a"),
        ("((a))", "a"),
        ("a&&b", "(a&&b)"),
        ("a || b && my-c.1", "(a||(b&&my-c.1))"),
        ("a && b || my-c.1 && config_3", "((a&&b)||(my-c.1&&config_3))"),
        ("(a || b) && my-c.1", "((a||b)&&my-c.1)"),
        ("!a && b", "(!a&&b)"),
        ("!(a && b)", "!(a&&b)"),
        ("!!a", "!!a"),
        ("a && b && my-c.1", "(a&&b&&my-c.1)"),
        ("a\n||\tb", "(a||b)"),
    ];
    for (text, expected) in cases {
        let rule = parse(text, &names()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(spelled(&rule), expected, "{text}");
    }
}

#[test]
fn mistakes_say_where_and_what() {
    let cases = [
        ("", "must not be empty: leave it out to demand every config in turn"),
        ("  ", "must not be empty: leave it out to demand every config in turn"),
        (
            "a && x",
            "no config has the name \"x\"; the names are \"a\", \"b\", \"my-c.1\", \"config_3\" (character 6)",
        ),
        ("(a", "this \"(\" is not closed (character 1)"),
        ("a)", "this \")\" closes nothing (character 2)"),
        ("a &&", "a name, \"!\" or \"(\" is expected, but there is the end (character 5)"),
        ("&& a", "a name, \"!\" or \"(\" is expected, but there is \"&&\" (character 1)"),
        ("()", "a name, \"!\" or \"(\" is expected, but there is \")\" (character 2)"),
        ("a b", "\"&&\", \"||\" or the end is expected, but there is \"b\" (character 3)"),
        ("(a b)", "\"&&\", \"||\" or the end is expected, but there is \"b\" (character 4)"),
        ("a & b", "'&' must be written twice (character 3)"),
        ("a | b", "'|' must be written twice (character 3)"),
        ("a == b", "'=' has no meaning here (character 3)"),
    ];
    for (text, expected) in cases {
        let error = parse(text, &names()).expect_err(text);
        assert_eq!(error.to_string(), expected, "{text}");
    }
}

#[test]
fn nesting_ends_before_the_stack_does() {
    for deep in ["(".repeat(100_000), "!".repeat(100_000) + "a"] {
        let error = parse(&deep, &names()).expect_err("too deep");
        assert!(error.to_string().contains("nested deeper"), "{error}");
    }
    let long = vec!["a"; 100_000].join("&&");
    assert!(matches!(parse(&long, &names()), Ok(AuthRule::All(rules)) if rules.len() == 100_000));
}

#[test]
fn evaluation_goes_from_left_to_right_and_no_further_than_needed() {
    let asked = |text: &str, valid: &[usize]| {
        let mut asked = Vec::new();
        let held = parse(text, &names()).expect("a rule").holds(&mut |step| {
            asked.push(step);
            valid.contains(&step)
        });
        (held, asked)
    };
    assert_eq!(asked("a || b", &[0, 1]), (true, vec![0]));
    assert_eq!(asked("a || b", &[1]), (true, vec![0, 1]));
    assert_eq!(asked("b && a", &[0]), (false, vec![1]));
    assert_eq!(asked("!a && b", &[1]), (true, vec![0, 1]));
    assert_eq!(asked("(a || b) && my-c.1", &[0, 2]), (true, vec![0, 2]));
}
