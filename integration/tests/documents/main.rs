//! What documents say is so: links lead somewhere, crates use what stands above them, files are small, recipes
//! exist and renew every golden. That quoted commands can be run as they stand is a test of the crate `keyward`.

mod goldens;
mod layers;
mod links;
mod recipes;
mod sizes;

use std::path::{Path, PathBuf};

use keyward_integration::paths::workspace_root;

/// What is built, fetched or written by running.
const NOT_OURS: [&str; 4] = ["target", ".tools", ".git", ".keyward"];

fn walk(folder: &Path, is_wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !path.is_symlink() && !NOT_OURS.contains(&name.as_str()) {
            walk(&path, is_wanted, found);
        } else if path.is_file() && is_wanted(&path) {
            found.push(path);
        }
    }
}

/// The files of the checkout with this ending, sorted.
fn files(extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    walk(&workspace_root(), &|path| path.extension().is_some_and(|it| it == extension), &mut found);
    found.sort();
    assert!(found.len() > 5, "the files are not found: {found:?}");
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// As people name it.
fn named(path: &Path) -> String {
    path.strip_prefix(workspace_root()).unwrap_or(path).display().to_string()
}
