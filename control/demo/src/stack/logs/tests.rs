//! Logs in a folder of their own.

use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Reader, create, folder, length, tail};

#[test]
fn shows_whole_lines_once() {
    let data = tempfile::tempdir().unwrap();
    let (mut file, path) = create(data.path(), "serve").unwrap();
    let mut reader = Reader::open("serve", &path).unwrap();
    assert_eq!(reader.new_lines(), Vec::<String>::new());
    file.write_all(b"one\ntw").unwrap();
    assert_eq!(reader.new_lines(), ["one"]);
    file.write_all(b"o\nthr\xffee\n").unwrap();
    assert_eq!(reader.new_lines(), ["two", "thr\u{fffd}ee"]);
    assert_eq!(reader.new_lines(), Vec::<String>::new());
}

#[test]
fn keeps_the_log_of_the_last_run() {
    let data = tempfile::tempdir().unwrap();
    let (mut file, path) = create(data.path(), "serve").unwrap();
    file.write_all(b"1\n2\n3\n").unwrap();
    assert_eq!(tail(&path, 0, 2), ["2", "3"]);
    create(data.path(), "serve").unwrap();
    assert_eq!(tail(&path, 0, 2), Vec::<String>::new());
    assert_eq!(tail(&data.path().join("logs/serve.log.1"), 0, 9), ["1", "2", "3"]);
}

#[test]
fn the_end_of_a_log_is_of_this_run() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("envoy.log");
    assert_eq!((length(&path), tail(&path, 0, 9)), (0, Vec::new()));
    std::fs::write(&path, "old\n").unwrap();
    let from = length(&path);
    std::fs::write(&path, "old\nnew\n").unwrap();
    assert_eq!(tail(&path, from, 9), ["new"]);
    // Begun anew, it is shorter than it was.
    std::fs::write(&path, "1\n").unwrap();
    assert_eq!(tail(&path, from, 9), ["1"]);
}

#[test]
fn logs_are_readable_by_their_owner_alone() {
    let data = tempfile::tempdir().unwrap();
    let (_, path) = create(data.path(), "serve").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&folder(data.path()))), (0o600, 0o700));
}
