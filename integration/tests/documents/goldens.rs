//! `./x golden` renews every golden there is: each test that does is run by it.

use std::collections::BTreeSet;

use keyward_integration::paths::workspace_root;

use crate::recipes::body;
use crate::{files, named, read};

/// What a test reads that renews goldens; in two words, so that this file has it not.
const VARIABLE: [&str; 2] = ["UPDATE", "GOLDENS"];

/// The crate that a file belongs to, and for a test of its own target that.
fn place(path: &str) -> (String, Option<String>) {
    let mut folder = workspace_root().join(path);
    while folder.pop() {
        let manifest = folder.join("Cargo.toml");
        if manifest.is_file() {
            let text = read(&manifest);
            let name = text.lines().find_map(|line| line.strip_prefix("name = \"")).unwrap_or_default();
            let inner = named(&folder);
            let rest = path.strip_prefix(&inner).unwrap_or(path).trim_start_matches('/');
            let target = rest.strip_prefix("tests/").and_then(|rest| rest.split(['/', '.']).next());
            return (name.trim_end_matches('"').to_owned(), target.map(str::to_owned));
        }
    }
    panic!("{path} is in no crate");
}

/// The function in which the variable is read.
fn function(text: &str) -> String {
    let before = text.split(&VARIABLE.join("_")).map(str::to_owned).collect::<Vec<_>>();
    let read = before.iter().find(|part| part.ends_with("var_os(\"")).expect("it is read");
    let (_, head) = read.rsplit_once("fn ").expect("a function");
    head.split('(').next().unwrap_or_default().to_owned()
}

#[test]
fn one_recipe_renews_every_golden() {
    let read_by = format!("var_os(\"{}\")", VARIABLE.join("_"));
    let recipe = body("golden").replace("\\\n", "");
    let (mut count, mut missing) = (0, BTreeSet::new());
    for path in files("rs") {
        let text = read(&path);
        if !text.contains(&read_by) {
            continue;
        }
        count += 1;
        let (package, target) = place(&named(&path));
        // Those of the crates are run by package, and those on real processes by target.
        let wanted = match (package.as_str(), target) {
            ("keyward-integration", Some(target)) => format!("--test {target} "),
            _ => format!("-p {package} "),
        };
        let function = function(&text);
        let runs = |line: &str| {
            let (command, tests) = line.split_once(" -- ").unwrap_or((line, ""));
            let mut names = tests.split_whitespace().filter_map(|name| name.rsplit("::").next());
            format!("{command} ").contains(&wanted) && names.any(|name| function.contains(name))
        };
        if !recipe.lines().any(|line| line.contains(&VARIABLE.join("_")) && runs(line)) {
            missing.insert(format!("{}: {wanted}{function}", named(&path)));
        }
    }
    assert!(missing.is_empty(), "`golden` of the justfile does not run {missing:#?}:\n{recipe}");
    assert!(count >= 10, "only {count} are found");
}
