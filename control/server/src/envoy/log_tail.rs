//! Passes Envoy's log on into ours. Envoy writes to a file, not to a pipe, so that it can outlive
//! a control server and be adopted by the next.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

const POLL: Duration = Duration::from_millis(200);
/// More than this at once is not a log line.
const MAX_LINE: usize = 64 * 1024;

/// Follows a log file from its end as it is now, until cancelled; then passes on what is left.
pub(super) async fn follow(path: PathBuf, cancelled: CancellationToken) {
    let mut offset = std::fs::metadata(&path).map_or(0, |metadata| metadata.len());
    let mut partial = Vec::new();
    let mut last = false;
    loop {
        if let Ok(fresh) = read_from(&path, &mut offset) {
            partial.extend_from_slice(&fresh);
            while let Some(end) = partial.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = partial.drain(..=end).collect();
                log_line(String::from_utf8_lossy(&line).trim_end());
            }
            if partial.len() > MAX_LINE {
                partial.clear();
            }
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

/// The level is the first word: the supervisor sets the format.
fn log_line(line: &str) {
    let (level, text) = line.split_once(' ').unwrap_or(("info", line));
    match level {
        "critical" | "error" => tracing::error!(target: "envoy", "{text}"),
        "warning" => tracing::warn!(target: "envoy", "{text}"),
        "debug" => tracing::debug!(target: "envoy", "{text}"),
        "trace" => tracing::trace!(target: "envoy", "{text}"),
        _ => tracing::info!(target: "envoy", "{text}"),
    }
}
