//! Opening: who may read the file, who may open it, and what else may stand in its place.

use std::error::Error as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::folder;
use crate::contract::body;
use crate::record::{Key, Revision};
use crate::sqlite::{OpenError, SqliteStore};
use crate::store::Store;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

fn key() -> Key {
    Key::new("Secret", "default", "a")
}

#[tokio::test]
async fn only_the_owner_can_read_it() {
    let folder = folder();
    let inner = folder.path().join("a/b");
    let path = inner.join("keyward.db");
    let store = SqliteStore::open(&path).await.expect("open");
    store.create(key(), body("x")).await.expect("create");
    assert_eq!(mode(&inner), 0o700);
    let mut files: Vec<_> =
        fs::read_dir(&inner).expect("a folder").map(|file| file.expect("a file").path()).collect();
    files.sort();
    assert_eq!(files.len(), 4, "the file, its log, its index and its lock: {files:?}");
    for file in files {
        assert_eq!(mode(&file), 0o600, "{}", file.display());
    }
}

#[tokio::test]
async fn a_file_that_others_can_read_is_made_private() {
    let folder = folder();
    let path = folder.path().join("keyward.db");
    drop(SqliteStore::open(&path).await.expect("open"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("chmod");
    let _store = SqliteStore::open(&path).await.expect("open");
    assert_eq!(mode(&path), 0o600);
}

#[tokio::test]
async fn nobody_else_can_open_it_meanwhile() {
    let folder = folder();
    let path = folder.path().join("keyward.db");
    let store = SqliteStore::open(&path).await.expect("open");
    let refused = SqliteStore::open(&path).await.expect_err("it is in use");
    assert!(
        matches!(&refused, OpenError::InUse { holder: Some(holder), .. } if *holder == std::process::id().to_string()),
        "{refused:?}"
    );
    let said = refused.to_string();
    assert!(said.contains("keyward.db") && said.contains("in use"), "{said}");
    // The refusal took nothing from the one who has it.
    store.create(key(), body("x")).await.expect("create");
    drop(store);
    let store = SqliteStore::open(&path).await.expect("it is free");
    assert_eq!(store.revision().await.expect("revision"), Revision(1));
}

#[tokio::test]
async fn what_is_something_else_is_left_alone() {
    let folder = folder();
    let text = folder.path().join("text.db");
    fs::write(&text, "This is some text, long enough for a header of a hundred bytes. ".repeat(4))
        .expect("write");
    let other = folder.path().join("other.db");
    rusqlite::Connection::open(&other)
        .and_then(|connection| {
            connection.execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        })
        .expect("a database of somebody else");
    for path in [text, other] {
        let before = fs::read(&path).expect("read");
        let refused = SqliteStore::open(&path).await.expect_err("it is not ours");
        assert!(matches!(refused, OpenError::Foreign { .. }), "{refused:?}");
        assert!(!refused.hint().is_empty());
        assert!(fs::read(&path).expect("read") == before, "{} was changed", path.display());
    }
}

#[tokio::test]
async fn a_later_schema_is_refused_by_its_number() {
    let folder = folder();
    let path = folder.path().join("keyward.db");
    drop(SqliteStore::open(&path).await.expect("open"));
    rusqlite::Connection::open(&path)
        .and_then(|connection| connection.pragma_update(None, "user_version", 2))
        .expect("a later version");
    let refused = SqliteStore::open(&path).await.expect_err("it is newer");
    assert!(matches!(refused, OpenError::Newer { found: 2, known: 1, .. }), "{refused:?}");
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let folder = folder();
    fs::write(folder.path().join("file"), "").expect("write");
    let path = folder.path().join("file/inside/keyward.db");
    let refused = SqliteStore::open(&path).await.expect_err("a file is no folder");
    assert!(matches!(refused, OpenError::Folder { .. }), "{refused:?}");
    assert!(refused.to_string().contains("file/inside") && refused.source().is_some(), "{refused}");
}
