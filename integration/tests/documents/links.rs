//! Links in documents.

use std::collections::BTreeSet;

use regex::Regex;

use crate::{files, named, read};

/// The anchors that headings have, as they are made on the web.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings =
        page.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_start_matches('#').trim());
    let anchor = |heading: &str| {
        let kept = heading.to_lowercase().replace(' ', "-");
        kept.chars().filter(|char| char.is_alphanumeric() || matches!(char, '-' | '_')).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let link = Regex::new(r"\]\(([^()\s]+)\)").unwrap();
    let (mut count, mut dead) = (0, Vec::new());
    for page in files("md") {
        let text = read(&page);
        for target in link.captures_iter(&text).map(|found| found[1].to_owned()) {
            if target.contains("://") || target.starts_with("mailto:") {
                continue;
            }
            count += 1;
            let (path, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let place = if path.is_empty() { page.clone() } else { page.parent().unwrap().join(path) };
            let is_there = place.exists()
                && (anchor.is_empty() || place.is_file() && anchors(&read(&place)).contains(anchor));
            if !is_there {
                dead.push(format!("{}: {target}", named(&page)));
            }
        }
    }
    assert!(dead.is_empty(), "these lead nowhere:\n{}", dead.join("\n"));
    assert!(count > 10, "only {count} links are found");
}

#[test]
fn anchors_are_those_of_headings() {
    let found = anchors("# One thing\nx\n## `a_b`: and, *more*\n");
    assert_eq!(found.into_iter().collect::<Vec<_>>(), ["a_b-and-more", "one-thing"]);
}
