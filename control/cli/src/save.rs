//! Writing files that are for their owner alone.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{Seek, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use anyhow::Context as _;
use jiff::Timestamp;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Nobody else may read it.
const MODE: u32 = 0o600;

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
    options.write(true).mode(MODE);
    match existing {
        Existing::Replaced => options.create(true).truncate(true),
        Existing::Kept => options.create_new(true),
    };
    let file = options.open(path)?;
    // Also one that was there, and was open to others. A terminal or a pipe is no file.
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(MODE))?;
    }
    Ok(file)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_its_owners_alone_also_when_it_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let (there, new) = (folder.path().join("there"), folder.path().join("new"));
        std::fs::write(&there, "longer than before").unwrap();
        std::fs::set_permissions(&there, Permissions::from_mode(0o644)).unwrap();
        for path in [&there, &new] {
            text(path, "short").unwrap();
            assert_eq!(std::fs::read_to_string(path).unwrap(), "short");
            assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, MODE);
        }
        text(Path::new("/dev/null"), "nothing").unwrap();
    }
}
