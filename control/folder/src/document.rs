//! What files want, for whoever applies it through the API.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use keyward_resource::{Format, Kind, Place};
use serde_json::Value;

use crate::follow::OpenError;
use crate::manifest::read;
use crate::plan::{Files, Known, Wanted, plan};
use crate::problem::Report;
use crate::scan::{Scanner, read_file};

/// Where documents are read from.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// A file, or a folder with files.
    Path(&'a Path),
    /// A text that is there already: YAML, or JSON.
    Text {
        /// What it is called in messages.
        name: &'a str,
        /// What it says.
        bytes: &'a [u8],
    },
}

/// An object that a file wants.
#[derive(Clone)]
pub struct Document {
    /// The file.
    pub file: String,
    /// Where in the file it begins.
    pub place: Place,
    /// The kind.
    pub kind: &'static Kind,
    /// The namespace; empty for kinds without.
    pub namespace: String,
    /// The name.
    pub name: String,
    /// The object as it is written, without what only servers say.
    pub object: Value,
}

/// Reads the documents of several sources, in the order in which they are applied: what others refer to comes
/// first. Objects that name no namespace are in `namespace`. There is nothing of a file with a mistake in it.
///
/// # Errors
///
/// When there is no such folder and no such file.
pub fn documents(sources: &[Source<'_>], namespace: &str) -> Result<(Report, Vec<Document>), OpenError> {
    let mut files = Files::new();
    for source in sources {
        files.extend(source.read(namespace)?);
    }
    let plan = plan(&files, &mut Known::default(), Instant::now());
    let report = Report { files: files.len(), objects: plan.apply.len(), problems: plan.problems };
    Ok((report, plan.apply.into_iter().map(Document::from).collect()))
}

// === impl Source ===

impl Source<'_> {
    fn read(&self, namespace: &str) -> Result<Files, OpenError> {
        match *self {
            Self::Text { name, bytes } => {
                let json = bytes.trim_ascii_start().starts_with(b"{");
                let format = if json { Format::Json } else { Format::Yaml };
                let manifests = read(name, bytes, format, namespace);
                Ok(Files::from([(name.to_owned(), Arc::new(manifests))]))
            }
            Self::Path(path) => {
                let files = if path.is_dir() {
                    let shown = path.display().to_string();
                    let prefix = format!("{}/", shown.trim_end_matches('/'));
                    Scanner::of(prefix, namespace).scan(path)
                } else {
                    read_file(path, namespace)
                };
                files.map_err(|source| OpenError::Unreadable { path: path.to_owned(), source })
            }
        }
    }
}

// === impl Document ===

impl From<Wanted> for Document {
    fn from(Wanted { file, manifest }: Wanted) -> Self {
        Self {
            file,
            place: manifest.place,
            kind: manifest.target.kind,
            namespace: manifest.key.namespace,
            name: manifest.key.name,
            object: manifest.object,
        }
    }
}

impl fmt::Debug for Document {
    // An object may hold an API key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, place, kind, namespace, name, .. } = self;
        write!(f, "Document({kind:?} {namespace}/{name} at {file}:{}:{})", place.line, place.column)
    }
}

#[cfg(test)]
mod tests;
