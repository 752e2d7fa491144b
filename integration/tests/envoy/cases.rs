//! The cases in `testdata/filter`, on the whole.

use std::path::PathBuf;

use keyward_integration::cases::{Case, On, clean_up, run};
use keyward_integration::paths::case_dirs;
use keyward_integration::stack::{Options, Stack};

/// Runs every second case, in one stack after the other.
fn run_cases(remainder: usize) {
    let folders = case_dirs("filter").unwrap();
    let mine: Vec<&PathBuf> = folders.iter().skip(remainder).step_by(2).collect();
    let mut stack = Stack::start(Options::default()).unwrap();
    let mut failures = Vec::new();
    let mut ran = 0;
    for folder in mine {
        let case = Case::read(folder).unwrap();
        if !case.runs(On::Envoy) {
            continue;
        }
        if let Err(error) = run(&case, &mut stack) {
            failures.push(format!("{error:#}"));
        }
        // Selectors reach over namespaces: what one case leaves, the next would find.
        clean_up(&case, &mut stack).unwrap();
        ran += 1;
    }
    assert!(ran > 5, "only {ran} cases were found");
    let log = if failures.is_empty() { String::new() } else { stack.logs() };
    assert!(failures.is_empty(), "{} of {ran} cases fail:\n{}\n{log}", failures.len(), failures.join("\n"));
}

#[test]
fn every_even_case_holds_on_envoy() {
    run_cases(0);
}

#[test]
fn every_odd_case_holds_on_envoy() {
    run_cases(1);
}
