//! Log files, and showing them as they grow.

use std::convert::Infallible;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;

use super::args::make_private;
use super::terminal;

#[cfg(test)]
mod tests;

const POLL: Duration = Duration::from_millis(100);
/// How much of a log is looked at for its last lines.
const TAIL_BYTES: u64 = 16 * 1024;

/// The folder of the logs.
pub(super) fn folder(data: &Path) -> PathBuf {
    data.join("logs")
}

/// Makes an empty log; the one of the last run is kept as `<name>.log.1`.
pub(super) fn create(data: &Path, name: &str) -> anyhow::Result<(File, PathBuf)> {
    let folder = folder(data);
    make_private(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join(format!("{name}.log"));
    if path.exists() {
        fs::rename(&path, folder.join(format!("{name}.log.1")))
            .with_context(|| format!("cannot keep the last {}", path.display()))?;
    }
    let file = File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(&path)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok((file, path))
}

/// How long a log is by now.
pub(super) fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// The last lines of a log, of what was written behind its first `from` bytes.
pub(super) fn tail(path: &Path, from: u64, lines: usize) -> Vec<String> {
    let read = || {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        // One that is shorter than it was has been begun anew.
        let from = if from > length { 0 } else { from };
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES).max(from)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        std::io::Result::Ok(bytes)
    };
    let text = String::from_utf8_lossy(&read().unwrap_or_default()).into_owned();
    let all: Vec<&str> = text.lines().collect();
    all.iter().skip(all.len().saturating_sub(lines)).map(|line| (*line).to_owned()).collect()
}

/// Shows the lines of logs as they come, for ever.
pub(super) async fn follow(readers: &mut [Reader]) -> Infallible {
    loop {
        show_new(readers);
        tokio::time::sleep(POLL).await;
    }
}

/// Shows what has come since the last look.
pub(super) fn show_new(readers: &mut [Reader]) {
    for reader in readers {
        for line in reader.new_lines() {
            terminal::show(reader.name, &line);
        }
    }
}

/// Reads the new whole lines of one log.
#[derive(Debug)]
pub(super) struct Reader {
    name: &'static str,
    file: File,
    partial: Vec<u8>,
}

// === impl Reader ===

impl Reader {
    pub(super) fn open(name: &'static str, path: &Path) -> anyhow::Result<Self> {
        let file = File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Self { name, file, partial: Vec::new() })
    }

    /// What was written since the last call, as whole lines.
    pub(super) fn new_lines(&mut self) -> Vec<String> {
        // A log that cannot be read is not worth stopping the stack for.
        let _ = self.file.read_to_end(&mut self.partial);
        let Some(end) = self.partial.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.partial.split_off(end + 1);
        let whole = std::mem::replace(&mut self.partial, rest);
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }
}
