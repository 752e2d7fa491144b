//! `keyward validate`.

use std::process::{Command, Output};

use keyward_integration::paths;
use serde_json::Value;

use crate::{upstream, write};

fn validate(words: &[&std::ffi::OsStr]) -> Output {
    let keyward = paths::keyward().expect("the program");
    Command::new(keyward).arg("validate").args(words).output().expect("it runs")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("text")
}

#[test]
fn mistakes_are_told_with_their_places_and_an_exit_code() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().as_os_str();
    write(folder.path(), "good.yaml", &upstream("good", 80));
    let good = validate(&[path]);
    assert!(good.status.success(), "{good:?}");
    assert_eq!((text(&good.stdout), text(&good.stderr)), ("", "all is well: 1 object in 1 file\n"));

    write(folder.path(), "inner/bad.yaml", &upstream("bad", 80).replace("port", "prot"));
    write(folder.path(), "twin.yaml", &upstream("good", 81));
    let bad = validate(&[path]);
    assert_eq!(bad.status.code(), Some(1));
    let told = text(&bad.stdout);
    assert!(told.contains("unknown field; did you mean \"port\"?\n  --> inner/bad.yaml:10:7\n"), "{told}");
    assert!(told.contains("\n 10 |       prot: 80\n    |       ^\n"), "{told}");
    assert!(told.contains("stands in good.yaml:1:1 already"), "{told}");
    assert_eq!(text(&bad.stderr), "error: 3 problems in 2 of 3 files\n");

    let json = validate(&[path, "-o".as_ref(), "json".as_ref()]);
    assert_eq!(json.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(report["problems"].as_array().map(Vec::len), Some(3), "{report}");
    assert_eq!(report["problems"][0]["line"], 10, "{report}");
}

#[test]
fn one_file_can_be_checked_and_a_missing_one_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    write(folder.path(), "good.yaml", &upstream("good", 80));
    let good = validate(&[folder.path().join("good.yaml").as_os_str()]);
    assert!(good.status.success(), "{good:?}");
    let missing = validate(&[folder.path().join("none").as_os_str()]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(text(&missing.stderr).contains("none cannot be read"), "{missing:?}");
}

#[test]
fn the_examples_of_the_quickstart_are_right() {
    let good = validate(&[paths::testdata("quickstart").as_os_str()]);
    assert!(good.status.success(), "{good:?}");
}
