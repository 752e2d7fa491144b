//! Writing files that are for their owner alone.

use std::fs::{File, OpenOptions};
use std::io::{Seek, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A part of a zip file: its name, and what is in it.
pub(crate) type Part = (String, String);

/// Whether what is there is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It was named by the one who runs the command.
    Replaced,
    /// It has a name of our own.
    Kept,
}

/// A name that says what it is and of when.
pub(crate) fn name(what: &str, now: Timestamp) -> String {
    format!("keyward-{what}-{}.zip", now.strftime("%Y-%m-%d-T%H.%M.%S"))
}

/// Writes a text.
pub(crate) fn text(path: &Path, text: &str) -> anyhow::Result<()> {
    let written = open(path, Existing::Replaced).and_then(|mut file| file.write_all(text.as_bytes()));
    written.with_context(|| format!("{} could not be written", path.display()))
}

/// Writes a zip file.
pub(crate) fn zip(path: &Path, existing: Existing, parts: &[Part]) -> anyhow::Result<()> {
    let written = open(path, existing).map_err(Into::into).and_then(|file| pack(file, parts));
    written.with_context(|| format!("{} could not be written", path.display()))
}

fn open(path: &Path, existing: Existing) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    match existing {
        Existing::Replaced => options.create(true).truncate(true),
        Existing::Kept => options.create_new(true),
    };
    options.open(path)
}

/// Writes a zip file to wherever.
pub(crate) fn pack(to: impl Write + Seek, parts: &[Part]) -> anyhow::Result<()> {
    let mut zip = ZipWriter::new(to);
    for (name, text) in parts {
        zip.start_file(name.as_str(), SimpleFileOptions::default())?;
        zip.write_all(text.as_bytes())?;
    }
    zip.finish()?.flush()?;
    Ok(())
}
