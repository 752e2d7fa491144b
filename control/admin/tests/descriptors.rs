//! The descriptors by which xDS is shown are those that their script makes today. What they lack of what is
//! served is found where each case of translation is served.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn digest(path: &str) -> String {
    let bytes = std::fs::read(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The version of the crate from which they are cut.
fn version() -> String {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).expect("Cargo.lock");
    let (_, package) = lock.split_once("name = \"envoy-types\"\nversion = \"").expect("envoy-types");
    package.split('"').next().unwrap_or_default().to_owned()
}

#[test]
fn the_descriptors_are_what_their_script_makes_today() {
    let made_of =
        std::fs::read_to_string(root().join("control/admin/src/xds/descriptors.txt")).expect("a list");
    let expected = format!(
        "envoy-types {}\nscript {}\nresult {}\n",
        version(),
        digest("scripts/xds-descriptors.py"),
        digest("control/admin/src/xds/descriptors.bin")
    );
    assert_eq!(made_of, expected, "run scripts/xds-descriptors.py");
}
