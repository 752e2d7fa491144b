use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::*;

const NAMESPACE: &str = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: ";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder inside");
        fs::write(path, text).expect("a file");
    }
    folder
}

fn paths(files: &Files) -> Vec<&str> {
    files.keys().map(String::as_str).collect()
}

#[test]
fn only_resource_files_are_read() {
    let folder = folder(&[
        ("a.yaml", ""),
        ("b/c.yml", ""),
        ("b/d/e.json", ""),
        ("b/readme.md", ""),
        (".git/f.yaml", ""),
        (".g.yaml", ""),
        ("h.yaml~", ""),
    ]);
    fs::create_dir(folder.path().join("folder.yaml")).expect("a folder");
    let files = Scanner::default().scan(folder.path()).expect("a scan");
    assert_eq!(paths(&files), ["a.yaml", "b/c.yml", "b/d/e.json"]);
}

#[test]
fn links_are_followed_once() {
    let folder = folder(&[("a.yaml", ""), ("sub/b.yaml", "")]);
    let root = folder.path();
    symlink("..", root.join("sub/up")).expect("a link");
    symlink("sub", root.join("twin")).expect("a link");
    symlink("a.yaml", root.join("z.yaml")).expect("a link");
    let files = Scanner::default().scan(root).expect("a scan");
    assert_eq!(paths(&files), ["a.yaml", "sub/b.yaml"]);
}

#[test]
fn a_volume_of_kubernetes_is_read_through_its_links() {
    let folder = folder(&[("..one/a.yaml", ""), ("..two/a.yaml", &format!("{NAMESPACE}two\n"))]);
    let root = folder.path();
    symlink("..one", root.join("..data")).expect("a link");
    symlink("..data/a.yaml", root.join("a.yaml")).expect("a link");
    let mut scanner = Scanner::default();
    assert_eq!(scanner.scan(root).expect("a scan")["a.yaml"].objects.len(), 0);
    symlink("..two", root.join("..data_tmp")).expect("a link");
    fs::rename(root.join("..data_tmp"), root.join("..data")).expect("a swap");
    let files = scanner.scan(root).expect("a scan");
    assert_eq!(paths(&files), ["a.yaml"]);
    assert_eq!(files["a.yaml"].objects.len(), 1);
}

#[test]
fn what_cannot_be_read_is_a_broken_file() {
    let folder = folder(&[("good.yaml", NAMESPACE), ("large.yaml", &"#".repeat(MAX_BODY + 1))]);
    let root = folder.path();
    symlink("nowhere", root.join("link.yaml")).expect("a link");
    fs::write(root.join("bytes.yaml"), b"a: \xff").expect("a file");
    fs::write(root.join("new\nline.yaml"), "").expect("a file");
    let files = Scanner::default().scan(root).expect("a scan");
    assert_eq!(paths(&files), ["bytes.yaml", "good.yaml", "large.yaml", "link.yaml", "new\\nline.yaml"]);
    for name in ["bytes.yaml", "large.yaml", "link.yaml", "new\\nline.yaml"] {
        assert!(files[name].is_broken(), "{name}");
    }
    let told = files["large.yaml"].problems[0].to_string();
    assert!(told.contains("larger than 3145728 bytes"), "{told}");
}

#[test]
fn a_file_of_the_largest_size_is_read() {
    let text = format!("{NAMESPACE}n\n#");
    let folder = folder(&[("a.yaml", &format!("{text}{}", "#".repeat(MAX_BODY - text.len())))]);
    let files = Scanner::default().scan(folder.path()).expect("a scan");
    assert_eq!(files["a.yaml"].problems, []);
    assert_eq!(files["a.yaml"].objects.len(), 1);
}

#[test]
fn a_folder_that_is_not_there_is_no_empty_folder() {
    let folder = folder(&[]);
    let missing = folder.path().join("missing");
    assert!(Scanner::default().scan(&missing).is_err());
    assert!(read_file(&missing, NAMESPACE).is_err());
}

#[test]
fn a_file_is_parsed_again_only_when_it_has_changed() {
    let folder = folder(&[("a.yaml", NAMESPACE)]);
    let mut scanner = Scanner::default();
    let first = scanner.scan(folder.path()).expect("a scan");
    let second = scanner.scan(folder.path()).expect("a scan");
    assert!(Arc::ptr_eq(&first["a.yaml"], &second["a.yaml"]));
    fs::write(folder.path().join("a.yaml"), format!("{NAMESPACE}n")).expect("a file");
    let third = scanner.scan(folder.path()).expect("a scan");
    assert!(!Arc::ptr_eq(&first["a.yaml"], &third["a.yaml"]));
}
