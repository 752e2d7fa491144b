use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[test]
fn the_longest_name_has_a_file_that_nobody_else_reads() {
    for leftover in [Leftover::Kept, Leftover::Removed] {
        let scratch = Scratch::new("virtualhostoption", &"a".repeat(253), leftover).expect("a file");
        let (folder, path) = (scratch.folder.clone(), scratch.path.clone());
        assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
        // As editors do.
        fs::write(folder.join(".copy.swp"), "s3cret").expect("a copy");
        drop(scratch);
        assert!(!folder.exists());
    }
}

#[test]
fn what_nobody_has_written_is_not_kept() {
    let mut scratch = Scratch::new("upstream", "a", Leftover::Kept).expect("a file");
    let folder = scratch.folder.clone();
    assert_eq!(scratch.kept(anyhow!("why")).to_string(), "why");
    drop(scratch);
    assert!(!folder.exists());
}

#[test]
fn what_somebody_has_written_stays_and_of_a_secret_only_what_was_asked_for() {
    for (leftover, said, stays) in [
        (Leftover::Kept, "is in ", true),
        (Leftover::Removed, "is removed, as it is a Secret: --keep", false),
    ] {
        let mut scratch = Scratch::new("secret", "a", leftover).expect("a file");
        scratch.edited = true;
        let folder = scratch.folder.clone();
        let error = scratch.ended(End::Terminate).to_string();
        assert!(error.starts_with("ended by SIGTERM\nhint: ") && error.contains(said), "{error}");
        drop(scratch);
        assert_eq!(folder.exists(), stays);
        let _ = fs::remove_dir_all(folder);
    }
}

#[test]
fn a_secret_is_in_memory_where_that_can_be() {
    let places = |leftover, runtime: Option<&str>| places(leftover, runtime.map(OsStr::new));
    let (memory, disk) = (PathBuf::from(MEMORY), std::env::temp_dir());
    let runtime = PathBuf::from("/run/user/7");
    assert_eq!(places(Leftover::Kept, Some("/run/user/7")), std::slice::from_ref(&disk));
    assert_eq!(places(Leftover::Removed, None), [memory.clone(), disk.clone()]);
    assert_eq!(places(Leftover::Removed, Some("here")), [memory.clone(), disk.clone()]);
    assert_eq!(places(Leftover::Removed, Some("/run/user/7")), [runtime, memory, disk.clone()]);
    let made = folder_in(&["/nowhere".into(), disk.clone()]).expect("a folder");
    assert_eq!(made.parent(), Some(disk.as_path()));
    fs::remove_dir(made).expect("it is empty");
    assert!(folder_in(&["/nowhere".into()]).is_err());
}
