use std::os::unix::fs::PermissionsExt as _;

use super::*;

#[test]
fn what_is_written_is_read_back_and_is_nobody_elses() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a/b/config.yaml");
    assert_eq!(Config::read_or_default(&path).expect("nothing yet"), Config::default());
    let context = Context {
        server: "https://here:1".to_owned(),
        token: "kwt_secret".parse().ok(),
        namespace: Some("team".to_owned()),
        ..Context::default()
    };
    let config = Config {
        current_context: Some("here".to_owned()),
        contexts: BTreeMap::from([("here".to_owned(), context)]),
    };
    config.write(&path).expect("it can be written");
    config.write(&path).expect("again");
    assert_eq!(Config::read(&path).expect("it can be read"), config);
    let files: Vec<_> = fs::read_dir(folder.path().join("a/b")).expect("a folder").collect();
    assert_eq!(files.len(), 1);
    let mode = fs::metadata(&path).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, MODE);

    let shown = serde_saphyr::to_string(&config.redacted()).expect("YAML");
    assert!(shown.contains("[redacted]") && !shown.contains("kwt_secret"), "{shown}");
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().expect("a folder");
    let (file, link) = (folder.path().join("file"), folder.path().join("link"));
    fs::write(&file, "").expect("a file");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    Config { current_context: Some("here".to_owned()), ..Config::default() }.write(&link).expect("written");
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(fs::read_to_string(&file).expect("a file").trim(), "currentContext: here\ncontexts: {}");
}
