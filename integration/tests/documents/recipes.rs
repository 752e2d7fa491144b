//! `./x NAME`, wherever it is quoted, is a recipe of the justfile or a word of `x` itself.

use std::collections::BTreeSet;

use keyward_integration::paths::workspace_root;
use regex::Regex;

use crate::{files, named, read};

/// The recipes, without those that are for others alone.
pub(crate) fn recipes() -> BTreeSet<String> {
    let name = Regex::new(r"(?m)^([a-z][a-z-]*)(?: [^:\n]*)?:(?:[^=\n].*)?$").unwrap();
    name.captures_iter(&read(&workspace_root().join("justfile"))).map(|found| found[1].to_owned()).collect()
}

/// The lines of a recipe.
pub(crate) fn body(recipe: &str) -> String {
    let text = read(&workspace_root().join("justfile"));
    let mut lines = text.lines().skip_while(|line| {
        !line.strip_prefix(recipe).is_some_and(|rest| rest.starts_with(':') || rest.starts_with(' '))
    });
    lines.next();
    lines
        .take_while(|line| line.starts_with(' ') || line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn every_quoted_recipe_is_there() {
    let recipes = recipes();
    for known in ["up", "test", "golden", "bench"] {
        assert!(recipes.contains(known), "{known}: {recipes:?}");
    }
    let quoted = Regex::new(r"(?:^|[^.\w/])(?:\./x|just) (?:--envoy \S+ )?([a-z][a-z-]+)").unwrap();
    let (mut count, mut wrong) = (0, Vec::new());
    for page in files("md") {
        // Commands stand in code; elsewhere `just` is a word of English.
        let text = read(&page);
        let mut in_block = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
                continue;
            }
            let spans: Vec<&str> =
                if !in_block { line.split('`').skip(1).step_by(2).collect() } else { vec![line] };
            for span in spans {
                for found in quoted.captures_iter(span) {
                    count += 1;
                    let name = found[1].to_owned();
                    if span.contains("./x") && !recipes.contains(&name) {
                        wrong.push(format!("{}: ./x {name}", named(&page)));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "there are no such recipes:\n{}", wrong.join("\n"));
    assert!(count > 5, "only {count} are found");
}
