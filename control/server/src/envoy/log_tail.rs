//! Passes Envoy's log on into ours, and into the ring of its last lines. Envoy writes to a file, not to a
//! pipe, so that it can outlive a control server and be adopted by the next.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use keyward_admin::proxy::writes_requests;
use keyward_xds::printable;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::logs::Ring;

const POLL: Duration = Duration::from_millis(200);
/// More than this at once is not a log line.
const MAX_LINE: usize = 64 * 1024;

/// So much of a line is passed on.
const MAX_SHOWN: usize = 8 * 1024;
/// So much is read at once, in bytes.
const CHUNK: u64 = 1024 * 1024;
/// So much of what was logged before is put into the ring.
const BEFORE: u64 = 256 * 1024;

/// Puts a log together again, line by line.
#[derive(Default)]
struct Lines {
    partial: Vec<u8>,
    /// In the middle of a line that is too long: what is left of it is no line of its own.
    is_skipping: bool,
}

/// A line of Envoy's logger, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Parsed<'a> {
    level: &'a str,
    time: &'a str,
    text: &'a str,
}

/// Follows a log file from its end as it is now, until cancelled; then passes on what is left. What was there
/// before is put into the ring alone.
pub(super) async fn follow(path: PathBuf, ring: Ring, cancelled: CancellationToken) {
    let end = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let mut offset = end.saturating_sub(BEFORE);
    let mut lines = Lines { is_skipping: offset > 0, ..Lines::default() };
    while offset < end {
        let Ok(fresh) = read_from(&path, &mut offset) else { break };
        lines.take(&fresh).iter().for_each(|line| keep(line, &ring));
        if fresh.is_empty() {
            break;
        }
    }
    let mut last = false;
    loop {
        let mut there_is_more = false;
        if let Ok(fresh) = read_from(&path, &mut offset) {
            there_is_more = fresh.len() as u64 == CHUNK;
            for line in lines.take(&fresh) {
                keep(&line, &ring);
                log_line(&line);
            }
        }
        if there_is_more {
            // Others have something to do as well.
            tokio::task::yield_now().await;
            continue;
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
    file.take(CHUNK).read_to_end(&mut fresh)?;
    *offset += fresh.len() as u64;
    Ok(fresh)
}

/// The level is the first word and the time the second: the supervisor sets the format. A line without them is
/// none that Envoy's logger wrote.
fn parse(line: &str) -> Parsed<'_> {
    const LEVELS: &[&str] = &["critical", "error", "warning", "info", "debug", "trace"];
    let known = line.split_once(' ').filter(|(level, _)| LEVELS.contains(level));
    let Some((level, rest)) = known else { return Parsed { level: "info", time: "", text: line } };
    let is_time = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    match rest.split_once(' ').filter(|(time, _)| is_time(time)) {
        Some((time, text)) => Parsed { level, time, text },
        None => Parsed { level, time: "", text: rest },
    }
}

/// The text of a line, or in place of one that may hold a request where it is: it may hold a key.
fn shown(level: &str, text: &str) -> String {
    let logger = text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(logger, _)| logger);
    match logger {
        Some(logger) if writes_requests(logger, level) => {
            format!("[{logger}] (may hold an API key: only in the log file of the proxy)")
        }
        _ => printable(text, MAX_SHOWN).to_string(),
    }
}

/// Puts a line into the ring, the time first as in other logs.
fn keep(line: &str, ring: &Ring) {
    let Parsed { level, time, text } = parse(line);
    let text = shown(level, text);
    let shown = if time.is_empty() { text } else { format!("{} {level:<8} {text}", printable(time, 40)) };
    ring.push(&shown, matches!(level, "critical" | "error"));
}

fn log_line(line: &str) {
    let Parsed { level, text, .. } = parse(line);
    let text = shown(level, text);
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
        let mut lines = Vec::new();
        let mut pieces = fresh.split(|byte| *byte == b'\n');
        // What is behind the last end of a line is not complete yet.
        let rest = pieces.next_back().unwrap_or_default();
        for piece in pieces {
            self.partial.extend_from_slice(piece);
            if !std::mem::take(&mut self.is_skipping) {
                lines.push(String::from_utf8_lossy(&self.partial).trim_end().to_owned());
            }
            self.partial.clear();
        }
        self.partial.extend_from_slice(rest);
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
    fn what_may_hold_a_request_is_not_passed_on() {
        let said = shown("debug", "[http] [Tags] request headers complete: 'api-key', 'secret'");
        assert_eq!(said, "[http] (may hold an API key: only in the log file of the proxy)");
        for (level, text) in
            [("info", "[http] started"), ("debug", "[upstream] new host"), ("debug", "words")]
        {
            assert_eq!(shown(level, text), text);
        }
    }

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
    fn many_short_lines_take_no_longer_than_few_long_ones() {
        let since = std::time::Instant::now();
        let many = b"o\n".repeat(usize::try_from(CHUNK).unwrap());
        assert_eq!(Lines::default().take(&many).len(), many.len() / 2);
        // A second at most; a line that costs what is behind it makes it minutes.
        assert!(since.elapsed() < Duration::from_secs(20), "{:?}", since.elapsed());
    }

    #[test]
    fn only_a_level_is_a_level() {
        let parsed = |line| {
            let Parsed { level, time, text } = parse(line);
            (level, time, text)
        };
        assert_eq!(parsed("warning [a] b"), ("warning", "", "[a] b"));
        let line = "debug 2026-11-21T16:15:48.564+00:00 [a] b";
        assert_eq!(parsed(line), ("debug", "2026-11-21T16:15:48.564+00:00", "[a] b"));
        assert_eq!(parsed("error"), ("info", "", "error"));
        assert_eq!(parsed("Fatal words of a library"), ("info", "", "Fatal words of a library"));
    }

    #[tokio::test]
    async fn the_ring_has_what_was_logged_before_and_after() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("envoy.log");
        let before = "o".repeat(usize::try_from(BEFORE).unwrap());
        std::fs::write(&path, format!("{before}\nerror 2026-11-21T00:00:00.000+00:00 [a] one\n")).unwrap();
        let (ring, stop) = (Ring::default(), CancellationToken::new());
        let mut changes = ring.changes();
        let following = tokio::spawn(follow(path.clone(), ring.clone(), stop.clone()));
        changes.wait_for(|count| *count == 1).await.unwrap();
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
        std::io::Write::write_all(&mut file, b"info two\n").unwrap();
        stop.cancel();
        following.await.unwrap();
        let lines = ring.read(0).lines;
        assert_eq!(&*lines[0].text, "2026-11-21T00:00:00.000+00:00 error    [a] one");
        assert_eq!((lines[0].is_error, &*lines[1].text, lines.len()), (true, "two", 2));
    }
}
