//! Logs below errors.

use super::append_tail;

#[test]
fn the_end_of_a_log_stands_below_the_error() {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().join("envoy.log");
    let mut text = "no".to_owned();
    append_tail(&mut text, "envoy", &path, 0);
    assert_eq!(text, "no");
    std::fs::write(&path, "[critical] bad\n").unwrap();
    append_tail(&mut text, "envoy", &path, 0);
    assert_eq!(text, format!("no\n\nthe end of {}:\n  envoy    | [critical] bad", path.display()));
}
