//! Writing files whole, and keys for their owner alone.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use super::Overwrite;
use crate::error::FolderError;

/// Who may read a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Readers {
    /// Whoever wrote it.
    Owner,
    /// Everybody who comes to its folder.
    Everybody,
}

/// Makes a folder for its owner alone, if it is not there.
pub(super) fn make_folder(path: &Path) -> Result<(), FolderError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed(path))
}

/// Writes a file under another name and moves it: whoever reads it sees the old one or the new one,
/// and Envoy, which watches for moves, is told.
pub(super) fn write(
    path: &Path,
    text: &str,
    readers: Readers,
    overwrite: Overwrite,
) -> Result<(), FolderError> {
    let mut fresh = path.as_os_str().to_owned();
    fresh.push(".new");
    let fresh = Path::new(&fresh);
    // Left behind by one that was killed.
    match std::fs::remove_file(fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(fresh)(error)),
        _ => {}
    }
    let mode = if readers == Readers::Owner { 0o600 } else { 0o644 };
    let mut file =
        OpenOptions::new().create_new(true).write(true).mode(mode).open(fresh).map_err(failed(fresh))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed(fresh))?;
    match overwrite {
        Overwrite::Replace => std::fs::rename(fresh, path).map_err(failed(path))?,
        Overwrite::Never => {
            // A link is refused where a file is, also one that came a moment ago.
            let linked = std::fs::hard_link(fresh, path);
            std::fs::remove_file(fresh).map_err(failed(fresh))?;
            linked.map_err(|error| match error.kind() {
                ErrorKind::AlreadyExists => FolderError::Exists { path: path.to_path_buf() },
                _ => failed(path)(error),
            })?;
        }
    }
    let folder = path.parent().unwrap_or(path);
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed(folder))
}

/// Waits until nobody else has this file, and has it until what is returned is dropped.
pub(super) fn lock(path: &Path) -> Result<File, FolderError> {
    let mut options = OpenOptions::new();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(path);
    file.and_then(|file| file.lock().map(|()| file)).map_err(failed(path))
}

fn failed(path: &Path) -> impl FnOnce(std::io::Error) -> FolderError {
    let path = path.to_path_buf();
    |source| FolderError::Io { path, action: "written", source }
}
