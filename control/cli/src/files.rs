//! `-f`: the files that a command applies or compares.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use keyward_folder::{Document, Report, Source, documents};

use crate::client::Place;
use crate::output::Output;

/// What standard input is called in messages.
const STDIN: &str = "standard input";

/// Which files.
#[derive(Debug, Clone, Args)]
pub(crate) struct FilesArgs {
    /// A file, a folder (*.yaml, *.yml and *.json, also in folders inside), or - for standard input; may be
    /// given several times. Objects that name no namespace are in that of -n.
    #[arg(long = "filename", short = 'f', value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
}

/// The place of an object that a file wants.
pub(crate) fn place(document: &Document) -> Place {
    Place::of(document.kind, &document.namespace, &document.name)
}

/// An object as people know it: `virtualservice/shop`.
pub(crate) fn called(document: &Document) -> String {
    format!("{}/{}", document.kind.singular, document.name)
}

/// A problem of an object, and where its file wants it.
pub(crate) fn problem(document: &Document, what: impl std::fmt::Display) -> String {
    let Document { file, place, .. } = document;
    let what = what.to_string();
    let (what, hint) =
        what.split_once("\nhint: ").map_or((what.as_str(), None), |(what, it)| (what, Some(it)));
    let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    format!("error: {}: {what}\n  --> {file}:{}:{}{hint}", called(document), place.line, place.column)
}

// === impl FilesArgs ===

impl FilesArgs {
    /// Reads what the files want, in the order in which it is applied. Where there is any mistake in any of
    /// them, all are told and nothing is wanted.
    pub(crate) fn read(&self, namespace: &str, output: &mut Output) -> anyhow::Result<Vec<Document>> {
        let (report, documents) = self.look(namespace)?;
        for problem in &report.problems {
            output.note(format_args!("error: {problem}\n"));
        }
        let several = |count: usize| if count == 1 { "" } else { "s" };
        match report.problems.len() {
            0 if documents.is_empty() => bail!("there are no objects in these files"),
            0 => Ok(documents),
            count => bail!("{count} mistake{} in these files, so nothing is done", several(count)),
        }
    }

    /// Reads what the files want, as far as they have no mistakes.
    pub(crate) fn look(&self, namespace: &str) -> anyhow::Result<(Report, Vec<Document>)> {
        let mut stdin = Vec::new();
        if self.paths.iter().any(|path| path == Path::new("-")) {
            std::io::stdin().read_to_end(&mut stdin).context("standard input cannot be read")?;
        }
        let sources = self.paths.iter().map(|path| match path == Path::new("-") {
            true => Source::Text { name: STDIN, bytes: &stdin },
            false => Source::Path(path),
        });
        Ok(documents(&sources.collect::<Vec<_>>(), namespace)?)
    }
}
