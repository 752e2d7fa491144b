//! The crates: each stands in the code map of ARCHITECTURE.md, below those that it uses.

use std::collections::BTreeSet;
use std::path::Path;

use keyward_integration::paths::workspace_root;

use crate::{files, read};

/// A row of the code map.
struct Row {
    name: String,
    folder: String,
}

fn map() -> Vec<Row> {
    let page = read(&workspace_root().join("ARCHITECTURE.md"));
    let (_, map) = page.split_once("\n## Code map\n").expect("a code map");
    let map = map.split("\n## ").next().unwrap_or_default();
    let rows = map.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| `")?.split('`');
        Some(Row { name: cells.next()?.to_owned(), folder: cells.nth(1)?.to_owned() })
    });
    rows.collect()
}

/// Our own crates in the sections of a manifest whose heading is one of these.
fn used(manifest: &str, sections: &[&str]) -> BTreeSet<String> {
    let mut section = "";
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if let Some(heading) = line.strip_prefix('[') {
            section = heading.trim_end_matches(']').rsplit('.').next().unwrap_or_default();
        } else if sections.contains(&section) && line.starts_with("keyward-") {
            found.extend(line.split(['.', ' ', '=']).next().map(str::to_owned));
        }
    }
    found
}

fn name(manifest: &str) -> String {
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = \""));
    name.unwrap_or_default().trim_end_matches('"').to_owned()
}

#[test]
fn every_crate_stands_in_the_code_map() {
    let map = map();
    let mapped: BTreeSet<(String, String)> =
        map.iter().map(|row| (row.name.clone(), row.folder.clone())).collect();
    assert_eq!(mapped.len(), map.len(), "a crate stands there twice");
    let root = workspace_root();
    let manifests = files("toml").into_iter().filter(|path| path.ends_with("Cargo.toml"));
    let there: BTreeSet<(String, String)> = manifests
        .filter(|path| read(path).contains("\n[package]\n") || read(path).starts_with("[package]\n"))
        .map(|path| {
            let folder = path.parent().and_then(|folder| folder.strip_prefix(&root).ok()).map(Path::display);
            (name(&read(&path)), folder.expect("a folder").to_string())
        })
        .collect();
    assert_eq!(mapped, there, "the code map of ARCHITECTURE.md, and what Cargo.toml files say");
}

#[test]
fn a_crate_uses_only_crates_above_it() {
    let (map, root) = (map(), workspace_root());
    let (mut above, mut arrows, mut wrong) = (BTreeSet::new(), 0, Vec::new());
    for Row { name, folder } in map {
        let manifest = read(&root.join(folder).join("Cargo.toml"));
        for other in used(&manifest, &["dependencies", "build-dependencies"]) {
            arrows += 1;
            if !above.contains(&other) {
                wrong.push(format!("{name} uses {other}"));
            }
        }
        above.insert(name);
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md has them the other way round: {}", wrong.join(", "));
    assert!(arrows > 40, "only {arrows} arrows are found");
}

#[test]
fn dependencies_are_read_by_section() {
    let manifest = "[dependencies]\nkeyward-a.workspace = true\nx = \"1\"\n[dev-dependencies]\nkeyward-b = { path = \"b\" }\n\
                    [target.'cfg(unix)'.dependencies]\nkeyward-c.workspace = true\n";
    let of = |sections: &[&str]| used(manifest, sections).into_iter().collect::<Vec<_>>();
    assert_eq!(of(&["dependencies"]), ["keyward-a", "keyward-c"]);
    assert_eq!(of(&["dev-dependencies"]), ["keyward-b"]);
}
