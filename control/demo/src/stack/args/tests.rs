//! Folders and their rights.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{data_folder, make_private};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn a_new_data_folder_is_for_its_owner_alone() {
    let root = tempfile::tempdir().unwrap();
    let data = root.path().join("parent/data");
    assert_eq!(data_folder(&data).unwrap(), data.canonicalize().unwrap());
    assert_eq!(mode(&data), 0o700);
    // Again: it is there already.
    data_folder(&data).unwrap();
}

#[test]
fn a_data_folder_that_is_there_keeps_its_rights() {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), Permissions::from_mode(0o750)).unwrap();
    data_folder(root.path()).unwrap();
    assert_eq!(mode(root.path()), 0o750);
}

#[test]
fn a_file_is_no_folder() {
    let file = tempfile::NamedTempFile::new().unwrap();
    make_private(file.path()).unwrap_err();
}
