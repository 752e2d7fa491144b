//! The file of the tokens: `tokens.json` in the data folder.
//!
//! The command line writes it and the server reads it, so a token is there at once whether the
//! server runs or not. It is replaced whole, under a lock, so a reader never sees half of it. The
//! server looks at the file whenever it is asked: that is one `stat` as long as nothing changes.

mod wire;

use std::fs::{DirBuilder, File, Metadata, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::book::TokenBook;
use crate::error::{BookError, FileError};

#[cfg(test)]
mod tests;

/// Its name in the data folder.
const NAME: &str = "tokens.json";
/// A list longer than this is none, in bytes.
const MAX_LEN: u64 = 64 * 1024 * 1024;

/// The file, and what it said last.
#[derive(Debug)]
pub struct TokenFile {
    folder: PathBuf,
    path: PathBuf,
    last: Mutex<Option<(Stamp, Arc<TokenBook>)>>,
}

/// What a file has only until it is replaced or written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

// === impl Stamp ===

impl From<&Metadata> for Stamp {
    fn from(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

// === impl TokenFile ===

impl TokenFile {
    /// The file in a data folder. Neither has to exist.
    #[must_use]
    pub fn new(data: &Path) -> Self {
        Self { folder: data.to_path_buf(), path: data.join(NAME), last: Mutex::default() }
    }

    /// The tokens as the file has them now; none without a file.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is not to be trusted. Then there is no list at all: one
    /// that is out of date could let somebody in who was put out.
    pub fn book(&self) -> Result<Arc<TokenBook>, FileError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = match std::fs::metadata(&self.path) {
            Ok(metadata) => Stamp::from(&metadata),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                *last = None;
                return Ok(Arc::default());
            }
            Err(source) => return Err(self.failed("read", source)),
        };
        if let Some((known, book)) = &*last
            && *known == stamp
        {
            return Ok(book.clone());
        }
        *last = None;
        let (stamp, book) = self.read()?;
        let book = Arc::new(book);
        *last = Some((stamp, book.clone()));
        Ok(book)
    }

    /// Changes the file. Nobody else changes it meanwhile; when `change` fails it stays as it is.
    ///
    /// # Errors
    ///
    /// When the change cannot be made, or the file cannot be read or written.
    pub fn change<T>(
        &self,
        change: impl FnOnce(&mut TokenBook) -> Result<T, BookError>,
    ) -> Result<T, FileError> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|source| self.failed("written", source))?;
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(self.path.with_extension("lock"))
            .and_then(|file| file.lock().map(|()| file))
            .map_err(|source| self.failed("locked", source))?;
        let mut book = match self.read() {
            Ok((_, book)) => book,
            Err(FileError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => TokenBook::default(),
            Err(error) => return Err(error),
        };
        let outcome = change(&mut book)?;
        self.write(&book)?;
        drop(lock);
        Ok(outcome)
    }

    fn read(&self) -> Result<(Stamp, TokenBook), FileError> {
        let failed = |source| self.failed("read", source);
        let file = File::open(&self.path).map_err(failed)?;
        // Of the file that was opened: the name may stand for another one a moment later.
        let metadata = file.metadata().map_err(failed)?;
        if metadata.mode() & 0o022 != 0 {
            return Err(FileError::Exposed { path: self.path.clone() });
        }
        let mut text = Vec::new();
        file.take(MAX_LEN).read_to_end(&mut text).map_err(failed)?;
        Ok((Stamp::from(&metadata), wire::parse(&self.path, &text)?))
    }

    fn write(&self, book: &TokenBook) -> Result<(), FileError> {
        let failed = |source| self.failed("written", source);
        let text = wire::print(book).map_err(|error| failed(error.into()))?;
        let fresh = self.path.with_extension("json.new");
        // Left behind by one that was killed.
        match std::fs::remove_file(&fresh) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let mut file =
            OpenOptions::new().create_new(true).write(true).mode(0o600).open(&fresh).map_err(failed)?;
        file.write_all(&text)
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&fresh, &self.path))
            .and_then(|()| File::open(&self.folder)?.sync_all())
            .map_err(failed)
    }

    fn failed(&self, action: &'static str, source: std::io::Error) -> FileError {
        FileError::Io { path: self.path.clone(), action, source }
    }
}
