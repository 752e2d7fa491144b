//! Reads the files of a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use keyward_api::MAX_BODY;
use keyward_resource::Format;
use sha2::{Digest as _, Sha256};

use crate::manifest::{Manifests, NAMESPACE, format_of, read};
use crate::plan::Files;

/// Deeper folders are not looked into.
const MAX_DEPTH: usize = 32;

/// Reads a folder again and again; a file that is as it was is not parsed anew.
#[derive(Debug)]
pub(crate) struct Scanner {
    before: BTreeMap<String, ([u8; 32], Arc<Manifests>)>,
    prefix: String,
    namespace: String,
}

/// One look at a folder.
struct Walk<'a> {
    before: &'a BTreeMap<String, ([u8; 32], Arc<Manifests>)>,
    now: BTreeMap<String, ([u8; 32], Arc<Manifests>)>,
    /// What was seen, so that links lead nowhere twice.
    seen: BTreeSet<PathBuf>,
    files: Files,
    namespace: &'a str,
}

/// The bytes of a file; none when it is gone, and an error when it is too large.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let limit = u64::try_from(MAX_BODY).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() > MAX_BODY {
        let message = format!("larger than {MAX_BODY} bytes, which is the most that is read");
        return Err(io::Error::other(message));
    }
    Ok(bytes)
}

/// Reads one file as a folder of its own.
///
/// # Errors
///
/// When it cannot be read.
pub(crate) fn read_file(path: &Path, namespace: &str) -> io::Result<Files> {
    let shown = path.display().to_string();
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let format = format_of(&name).unwrap_or(Format::Yaml);
    let manifests = read(&shown, &bytes(path)?, format, namespace);
    Ok(Files::from([(shown, Arc::new(manifests))]))
}

fn cannot(what: &str, error: &io::Error) -> String {
    format!("{what} cannot be read: {error}")
}

// === impl Scanner ===

impl Scanner {
    /// One that names files with this in front, and where objects that name no namespace are in this one.
    pub(crate) fn of(prefix: String, namespace: &str) -> Self {
        Self { before: BTreeMap::new(), prefix, namespace: namespace.to_owned() }
    }

    /// Reads everything below a folder.
    ///
    /// # Errors
    ///
    /// When the folder itself cannot be read.
    pub(crate) fn scan(&mut self, root: &Path) -> io::Result<Files> {
        let (now, files) = (BTreeMap::new(), Files::new());
        let (before, namespace) = (&self.before, self.namespace.as_str());
        let mut walk = Walk { before, now, seen: BTreeSet::new(), files, namespace };
        walk.seen.insert(fs::canonicalize(root)?);
        walk.folder(root, &self.prefix, 0)?;
        let Walk { now, files, .. } = walk;
        self.before = now;
        Ok(files)
    }
}

impl Default for Scanner {
    fn default() -> Self {
        Self::of(String::new(), NAMESPACE)
    }
}

// === impl Walk ===

impl Walk<'_> {
    fn folder(&mut self, path: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in fs::read_dir(path)? {
            names.push(entry?.file_name());
        }
        names.sort();
        for name in names {
            // A name stands in logs and in annotations.
            let Some(text) = name.to_str().filter(|name| !name.contains(char::is_control)) else {
                let lossy = name.to_string_lossy();
                if format_of(&lossy).is_some() {
                    let shown = format!("{prefix}{}", lossy.escape_debug());
                    self.unreadable(&shown, "the name of the file is no plain UTF-8 text");
                }
                continue;
            };
            // What is hidden belongs to tools. A volume of Kubernetes keeps its files there, behind
            // links that are not hidden.
            if !text.starts_with('.') {
                self.entry(&path.join(&name), text, &format!("{prefix}{text}"), depth);
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, name: &str, shown: &str, depth: usize) {
        let format = format_of(name);
        let metadata = match fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) => {
                let is_link = fs::symlink_metadata(path).is_ok();
                // What is gone since it was listed is in no folder.
                if is_link && format.is_some() {
                    self.unreadable(shown, cannot("the file", &error));
                }
                return;
            }
        };
        if metadata.is_dir() {
            return self.inner(path, shown, depth);
        }
        let Some(format) = format.filter(|_| metadata.is_file()) else { return };
        if !self.is_new(path) {
            return;
        }
        match bytes(path) {
            Ok(bytes) => self.file(shown, &bytes, format),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => self.unreadable(shown, cannot("the file", &error)),
        }
    }

    fn inner(&mut self, path: &Path, shown: &str, depth: usize) {
        if depth >= MAX_DEPTH {
            return self.unreadable(shown, "the folder is too deep inside others");
        }
        if !self.is_new(path) {
            return;
        }
        match self.folder(path, &format!("{shown}/"), depth + 1) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                self.unreadable(shown, cannot("the folder", &error));
            }
            _ => {}
        }
    }

    fn is_new(&mut self, path: &Path) -> bool {
        fs::canonicalize(path).is_ok_and(|real| self.seen.insert(real))
    }

    fn file(&mut self, shown: &str, bytes: &[u8], format: Format) {
        let digest: [u8; 32] = Sha256::digest(bytes).into();
        let manifests = match self.before.get(shown) {
            Some((before, manifests)) if *before == digest => Arc::clone(manifests),
            _ => Arc::new(read(shown, bytes, format, self.namespace)),
        };
        self.now.insert(shown.to_owned(), (digest, Arc::clone(&manifests)));
        self.files.insert(shown.to_owned(), manifests);
    }

    fn unreadable(&mut self, shown: &str, why: impl Into<String>) {
        self.files.insert(shown.to_owned(), Arc::new(Manifests::unreadable(shown, why)));
    }
}

#[cfg(test)]
mod tests;
