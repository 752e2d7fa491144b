use super::*;

#[test]
fn the_longest_name_has_a_file_that_nobody_else_reads() {
    let scratch = Scratch::new("virtualhostoption", &"a".repeat(253)).expect("a file");
    let path = scratch.path.clone();
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    scratch.remove();
    assert!(!path.exists());
}

#[test]
fn what_nobody_has_written_is_not_kept() {
    let scratch = Scratch::new("upstream", "a").expect("a file");
    let error = scratch.kept(anyhow!("why"));
    assert_eq!((error.to_string().as_str(), scratch.path.exists()), ("why", false));
}
