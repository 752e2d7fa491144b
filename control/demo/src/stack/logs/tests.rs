//! Logs in a folder of their own.

use std::io::Write as _;

use super::{Reader, create, tail};

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
    assert_eq!(tail(&path, 2), ["2", "3"]);
    create(data.path(), "serve").unwrap();
    assert_eq!(tail(&path, 2), Vec::<String>::new());
    assert_eq!(tail(&data.path().join("logs/serve.log.1"), 9), ["1", "2", "3"]);
}
