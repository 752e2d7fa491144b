//! Finds the filter module that the binary carries inside.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-env-changed=KEYWARD_FILTER_MODULE");
    let path = std::env::var_os("KEYWARD_FILTER_MODULE").map_or_else(default_path, PathBuf::from);
    println!("cargo::rerun-if-changed={}", path.display());
    assert!(
        path.is_file(),
        "the filter module {} is not there: build it first with `./x filter`, or name it with KEYWARD_FILTER_MODULE",
        path.display()
    );
    println!("cargo::rustc-env=KEYWARD_FILTER_WASM={}", path.display());
}

/// Where `./x filter` leaves it: in the target folder, which holds OUT_DIR.
fn default_path() -> PathBuf {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let profile = std::env::var("PROFILE").unwrap_or_default();
    // OUT_DIR is <target>[/<triple>]/<profile>/build/<package>/out
    let target = out
        .ancestors()
        .find(|folder| folder.join("wasm32-wasip1").is_dir() || folder.join(&profile).is_dir())
        .unwrap_or(&out);
    target.join("wasm32-wasip1/filter/keyward_filter.wasm")
}
