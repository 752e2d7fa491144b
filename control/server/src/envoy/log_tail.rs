//! Passes Envoy's log on into ours. Envoy writes to a file, not to a pipe, so that it can outlive
//! a control server and be adopted by the next.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use keyward_xds::printable;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const POLL: Duration = Duration::from_millis(200);
/// More than this at once is not a log line.
const MAX_LINE: usize = 64 * 1024;

/// So much of a line is passed on.
const MAX_SHOWN: usize = 8 * 1024;

/// Puts a log together again, line by line.
#[derive(Default)]
struct Lines {
    partial: Vec<u8>,
    /// In the middle of a line that is too long: what is left of it is no line of its own.
    is_skipping: bool,
}

/// Follows a log file from its end as it is now, until cancelled; then passes on what is left.
pub(super) async fn follow(path: PathBuf, cancelled: CancellationToken) {
    let mut offset = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let mut lines = Lines::default();
    let mut last = false;
    loop {
        if let Ok(fresh) = read_from(&path, &mut offset) {
            lines.take(&fresh).iter().for_each(|line| log_line(line));
        }
        if last {
            return;
        }
        tokio::select! {
            () = sleep(POLL) => {}
            () = cancelled.cancelled() => last = true,
        }
    }
}

fn read_from(path: &PathBuf, offset: &mut u64) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    if file.metadata()?.len() < *offset {
        *offset = 0;
    }
    file.seek(SeekFrom::Start(*offset))?;
    let mut fresh = Vec::new();
    file.take(1024 * 1024).read_to_end(&mut fresh)?;
    *offset += fresh.len() as u64;
    Ok(fresh)
}

/// The level is the first word: the supervisor sets the format. A line without one is none that Envoy's
/// logger wrote.
fn parse(line: &str) -> (&str, &str) {
    const LEVELS: &[&str] = &["critical", "error", "warning", "info", "debug", "trace"];
    line.split_once(' ').filter(|(level, _)| LEVELS.contains(level)).unwrap_or(("info", line))
}

fn log_line(line: &str) {
    let (level, text) = parse(line);
    let text = printable(text, MAX_SHOWN);
    match level {
        "critical" | "error" => tracing::error!(target: "envoy", "{text}"),
        "warning" => tracing::warn!(target: "envoy", "{text}"),
        "debug" => tracing::debug!(target: "envoy", "{text}"),
        "trace" => tracing::trace!(target: "envoy", "{text}"),
        _ => tracing::info!(target: "envoy", "{text}"),
    }
}

// === impl Lines ===

impl Lines {
    /// The lines that are complete now.
    fn take(&mut self, fresh: &[u8]) -> Vec<String> {
        self.partial.extend_from_slice(fresh);
        let mut lines = Vec::new();
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            if !std::mem::take(&mut self.is_skipping) {
                lines.push(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
        }
        if self.partial.len() > MAX_LINE {
            if !self.is_skipping {
                lines.push(String::from_utf8_lossy(&self.partial).into_owned());
            }
            self.partial.clear();
            self.is_skipping = true;
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_a_long_one_makes_no_others() {
        let mut lines = Lines::default();
        assert_eq!(lines.take(b"warning [a] b"), [""; 0]);
        assert_eq!(lines.take(b"c\r\nerror [x] y\ninf"), ["warning [a] bc", "error [x] y"]);
        let long = "o".repeat(MAX_LINE + 1);
        assert_eq!(lines.take(long.as_bytes()).len(), 1);
        assert_eq!(lines.take(b" error [forged] line\ninfo [a] b\n"), ["info [a] b"]);
    }

    #[test]
    fn only_a_level_is_a_level() {
        assert_eq!(parse("warning [a] b"), ("warning", "[a] b"));
        assert_eq!(parse("error"), ("info", "error"));
        assert_eq!(parse("Fatal words of a library"), ("info", "Fatal words of a library"));
    }
}
