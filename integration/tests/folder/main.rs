//! A running control server that follows a folder of resource files, as people and tools change it.

mod following;
mod validating;

use std::fs;
use std::path::Path;

/// An Upstream as people write it.
fn upstream(name: &str, port: u16) -> String {
    format!(
        "apiVersion: gloo.solo.io/v1\nkind: Upstream\nmetadata:\n  name: {name}\n  namespace: shop\nspec:\n  \
         static:\n    hosts:\n    - addr: 127.0.0.1\n      port: {port}\n"
    )
}

/// Writes a file as editors do: whole, beside the old one, and then in its place.
fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
    let beside = path.with_extension("new");
    fs::write(&beside, text).expect("a file");
    fs::rename(beside, path).expect("a file in its place");
}
